"""After an erasure no cache of the process holds a word of it."""

from __future__ import annotations

import functools
import gc
import re
import types
from collections.abc import Callable, Iterator

import pytest

from recollect import Memory
from recollect.index import caches
from recollect.memory.erasure import erasure
from recollect.model.presets import Preset, Weights
from recollect.recall import talk  # noqa: F401 - its caches are made when it is loaded

EVEN = Weights(similarity=0.2, confidence=0.2, recency=0.2, centrality=0.2, reinforcement=0.2)
KEPT = Preset(name="kept", weights=EVEN, cache=3_600)
SECRET = "xanthophyll"  # no other test and no module says it
# What leads out of a cache into the rest of the process.
OUTSIDE = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)


@pytest.fixture(scope="module", autouse=True)
def _caches_are_found() -> Iterator[None]:
    """The collector does not list what ``tests/conftest.py`` froze, among it most caches."""
    gc.unfreeze()
    yield
    gc.collect()
    gc.freeze()


def reached(*starts: object) -> Iterator[object]:
    """Everything that a cache holds, however deep."""
    seen, waiting = {id(start) for start in starts}, list(starts)
    while waiting:
        one = waiting.pop()
        # The collector does not look at the keys of a dict if all of them are texts.
        for found in (*gc.get_referents(one), *(one if isinstance(one, dict) else ())):
            if id(found) not in seen and not isinstance(found, OUTSIDE):
                seen.add(id(found))
                waiting.append(found)
                yield found


def caches_with(word: str, *, anywhere: bool = False) -> list[str]:
    """The names of our caches that hold a word; with ``anywhere`` those of others are searched too.

    Some of these lead to every object of the tests, so they are searched together, and rarely.
    """
    gc.collect()
    kinds = (functools._lru_cache_wrapper, caches.Kept)
    kept = [each for each in gc.get_objects() if isinstance(each, kinds)]
    ours = [each for each in kept if each.__module__.startswith("recollect")]
    found = sorted(each.__name__ for each in ours if holds(word, each))
    others = [each for each in kept if each not in ours] if anywhere else []
    return found + (["another package's"] if holds(word, *others) else [])


def holds(word: str, *starts: object) -> bool:
    return any(isinstance(text, str) and word in text.lower() for text in reached(*starts))


def erase_after_use(memory: Memory) -> list[str]:
    """Uses a secret in every way that caches something, then erases it."""
    record = memory.remember(f"My {SECRET} is in the garden")
    memory.observe(f"We always talk about {SECRET}.", id="e-said")
    memory.recall(SECRET)
    memory.at(memory.events.position - 1).recall(SECRET)  # what full text keeps of it is of now
    memory.context(SECRET)
    before = caches_with(SECRET)
    memory.erase(record.id)
    memory.erase("e-said")
    return before


def test_an_erasure_leaves_no_word_in_any_cache() -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        before = erase_after_use(memory)
        assert {"_token", "_tokens_of", "_facts", "content_id"} <= set(before)
        assert caches_with(SECRET, anywhere=True) == []


def test_an_erasure_leaves_no_word_in_a_pattern() -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        record = memory.remember("tea")
        re.compile(f"{SECRET}+")
        assert holds(SECRET, re._cache)  # type: ignore[attr-defined]
        memory.erase(record.id)
        assert not holds(SECRET, re._cache)  # type: ignore[attr-defined]


@pytest.mark.parametrize("missed", ["_token", "_tokens_of", "_facts", "content_id"])
def test_a_cache_that_is_not_emptied_is_seen(missed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def others() -> Iterator[Callable[[], None]]:
        for empty in caches._EMPTIES:
            if empty.__self__.__name__ != missed:  # type: ignore[attr-defined]
                yield empty

    with Memory.open(":memory:", embedder="none") as memory, monkeypatch.context() as patch:
        patch.setattr(caches, "_EMPTIES", list(others()))
        erase_after_use(memory)
        assert caches_with(SECRET) == [missed]
    caches.forget_texts()


@pytest.mark.parametrize("forgets", [True, False])
def test_another_handle_of_the_process_keeps_no_erased_context(
    forgets: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not forgets:  # the control
        monkeypatch.setattr(erasure, "forget_texts", lambda: None)
    with Memory.open(":memory:", embedder="none") as memory:
        memory.settings.presets.set(KEPT)
        other = memory.scoped(session="another")
        record = memory.remember(f"My {SECRET} is in the garden")
        other.context("What is in the garden?", preset="kept")
        assert holds(SECRET, other._handle.kept._contexts)
        memory.erase(record.id)
        assert holds(SECRET, other._handle.kept._contexts) != forgets
    caches.forget_texts()


def test_a_handle_that_is_gone_is_not_asked() -> None:
    before = len(caches._METHODS)
    with Memory.open(":memory:", embedder="none") as memory:
        memory.settings.presets.set(KEPT)
        memory.context("tea", preset="kept")
        assert len(caches._METHODS) == before + 1
    del memory
    gc.collect()
    assert len(caches._METHODS) == before
