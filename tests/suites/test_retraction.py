"""A retraction gives what the ledger without the closure gives: in random graphs."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable

import pytest

from recollect import Memory
from recollect.errors import Conflict, Forbidden, NotFound
from recollect.index.reads import Reads
from recollect.lifecycle.commands import Archive
from recollect.lifecycle.retraction import closure, plan, remainder
from recollect.memory.handle.handle import Handle
from recollect.model.events import Archival
from recollect.store.indexed.backend import MemorySpace
from tests.suites.conftest import Tell
from tests.suites.derivations import Graph
from tests.suites.histories import Clockwork
from tests.suites.masked import differences, events_of

STEPS = 45
Spoil = Callable[[pytest.MonkeyPatch], None]


class Retracted(Graph):
    """Graphs with more keys, in which something is retracted now and then."""

    def __init__(self, memory: Memory, seam: Clockwork, rng: random.Random) -> None:
        super().__init__(memory, seam, rng)
        self._acts += [(10, self.keyed), (3, self.revert), (1, self.take_back), (3, self.archive)]

    def archive(self, handle: Memory) -> None:
        why: Archival = self.rng.choice(["decayed", "merged", "rejected"])
        handle.events.submit(Archive(id=self._one(), why=why))

    def take_back(self, handle: Memory) -> None:
        handle.forget(self.rng.choice([*self.episodes, *self.records]), derived=True)


def retraction(seed: int) -> tuple[list[str], Counter[str]]:
    """One random graph, and a retraction in it: where it differs from the oracle."""
    seam, rng = Clockwork(seed), random.Random(seed)
    space = MemorySpace("main", seam=seam)
    memory = Memory(Handle(space))
    graph = Retracted(memory, seam, rng)
    graph.play(STEPS)
    seen, root = Counter[str](), rng.choice([*graph.episodes, *graph.records])
    before = events_of(space.pieces())
    try:
        shown = memory.forget(root, derived=True, dry_run=True)
        done = memory.forget(root, derived=True)
    except NotFound:  # erased before
        return [], Counter(erased=1)
    with space.reading() as reads:
        wrong, size = differences(before, root, reads)
    if (shown.taken, shown.back) != (done.taken, done.back):
        wrong.append(f"a dry run told {shown}, and {done} was done")
    seen.update(closure=size, taken=len(done.taken), back=len(done.back), deep=size > 3)
    if done.seq:
        wrong += _undone(memory, space, before[-1].seq)
    wrong += _twice(memory, root)
    space.close()
    return [f"seed {seed}: {what}" for what in wrong], seen


def _undone(memory: Memory, space: MemorySpace, position: int) -> list[str]:
    """What an undo does not bring back; a second undo retracts again."""
    memory.undo()
    with space.reading() as reads:
        before, now = Reads(reads.db, at=position), reads
        told = [
            f"{row.id} is {row.status} after an undo, and was {old.status}"
            for row in now.listing(["active", "held", "inbox"], None, 2**53, 10_000)
            if (old := before.version(row.id)) is not None
            and (old.text, old.status, old.superseded_by)
            != (row.text, row.status, row.superseded_by)
            and not (old.text == row.text and row.trust == "unverified")  # it came back held
            and not _is_held(now, old.superseded_by)
        ]
        there = {row.id for row in before.listing(["active", "held"], None, 2**53, 10_000)}
        here = {row.id for row in now.listing(["active", "held"], None, 2**53, 10_000)}
    memory.undo()
    return told + [f"{id} did not come back" for id in there - here]


def _is_held(reads: Reads, id: str | None) -> bool:
    """True for what came back held: it rests on something unverified, which was reviewed before."""
    row = None if id is None else reads.version(id)
    return row is not None and row.status == "held"


def _twice(memory: Memory, root: str) -> list[str]:
    """What a second retraction changes of what holds.

    Of a record that went with another it may bring back the words from before, because the other
    does not rest on the root any more; it does not hold before or after.
    """
    here = {record.id: record for record in memory.list(include=["waiting"])}
    memory.forget(root, derived=True)
    there = {record.id: record for record in memory.list(include=["waiting"])}
    return [] if here == there else [f"{root} was retracted twice"]


def try_retractions(count: int, tell: Tell) -> None:
    first, started = random.randrange(2**32), time.perf_counter()
    seen, wrong, tried = Counter[str](), list[str](), 0
    while tried < count or (_is_thin(seen, count) and tried < 10 * count):
        found, happened = retraction(first + tried)
        wrong += found
        seen += happened
        tried += 1
    tell(
        f"retract: {tried:,} random graphs, {seen['closure']:,} in closures, "
        f"{seen['deep']:,} of more than 3, {seen['taken']:,} records taken back, "
        f"{seen['back']:,} back: {len(wrong)} differ from the masked fold, "
        f"{time.perf_counter() - started:.0f} s"
    )
    assert wrong == []
    assert not _is_thin(seen, count)


def _is_thin(seen: Counter[str], count: int) -> bool:
    """True if too little happened for so many graphs."""
    return seen["back"] <= count // 8 or seen["deep"] <= count // 8


def test_a_retraction_equals_the_masked_fold(tell: Tell) -> None:
    try_retractions(30, tell)


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(10))
def test_a_retraction_equals_the_masked_fold_in_a_thousand_graphs(tell: Tell, part: int) -> None:
    try_retractions(100, tell)


def no_later_links(patch: pytest.MonkeyPatch) -> None:
    """A link that was added later does not count."""
    patch.setattr(closure, "DERIVED", "some other kind")


def no_further_descendants(patch: pytest.MonkeyPatch) -> None:
    """Only what was derived directly is taken back."""
    whole = closure.Closure._take

    def once(self: closure.Closure, id: str, cut: int) -> None:
        whole(self, id, cut)
        if id != self._root.id:
            self._waiting.pop()

    patch.setattr(closure.Closure, "_take", once)


def no_holder_back(patch: pytest.MonkeyPatch) -> None:
    """What was superseded stays so."""
    patch.setattr(plan, "_concerned", lambda view, cuts: set(cuts))


def whole_records(patch: pytest.MonkeyPatch) -> None:
    """A record that was revised because of it goes whole."""
    patch.setattr(closure.Closure, "_cut", lambda *_: closure.GONE)


def two_holders(patch: pytest.MonkeyPatch) -> None:
    """What took a key from the closure does not take it from who had it before."""
    patch.setattr(remainder.Remainder, "_take_key", lambda *_: None)


@pytest.mark.parametrize(
    "control",
    [no_later_links, no_further_descendants, no_holder_back, whole_records, two_holders],
)
def test_control_a_weaker_retraction_is_caught(
    monkeypatch: pytest.MonkeyPatch, tell: Tell, control: Spoil
) -> None:
    control(monkeypatch)
    seed, wrong = 0, list[str]()
    while not wrong and seed < 150:
        seed += 1
        try:
            wrong, _ = retraction(seed)
        except (Conflict, Forbidden, KeyError) as error:
            wrong = [str(error)]
    tell(f"retract: control: {control.__name__}: caught in graph {seed}: {len(wrong)} differ")
    assert wrong
