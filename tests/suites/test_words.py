"""A person's word: no agent changes it without a person's later words, in random histories."""

from __future__ import annotations

import random
import time
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from recollect import Memory, Quote, Store
from recollect.errors import Forbidden
from recollect.index.rows import VersionRow
from recollect.lifecycle import commands as c
from recollect.lifecycle.proposals import derived
from recollect.lifecycle.records import earlier, hypotheses, records, replacement
from recollect.lifecycle.trust import lineage, persons_word
from recollect.lifecycle.trust.lineage import Lineage, may_change
from recollect.lifecycle.view import View
from recollect.memory.handle.handle import Handle
from recollect.model import events as e
from recollect.store.indexed.backend import MemorySpace
from tests.postgres.conftest import as_address, database, server, template
from tests.suites.conftest import Tell
from tests.suites.histories import Clockwork
from tests.suites.words import Judge, Talk, judged, talk

__all__ = ["database", "server", "template"]

STEPS = 60
Spoil = Callable[[pytest.MonkeyPatch], None]


def try_histories(count: int, tell: Tell) -> None:
    first = random.randrange(2**32)
    seen, wrong, started = Counter[str](), list[str](), time.perf_counter()
    for seed in range(first, first + count):
        found, happened = talk(seed, STEPS)
        wrong += found
        seen += happened
    tell(
        f"words: {count:,} random histories from seed {first}, {seen['words']:,} records with a "
        f"person's word, {seen['corrected']:,} changes by agents, {seen['refused']:,} acts "
        f"refused: {len(wrong)} against a person's word, {time.perf_counter() - started:.0f} s"
    )
    assert wrong == []
    assert seen["words"] > count
    assert seen["corrected"] > count
    assert seen["record.vouched"] > count // 4


def test_no_agent_changes_a_persons_word(tell: Tell) -> None:
    try_histories(12, tell)


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(85))
def test_no_agent_changes_a_persons_word_in_many_histories(tell: Tell, part: int) -> None:
    try_histories(100, tell)


def in_one(memory: Memory, seed: int) -> None:
    """Plays a history in an engine, and judges it."""
    Talk(memory, Clockwork(seed), random.Random(seed)).play(STEPS)
    wrong, seen = judged(memory._handle.space.pieces())
    assert (wrong, seen["record.added"] > 0) == ([], True), seed


def test_no_agent_changes_a_persons_word_in_files(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    with Memory.open(tmp_path / "workspace", embedder="none") as memory:
        in_one(memory, seed)
        before = memory.admin.digest()
        memory.admin.rebuild()
        assert memory.admin.digest() == before


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(10))
def test_no_agent_changes_a_persons_word_in_many_files(tmp_path: Path, part: int) -> None:
    first = random.randrange(2**32)
    for seed in range(first, first + 100):
        with Memory.open(tmp_path / str(seed), embedder="none") as memory:
            in_one(memory, seed)


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(5))
def test_no_agent_changes_a_persons_word_on_a_server(database: str, part: int) -> None:
    first = random.randrange(2**32)
    with Store.open(as_address(database), embedder="none") as store:
        for seed in range(first, first + 100):
            in_one(store.space(f"s{uuid.uuid4().hex}"), seed)


def the_trust_of_the_text(patch: pytest.MonkeyPatch) -> None:
    """The rule before: what a change needs is the trust of the present text."""
    patch.setattr(persons_word, "standing", lambda view, row: row.trust)


def no_vouching(patch: pytest.MonkeyPatch) -> None:
    """The rule before: a person who writes does not vouch."""
    for module in (records, replacement, earlier):
        patch.setattr(module, "vouched", lambda *_: [])
    for module in (records, hypotheses):
        patch.setattr(module, "vouched_again", lambda *_, **__: [])


def only_the_record(patch: pytest.MonkeyPatch) -> None:
    """What stood under the same key before does not count."""

    def alone(view: View, row: VersionRow) -> e.Trust:
        return "person" if view.is_vouched(row.id, None, None) else row.trust

    patch.setattr(persons_word, "standing", alone)


def no_chain(patch: pytest.MonkeyPatch) -> None:
    """What a record without a key took the place of does not count."""
    patch.setattr(persons_word, "_replaced_one", lambda *_: False)


def any_key(patch: pytest.MonkeyPatch) -> None:
    """A correction may move to another key, where nothing is known of the person's word."""

    def anywhere(
        view: View, line: Lineage, target: VersionRow, act: c.Remember, key: str | None
    ) -> bool:
        return may_change(view, line, target, act.text)

    for module in (records, replacement, derived):
        patch.setattr(module, "may_replace", anywhere)


def any_time(patch: pytest.MonkeyPatch) -> None:
    """Words count that were said before a record was confirmed, if they came later."""
    patch.setattr(lineage, "_confirmed", lambda _, target: (target.seq, ""))


def any_end(patch: pytest.MonkeyPatch) -> None:
    """A correction may expire."""
    patch.setattr(lineage, "weakens", lambda *_: False)


@pytest.mark.parametrize("control", [the_trust_of_the_text, no_vouching, only_the_record])
def test_control_a_weaker_rule_is_caught(
    monkeypatch: pytest.MonkeyPatch, tell: Tell, control: Spoil
) -> None:
    control(monkeypatch)
    seed, wrong = 0, list[str]()
    while not wrong and seed < 60:
        seed += 1
        wrong, _ = talk(seed, STEPS)
    tell(f"words: control: {control.__name__}: caught in history {seed}: {wrong[:1]}")
    assert wrong


def replaced_twice(memory: Memory, key: str | None = None) -> None:
    """A quote for the first change, and none for the second."""
    agent = memory.scoped(trust="agent")
    seat = memory.remember("row one")
    (said,) = memory.observe("I sit in row two")
    new = agent.remember("row two", replaces=seat.id, key=key, evidence=[Quote(said.id, "row two")])
    agent.remember("row nine", replaces=new.id, key=key)


def replaced_twice_under_another_key(memory: Memory) -> None:
    replaced_twice(memory, "seat")


def quoted_from_before(memory: Memory) -> None:
    seat = memory.remember("row one", key="seat")
    (said,) = memory.observe("I sit in row two", said_at="2020-01-01T00:00:00Z")
    words = [Quote(said.id, "row two")]
    memory.scoped(trust="agent").remember("row two", key=seat.key, evidence=words)


def replaced_for_a_day(memory: Memory) -> None:
    memory.remember("row one", key="seat")
    (said,) = memory.observe("I sit in row two")
    agent, words = memory.scoped(trust="agent"), [Quote(said.id, "row two")]
    agent.remember("row two", key="seat", evidence=words, expires=timedelta(days=1))


# Too rare in random histories to wait for by chance.
@pytest.mark.parametrize(
    ("control", "story"),
    [
        (no_chain, replaced_twice),
        (any_key, replaced_twice_under_another_key),
        (any_time, quoted_from_before),
        (any_end, replaced_for_a_day),
    ],
)
def test_control_a_weaker_part_of_the_rule_is_caught(
    monkeypatch: pytest.MonkeyPatch, control: Spoil, story: Callable[[Memory], None]
) -> None:
    for is_weak in (False, True):
        space = MemorySpace("main", seam=Clockwork(1))
        if is_weak:
            control(monkeypatch)
        with suppress(Forbidden):
            story(Memory(Handle(space)))
        assert bool(judged(space.pieces())[0]) is is_weak
        space.close()


def _event(seq: int, origin: e.Origin, body: e.AnyBody) -> e.Event:
    kind = next(kind for kind, made in e.KINDS.items() if type(body) is made)
    return e.Event(
        seq=seq,
        first=seq,
        last=seq,
        id=f"c{seq}.1",
        kind=kind,
        at="2026-01-01T00:00:00.000000Z",
        origin=origin,
        body=body,
    )


def test_control_what_the_judge_finds() -> None:
    """A person's words of the same user, said since, allow one change; nothing else does."""

    def told(user: str | None, *rest: tuple[e.Origin, e.AnyBody]) -> list[str]:
        judge = Judge()
        seat = e.RecordAdded(
            id="r", text="12A", kind="fact", confidence=1.0, status="active", trust="person"
        )
        said = e.EpisodeObserved(
            id="e", text="seat 2F", role="user", said_at="2026-01-01T00:00:00.000000Z", user=user
        )
        events: list[tuple[e.Origin, e.AnyBody]] = [("person", seat), ("person", said), *rest]
        found = (judge.command([_event(n, *one)]) for n, one in enumerate(events, 1))
        return [what for command in found for what in command]

    quoted = e.RecordRevised(id="r", trust="agent", text="2F", evidence=("e",))
    again = e.RecordRevised(id="r", trust="agent", text="2F seat", evidence=("e",))
    bare = e.RecordRevised(id="r", trust="agent", text="2F")
    gone = e.RecordForgotten(id="r", sources="keep")
    assert told(None, ("agent", quoted)) == []
    assert told(None, ("agent", quoted), ("person", gone)) == []
    assert len(told("ann", ("agent", quoted))) == 1
    assert len(told(None, ("agent", quoted), ("agent", again))) == 1
    assert len(told(None, ("agent", bare))) == 1
    assert len(told(None, ("agent", gone))) == 1
    assert len(told(None, ("agent", e.RecordVouched(id="r")))) > 0
