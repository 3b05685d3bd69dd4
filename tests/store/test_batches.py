"""Acts in a batch: the same events, answers and errors as one act after the other."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from recollect import Memory
from recollect.memory.handle.handle import Handle
from recollect.store import write_path
from recollect.store.files.space import FileSpace
from recollect.store.indexed.backend import MemorySpace
from recollect.store.port import Space
from recollect.store.sqlite import SqliteDb
from tests.store.acting import SAID_AT, Pair, events_of, tell_random_acts
from tests.suites.histories import Clockwork, Stopped

SEED = random.randrange(2**32)
Make = Callable[[str], Space]


@pytest.fixture(params=["memory", "files"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    opened: list[Space] = []

    def space(name: str) -> Space:
        seam = Stopped(SAID_AT)
        if request.param == "memory":
            opened.append(MemorySpace("main", seam))
        else:
            opened.append(FileSpace(tmp_path / name, "main", create=True, seam=seam))
        return opened[-1]

    yield space
    for each in opened:
        each.close()


def test_a_batch_does_what_its_acts_do_one_by_one(make: Make) -> None:
    rng = random.Random(SEED)
    pair = Pair(make("single"), make("together"))
    tell_random_acts(pair, rng, 25)
    assert min(pair.told[what] for what in ("acts", "refused", "made later")) > 20, SEED


def test_looking_ahead_changes_no_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same clock and chance: the same ledgers, whether names are looked up at once or not."""
    with closing(MemorySpace("main", Clockwork(1))) as one:
        tell_batches(one)
        monkeypatch.setattr(write_path, "_MANY_ACTS", 10**9)
        with closing(MemorySpace("main", Clockwork(1))) as other:
            tell_batches(other)
            assert b"".join(one.pieces()) == b"".join(other.pieces())
            assert one.digest() == other.digest()


def tell_batches(space: Space) -> None:
    memory = Memory(Handle(space, Clockwork(2)))
    for number in range(3):
        with memory.batch() as batch:
            for place in range(20):
                batch.remember(f"sentence {place % 15}", key=f"k{number}" if place == 3 else None)
                batch.observe(f"said {place}")
    assert len(events_of(space)) > 100


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of all reads."""
    names: list[str] = []
    for method in ("rows", "one"):
        plain = getattr(SqliteDb, method)

        def noted(self: SqliteDb, name: str, *more: object, plain: Callable[..., object] = plain):  # type: ignore[no-untyped-def]
            names.append(name)
            return plain(self, name, *more)

        monkeypatch.setattr(SqliteDb, method, noted)
    return names


@pytest.mark.parametrize("many", [8, 10**9])
def test_the_names_of_many_acts_are_looked_up_at_once(
    make: Make, asked: list[str], many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_path, "_MANY_ACTS", many)
    memory = Memory(Handle(make("one")))
    memory.remember("it is there")
    asked.clear()
    with memory.batch() as batch:
        for number in range(100):
            batch.remember(f"sentence {number}", key=f"k{number}", evidence=["elsewhere"])
            batch.observe(f"word {number}", id=f"e-{number}")
    is_control = many > 8
    assert (len(asked) > 400) == is_control, asked[:20]
    assert asked.count("there") == int(not is_control)


def test_results_show_what_a_batch_left_whenever_they_are_looked_at(make: Make) -> None:
    memory = Memory(Handle(make("one")))
    memory.remember("I drink tea", id="old")
    batch = memory.batch()
    assert batch.results == []
    with batch:
        batch.remember("I drink milk", id="new", tags=["drink"])
        batch.observe("She drinks milk", id="e-1")
        batch.remember("I drink tea")
        batch.revise("new", "I drink honey")
        batch.remember("I drink lemon", id="last", key="k", data={"n": 1})
    memory.forget("e-1")
    memory.revise("last", "I drink water")
    memory.erase("old")
    found = batch.results
    assert [one.id for one in found] == ["new", "e-1", "old", "new", "last"]
    texts = ["I drink honey", "She drinks milk", "I drink tea", "I drink honey", "I drink lemon"]
    assert [one.text for one in found] == texts
    assert found[1].status == "visible"
    assert batch.results is found
    with pytest.raises(Exception, match="used before"):
        batch.__enter__()


def test_a_batch_sent_again_has_the_same_results(make: Make) -> None:
    memory = Memory(Handle(make("one")))
    found = []
    for _ in range(2):
        with memory.batch(idempotency_key="once") as batch:
            for number in range(10):
                batch.remember(f"sentence {number}", id=f"r{number}")
        found.append(batch.results)
        memory.revise("r3", "something else")
    assert found[0] == found[1]
    assert found[0][3].text == "sentence 3"
