"""A status that is brought up to date says what counting everything says."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from recollect import Memory
from recollect.index import tallies
from recollect.index.reads import Reads
from recollect.memory import reading
from recollect.memory.handle.handle import Handle, handle_of
from recollect.store.indexed.backend import MemorySpace
from tests.suites.histories import Clockwork, History


def counted(memory: Memory) -> object:
    """The status of a handle that keeps nothing."""
    reading._KEPT.pop(handle_of(memory).space, None)
    return memory.status()


def differences(seed: int, rounds: int) -> int:
    """How often a count that was moved along differs from counting, over a random history."""
    seam = Clockwork(seed)
    space = MemorySpace("main", seam)
    memory = Memory(Handle(space, seam))
    history = History(memory, seam, random.Random(seed))
    kept: tallies.Tally | None = None
    found = 0
    for _ in range(rounds):
        history.play(2)
        with space.reading() as reads:
            kept = tallies.tally(reads, kept)
            assert kept is not None
            then = tallies.tally(Reads(reads.db, at=kept.command.seq // 2), None)
            for moved in (kept, tallies.tally(reads, then)):
                found += moved is not None and moved.counts != reads.counts()
    assert memory.status() == counted(memory)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_a_count_that_is_moved_along_is_what_counting_says(seed: int) -> None:
    assert differences(seed, 30) == 0


@pytest.mark.parametrize("kind", ["episodes", "shadowed", "links"])
def test_control_what_is_not_moved_along_is_noticed(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = tuple(other for other in tallies._KINDS if other != kind)
    monkeypatch.setattr(tallies, "_KINDS", kinds)
    assert differences(0, 15) > 0


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How often everything was counted."""
    made: list[Reads] = []
    before = Reads.counts

    def count(reads: Reads) -> dict[str, int]:
        made.append(reads)
        return before(reads)

    monkeypatch.setattr(Reads, "counts", count)
    return lambda: len(made)


def test_everything_is_counted_once(counts: Callable[[], int]) -> None:
    with Memory.open(":memory:", embedder="none") as memory:
        for number in range(4):
            memory.remember(f"Likes number {number}.")
            assert memory.scoped(agent="other").status().records == number + 1
        record = memory.remember("Likes tea.")
        assert (memory.status().records, counts()) == (5, 1)
        memory.forget(record.id)
        assert (memory.status().records, memory.status().forgotten, counts()) == (4, 1, 1)
        memory.erase(record.id)
        assert (memory.status().forgotten, counts()) == (0, 2)
        memory.at(3).status()
        assert counts() == 3
        memory.branches.open("plans")
        memory.on("plans").remember("Likes trains.")
        assert (memory.on("plans").status().records, memory.status().records) == (5, 4)


def test_control_a_count_of_another_history_is_not_moved(counts: Callable[[], int]) -> None:
    """A ledger that lost events and grew again has other commands at the same places."""
    with Memory.open(":memory:", embedder="none") as one, Memory.open(":memory:") as other:
        for memory in (one, other):
            memory.remember("Likes tea.")
        one.forget(one.list()[0].id)
        one.status(), other.remember("Likes jazz."), other.remember("Likes fado.")
        kept = reading._KEPT[handle_of(one).space]
        reading._KEPT[handle_of(other).space] = kept
        assert other.status().records == 3
        assert counts() == 2


def test_after_very_many_events_all_is_counted(
    counts: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tallies, "_SINCE_MAX_EVENTS", 3)
    with Memory.open(":memory:", embedder="none") as memory:
        memory.remember("Likes tea.")
        memory.status()
        with memory.batch() as batch:
            for number in range(4):
                batch.remember(f"Likes number {number}.")
        assert (memory.status().records, counts()) == (5, 2)
