"""The part of ``MemorySuite`` about erasing by key, by subject, by user and by filter."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest

from recollect.errors import (
    Ambiguous,
    Changed,
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    Unsupported,
)
from recollect.lifecycle.commands import Revise, SetDocument
from recollect.memory import Memory
from recollect.model import limits
from recollect.model.instants import later
from recollect.model.limits import ERASE_AT_ONCE_MAX_COUNT
from recollect.model.values import INCLUDES
from tests.memory_suites.behind import BehindSuite


def _left(memory: Memory) -> set[str]:
    """Every record and episode, in any state."""
    records = [record.id for record in memory.list(include=INCLUDES, limit=1000)]
    episodes = [episode.id for episode in memory.sessions.episodes(include=INCLUDES, limit=1000)]
    return {*records, *episodes}


def _with_sources(memory: Memory, count: int) -> None:
    """Records about bob, each with an episode of its own."""
    with memory.batch() as batch:
        for n in range(count):
            batch.observe(f"source {n}", id=f"source-{n}")
    with memory.batch() as batch:
        for n in range(count):
            batch.remember(f"fact {n}", about="bob", evidence=[f"source-{n}"], id=f"fact-{n}")


class Interrupted(Exception):
    """Raised by a test between two commands of an erasure."""


def _interrupt(done: int, total: int) -> None:
    raise Interrupted


class EraseSuite(BehindSuite):
    """What is chosen is gone, whole; what stays is told."""

    def test_erasing_the_present_value_tells_what_remains(self, memory: Memory) -> None:
        (said,) = memory.observe("I am diabetic.")
        old = memory.remember("Is diabetic.", key="bob.health", evidence=[said.id])
        new = memory.remember("Has type 2 diabetes.", key="bob.health")
        gone = memory.erase(new.id)
        assert (gone.id, gone.records, gone.episodes) == (new.id, (new.id,), ())
        assert (gone.remaining, gone.kept) == ((old.id,), (said.id,))
        assert _left(memory) == {old.id, said.id}

    def test_erasing_a_successor_tells_where_its_reason_remains(self, memory: Memory) -> None:
        old = memory.remember("Sits in row 3.")
        new = memory.remember("Sits in row 5.", replaces=old.id, reason="moved because of Ann")
        third = memory.remember("Sits in row 7.", replaces=new.id)
        shown = memory.erase(new.id, dry_run=True)
        gone = memory.erase(new.id)
        assert (gone.reasons, gone.remaining) == (shown.reasons, ()) == ((old.id,), ())
        assert memory.history(old.id)[-1].note == "moved because of Ann"
        assert memory.erase(third.id).reasons == ()  # given without a reason
        assert memory.erase(old.id).reasons == ()

    def test_a_restored_record_keeps_the_reason_too(self, memory: Memory) -> None:
        old = memory.remember("Sits in row 3.")
        memory.remember("Sits in row 5.", replaces=old.id, reason="moved because of Ann")
        memory.undo(old.id)
        assert memory.erase(filter="text = 'Sits in row 5.'").reasons == (old.id,)

    def test_a_key_is_erased_with_its_earlier_values_and_their_episodes(
        self, memory: Memory
    ) -> None:
        (one,) = memory.observe("I am diabetic.")
        (both,) = memory.observe("I am diabetic and live in Oslo.")
        memory.remember("Is diabetic.", key="health", evidence=[one.id, both.id])
        memory.remember("Has diabetes.", key="health", evidence=[one.id])
        town = memory.remember("Lives in Oslo.", evidence=[both.id])
        held = memory.scoped(trust="unverified").remember("Is healthy.", key="health")
        shown = memory.erase(key="health", dry_run=True)
        assert (len(shown.records), shown.episodes, shown.seq) == (3, (one.id,), 0)
        assert held.id in shown.records
        assert len(_left(memory)) == 6
        gone = memory.erase(key="health", reason="asked to")
        assert (gone.id, gone.records, gone.events) == (None, shown.records, shown.events)
        assert (gone.kept, gone.remaining, bool(gone.places)) == ((both.id,), (), True)
        assert _left(memory) == {both.id, town.id}
        assert memory.admin.verify(deep=True).ok
        with pytest.raises(NotFound, match="key 'health'"):
            memory.erase(key="health")

    def test_a_user_is_erased_with_receipts(self, memory: Memory) -> None:
        bob, ann = memory.scoped(user="bob"), memory.scoped(user="ann")
        (said,) = bob.observe("I sit in 12A.")
        seat = bob.remember("Sits in 12A.", evidence=[said.id])
        bob.forget(bob.remember("Sits in 9F.").id)
        shared = memory.remember("Bob sits in front.", evidence=[said.id])
        anns = ann.remember("Sits in 14C.")
        assert bob.context("where do I sit?").receipt
        assert ann.context("where do I sit?").receipt
        gone = memory.erase(user="bob")
        assert (len(gone.records), gone.episodes, len(gone.receipts)) == (2, (said.id,), 1)
        assert seat.id in gone.records
        assert gone.remaining == (shared.id,)
        assert _left(memory) == {shared.id, anns.id}
        handed = memory.events.list(kinds=["context.handed"])
        assert [change.scope.user for change in handed] == ["ann"]
        assert memory.admin.verify(deep=True).ok
        with pytest.raises(NotFound, match="user 'bob'"):
            memory.erase(user="bob")

    def test_what_something_is_about_and_what_a_filter_matches(self, memory: Memory) -> None:
        one = memory.remember("Ships on Monday.", about="Billing")
        two = memory.remember("Ships on Friday.", about="billing")
        three = memory.remember("Ships never.", about="billing", kind="guess")
        memory.forget(three.id)
        (said,) = memory.observe("hello", session="s1")
        (other,) = memory.observe("hello again", session="s2")
        assert set(memory.erase(about="billing", dry_run=True).records) == {two.id, three.id}
        assert memory.erase(filter="kind = 'guess'").records == (three.id,)
        assert memory.erase(filter="session = 's1'", unit="episode").episodes == (said.id,)
        assert memory.erase(about="billing").records == (two.id,)
        assert _left(memory) == {one.id, other.id}

    def test_exactly_one_choice(self, memory: Memory) -> None:
        memory.remember("one", key="k")
        for erase in (
            memory.erase,
            partial(memory.erase, "k", key="k"),
            partial(memory.erase, key="k", user="bob"),
        ):
            with pytest.raises(InvalidInput, match="exactly one"):
                erase()
        with pytest.raises(InvalidInput):
            memory.erase(filter="kind =")
        with pytest.raises(InvalidInput):
            memory.erase(filter="kind = 'fact'", unit="any")  # type: ignore[arg-type]
        with pytest.raises(InvalidInput):
            memory.erase(user=" ")
        with pytest.raises(Unsupported):
            memory.at(memory.events.position).erase(key="k")
        assert len(_left(memory)) == 1

    def test_a_key_of_several_users_is_not_erased_for_all(self, memory: Memory) -> None:
        ann, bob = memory.scoped(user="ann"), memory.scoped(user="bob")
        mine, his = ann.remember("Oslo", key="town"), bob.remember("Rome", key="town")
        with pytest.raises(Ambiguous, match="ann, bob"):
            memory.erase(key="town")
        assert ann.erase(key="town").records == (mine.id,)
        with pytest.raises(Forbidden):
            ann.erase(user="bob")
        assert bob.erase(user="bob").records == (his.id,)

    def test_only_a_person_erases(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        its = agent.remember("one", key="k", about="x")
        for erase in (
            partial(agent.erase, its.id),
            partial(agent.erase, key="k"),
            partial(agent.erase, about="x"),
            partial(agent.erase, filter="kind = 'fact'"),
        ):
            with pytest.raises(Forbidden):
                erase()
        assert _left(memory) == {its.id}
        assert memory.erase(key="k").records == (its.id,)  # the control

    def test_much_is_erased_in_several_commands(self, engine: Memory) -> None:
        bob = engine.scoped(user="bob")
        count = ERASE_AT_ONCE_MAX_COUNT + 20
        bob.observe([{"role": "user", "content": f"number {n}"} for n in range(count)])
        seen: list[tuple[int, int]] = []
        gone = engine.erase(user="bob", progress=lambda done, total: seen.append((done, total)))
        assert (len(gone.episodes), len(gone.events)) == (count, count)
        assert seen == [(ERASE_AT_ONCE_MAX_COUNT, count), (count, count)]
        assert len(engine.events.list(kinds=["events.erased"])) == 2
        assert _left(engine) == set()

    def test_much_is_erased_with_the_episodes_it_rests_on(
        self, engine: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        count = 50
        monkeypatch.setattr(limits, "ERASE_AT_ONCE_MAX_COUNT", 40)
        _with_sources(engine, count)
        shown = engine.erase(about="bob", dry_run=True)
        gone = engine.erase(about="bob")
        assert (len(gone.records), len(gone.episodes)) == (count, count)
        assert gone.events == shown.events
        assert len(engine.events.list(kinds=["events.erased"])) == 3
        assert _left(engine) == set()

    @pytest.mark.parametrize("at_once", [2, 3, 6])
    def test_an_interrupted_erasure_is_continued_by_the_same_call(
        self, memory: Memory, engine: Memory, monkeypatch: pytest.MonkeyPatch, at_once: int
    ) -> None:
        monkeypatch.setattr(limits, "ERASE_AT_ONCE_MAX_COUNT", at_once)
        _with_sources(memory, 5)
        stays = memory.remember("Stays.")
        for _ in range(-(-10 // at_once)):
            with pytest.raises(Interrupted):
                engine.erase(about="bob", progress=_interrupt)
        assert _left(memory) == {stays.id}

    def test_what_is_written_during_an_erasure_is_not_erased(
        self, memory: Memory, engine: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(limits, "ERASE_AT_ONCE_MAX_COUNT", 2)
        _with_sources(memory, 3)
        written: list[str] = []

        def write(done: int, total: int) -> None:
            written.append(memory.remember(f"later {done}", about="bob").id)

        gone = engine.erase(about="bob", progress=write)
        assert (len(gone.records), len(gone.episodes), len(gone.events)) == (3, 3, 6)
        assert len(written) == 3
        assert _left(memory) == set(written)

    def test_what_another_call_erased_meanwhile_is_not_reported_as_removed(
        self, memory: Memory, engine: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(limits, "ERASE_AT_ONCE_MAX_COUNT", 1)
        first, second = (memory.remember(text, about="bob") for text in ("one", "two"))
        other = memory.remember("three")
        seen: list[int] = []

        def overtake(done: int, total: int) -> None:
            seen.append(done)
            if done == 1:
                for id in _left(memory) & {first.id, second.id}:
                    memory.erase(id)
                memory.erase(other.id)

        gone = engine.erase(about="bob", progress=overtake)
        assert (len(gone.events), seen) == (1, [1, 2])
        assert gone.events[0] in (first.seq, second.seq)
        assert _left(memory) == set()

    def test_a_key_does_not_erase_more_than_its_first_call(
        self, memory: Memory, engine: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(limits, "ERASE_AT_ONCE_MAX_COUNT", 2)
        _with_sources(memory, 2)
        episodes = tuple(sorted(episode.seq for episode in memory.sessions.episodes()))
        with pytest.raises(Interrupted):
            engine.erase(about="bob", idempotency_key="once", progress=_interrupt)
        with pytest.raises(Conflict, match="'once' was already used") as refused:
            memory.erase(about="bob", idempotency_key="once")
        assert "without the key" in (refused.value.hint or "")
        assert _left(memory) == {"fact-0", "fact-1"}
        assert len(memory.erase(about="bob").records) == 2
        assert memory.erase(about="bob", idempotency_key="once").events == episodes

    def test_an_erasure_happens_once_for_each_key(self, memory: Memory) -> None:
        memory.remember("one", key="k")
        with pytest.raises(Changed):
            memory.erase(key="k", expect=0)
        first = memory.erase(key="k", idempotency_key="once")
        again = memory.erase(key="k", idempotency_key="once")
        assert (again.seq, again.events) == (first.seq, first.events)

    def test_erasures_are_listed_with_their_reasons(self, memory: Memory) -> None:
        record = memory.remember("one", key="k")
        assert memory.proof.erasures() == []
        memory.erase(record.id, reason="asked to")
        memory.remember("two", key="k")
        gone = memory.erase(key="k")
        first, second = memory.proof.erasures()
        assert (first.events, first.reason, first.by) == ((record.seq,), "asked to", "person")
        assert (second.seq, second.events, second.reason) == (gone.seq, gone.events, None)
        with pytest.raises(Forbidden):
            memory.scoped(user="bob").proof.erasures()

    def test_an_agent_does_not_decide_what_is_retained(
        self, memory: Memory, engine: Memory
    ) -> None:
        old = memory.remember("Sale ends.")
        engine.events.submit(Revise(id=old.id, expires="2020-01-01T00:00:00.000000Z"))
        days = SetDocument(type="settings", name="retention", data={"days": 0})
        engine.scoped(trust="agent").events.submit(days)
        assert (memory.settings.retention(), memory.erase(expired=True).events) == (None, ())
        engine.events.submit(days)
        assert memory.settings.retention() == 0
        assert memory.erase(expired=True).records == (old.id,)

    def test_nothing_is_retained_unless_it_is_set_and_called(
        self, memory: Memory, engine: Memory
    ) -> None:
        old, soon = memory.remember("Sale ends."), memory.remember("Parcel comes.")
        two_days_ago = later(old.at, timedelta(days=-2))
        engine.events.submit(Revise(id=old.id, expires="2020-01-01T00:00:00.000000Z"))
        engine.events.submit(Revise(id=soon.id, expires=two_days_ago))
        open_end = memory.remember("Stays.")
        assert (memory.settings.retention(), memory.erase(expired=True).events) == (None, ())
        memory.settings.set_retention(30)
        assert memory.settings.retention() == 30
        assert memory.erase(expired=True, dry_run=True).records == (old.id,)
        assert _left(memory) == {old.id, soon.id, open_end.id}
        with pytest.raises(Forbidden):
            memory.scoped(trust="agent").erase(expired=True)
        with pytest.raises(Forbidden):
            memory.scoped(trust="agent").settings.set_retention(0)
        with pytest.raises(Forbidden):
            memory.scoped(user="bob").erase(expired=True)
        assert memory.erase(expired=True).records == (old.id,)
        assert (memory.erase(expired=True).events, memory.proof.erasures()[0].reason) == (
            (),
            "expired more than 30 days ago",
        )
        memory.settings.set_retention(1)
        assert memory.erase(expired=True).records == (soon.id,)
        memory.settings.set_retention(None)
        memory.settings.set_retention(None)
        assert memory.settings.retention() is None
        for wrong in (-1, 10**9, True, "30"):
            with pytest.raises(InvalidInput):
                memory.settings.set_retention(wrong)  # type: ignore[arg-type]
        assert _left(memory) == {open_end.id}
