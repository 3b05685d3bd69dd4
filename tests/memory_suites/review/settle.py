"""The conformance suite of settling hypotheses and archiving what has faded, on every engine.

Subclass ``SettleSuite`` and define a fixture ``memory`` with an empty memory.
"""

from __future__ import annotations

import pytest

from recollect.errors import Conflict, Forbidden, InvalidInput, NotFound
from recollect.lifecycle.commands import Archive, Revise
from recollect.memory import Memory
from recollect.model.values import Record
from tests.undone import brought_back


def _record(memory: Memory, id: str) -> Record:
    return memory.history(id)[-1].record


class SettleSuite:
    """Every engine passes this."""

    def test_a_hypothesis_is_confirmed(self, memory: Memory) -> None:
        (first,) = memory.observe("The tests are slow on Mondays.")
        (then,) = memory.observe("The nightly job runs until noon.")
        guess = memory.remember("The job slows the tests", evidence=[first.id], is_hypothesis=True)
        known = memory.review.confirm(guess.id, evidence=[first.id, then.id], reason="seen")
        assert (known.is_hypothesis, known.status, known.text) == (False, "active", guess.text)
        assert known.evidence == (first.id, then.id)
        assert memory.history(guess.id)[-1].note == "seen"
        assert memory.events.list(after=known.seq - 1)[-1].kind == "record.revised"
        with pytest.raises(Conflict, match="not a hypothesis"):
            memory.review.refute(guess.id)
        memory.undo(guess.id)
        assert _record(memory, guess.id).is_hypothesis

    def test_a_hypothesis_is_refuted(self, memory: Memory) -> None:
        (said,) = memory.observe("The tests are slow on Mondays.")
        guess = memory.remember("The job slows them", evidence=[said.id], is_hypothesis=True)
        gone = memory.review.refute(guess.id, reason="the job was off", idempotency_key="once")
        assert (gone.status, gone.reason) == ("archived", "refuted")
        assert (
            memory.review.refute(guess.id, reason="the job was off", idempotency_key="once") == gone
        )
        assert memory.list() == []
        assert [episode.id for episode in memory.sessions.episodes()] == [
            said.id
        ]  # it was said all the same
        assert memory.get(guess.id, include=["archived"]) == gone
        with pytest.raises(Conflict, match="`undo` brings it back first"):
            memory.review.confirm(guess.id)
        memory.undo()
        assert _record(memory, guess.id).status == "active"
        memory.undo()
        assert _record(memory, guess.id).reason == "refuted"
        assert brought_back(memory.undo(guess.id)).status == "active"

    def test_a_person_who_confirms_a_hypothesis_vouches_for_it(self, memory: Memory) -> None:
        (heard,) = memory.observe("It was the job", role="assistant")
        (rumour,) = memory.observe("It was not the job", role="tool")
        guess = memory.remember("The job slows the tests", is_hypothesis=True)
        rests = memory.remember("Move the job", evidence=[guess.id])
        with pytest.raises(Forbidden):
            memory.review.confirm(guess.id, evidence=[rumour.id])
        assert memory.review.confirm(guess.id, evidence=[heard.id]).trust == "person"
        assert memory.get(rests.id) == rests
        agent = memory.scoped(trust="agent")
        its = agent.remember("The cache slows the tests", is_hypothesis=True)
        assert agent.review.confirm(its.id, evidence=[heard.id]).trust == "agent"
        its = agent.remember("The disk slows the tests", is_hypothesis=True)
        assert memory.review.confirm(its.id).trust == "person"

    @pytest.mark.parametrize("holds", [True, False])
    def test_an_agent_proposes_to_settle_a_persons_hypothesis(
        self, memory: Memory, holds: bool
    ) -> None:
        agent = memory.scoped(trust="agent")
        guess = memory.remember("The job slows the tests", is_hypothesis=True)
        settle = agent.review.confirm if holds else agent.review.refute
        answer = settle(guess.id, evidence=["run-12"])
        assert answer.is_hypothesis
        (waits,) = memory.review.list()
        assert answer.pending == waits.id
        assert settle(guess.id, evidence=["run-12"]).pending == waits.id
        memory.review.approve(waits.id, waits.digest)
        now = _record(memory, guess.id)
        assert (now.status, now.is_hypothesis) == (
            ("active", False) if holds else ("archived", True)
        )
        assert now.reason == (None if holds else "refuted")
        assert now.evidence == (("run-12",) if holds else ())
        mine = agent.remember("A second guess", is_hypothesis=True)
        assert not agent.review.confirm(mine.id).is_hypothesis  # the control: its own it may

    def test_what_was_held_comes_back_held(self, memory: Memory) -> None:
        web = memory.scoped(trust="unverified")
        guess = web.remember("The moon is hollow", is_hypothesis=True)
        assert memory.review.refute(guess.id).reason == "rejected"
        assert brought_back(memory.undo(guess.id)).status == "waiting"
        memory.undo()
        assert _record(memory, guess.id).status == "archived"
        memory.undo(guess.id)
        assert memory.review.confirm(guess.id).status == "waiting"  # a review lets it in, not this

    def test_what_cannot_be_settled(self, memory: Memory) -> None:
        plain = memory.remember("Water is wet")
        with pytest.raises(Conflict, match="not a hypothesis"):
            memory.review.confirm(plain.id)
        with pytest.raises(NotFound):
            memory.review.confirm("nothing")
        with pytest.raises(InvalidInput):
            memory.review.confirm(5)  # type: ignore[arg-type]

    def test_archive_archives_what_has_faded(self, memory: Memory) -> None:
        agent, ann = memory.scoped(trust="agent"), memory.scoped(user="ann")
        (said,) = memory.observe("Tea is at four")
        mine = memory.remember("Tea at four", key="tea", evidence=[said.id])
        door = memory.remember("The door is blue")
        memory.events.submit(Revise(id=door.id, decay_tier="permanent"))
        agents, anns = agent.remember("Coffee at five"), ann.remember("Juice at six")
        held = memory.scoped(trust="unverified").remember("Held things wait")
        memory.observe("Time passes.")
        assert memory.admin.archive().records == ()  # nothing has faded so far
        shown = agent.admin.archive(below=1.0, dry_run=True)
        assert [record.id for record in shown.records] == [agents.id]
        assert (shown.kept, shown.more) == (2, False)
        assert [record.id for record in ann.admin.archive(below=1.0, dry_run=True).records] == [
            anns.id
        ]
        first = memory.admin.archive(below=1.0, limit=1, dry_run=True)
        assert ([record.id for record in first.records], first.more) == ([mine.id], True)
        here = memory.events.position
        done = memory.admin.archive(below=1.0)
        assert [record.id for record in done.records] == [mine.id, agents.id, anns.id]
        kinds = {change.kind for change in memory.events.list(after=here)}
        assert kinds == {"record.archived"}
        gone = _record(memory, mine.id)
        assert (gone.status, gone.reason) == ("archived", "decayed")
        assert {record.id for record in memory.list(include=["waiting"])} == {door.id, held.id}
        assert said.id in {episode.id for episode in memory.sessions.episodes()}
        assert memory.admin.archive(below=1.0).records == ()
        memory.undo()
        assert {record.id for record in memory.list()} == {door.id, mine.id, agents.id, anns.id}
        memory.undo()
        assert _record(memory, mine.id).reason == "decayed"
        memory.remember("Tea at five", key="tea")
        with pytest.raises(Conflict, match="is held by"):
            memory.undo(mine.id)
        assert brought_back(memory.undo(mine.id, to=mine.seq)).status == "active"

    def test_an_agent_archives_few_at_once(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        for number in range(22):
            agent.remember(f"number {number}")
        with pytest.raises(Forbidden, match="more than 20"):
            agent.admin.archive(below=1.0)
        assert len(agent.admin.archive(below=1.0, limit=20).records) == 20

    def test_what_changed_since_it_was_read_is_not_archived(self, memory: Memory) -> None:
        mine = memory.remember("Tea at four")
        memory.revise(mine.id, tags=["daily"])
        memory.events.submit(Archive(id=mine.id, why="merged", seq=mine.seq))
        assert _record(memory, mine.id).status == "active"
        memory.events.submit(Archive(id=mine.id, why="merged"))
        assert _record(memory, mine.id).reason == "merged"
        memory.undo(mine.id)
        memory.undo()
        assert _record(memory, mine.id).reason == "merged"

    def test_archive_checks_its_arguments(self, memory: Memory) -> None:
        for wrong in ({"below": 2}, {"below": "x"}, {"limit": 0}, {"limit": 10**6}, {"dry_run": 1}):
            with pytest.raises(InvalidInput):
                memory.admin.archive(**wrong)
