"""The part of ``MemorySuite`` about taking back: ``revert`` and ``undo``."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recollect.errors import Changed, Conflict, Forbidden, NotFound
from recollect.memory import Memory
from recollect.model.values import Record
from tests.undone import brought_back


def _kinds(memory: Memory, after: int) -> list[str | None]:
    return [change.kind for change in memory.events.list(after=after)]


class UndoSuite:
    """What held before is back, in one command, and nothing is lost by it."""

    def test_a_revision_is_reverted(self, memory: Memory) -> None:
        (said,) = memory.observe("Tea at four.")
        record = memory.remember(
            "Tea at four.", kind="plan", data={"n": 1}, evidence=[said.id], expires="2036-01-01"
        )
        memory.revise(record.id, tags=["daily"])
        memory.revise(record.id, "Tea at five.", data={"n": 2}, expires=None)
        here = memory.events.position
        back = brought_back(memory.undo(record.id))
        assert (back.text, back.data, back.expires) == ("Tea at four.", {"n": 1}, record.expires)
        assert (back.tags, back.evidence, back.kind) == (("daily",), (said.id,), "plan")
        assert _kinds(memory, here) == ["record.revised"]
        assert [hit.text for hit in memory.recall("tea", unit="record")] == ["Tea at four."]
        assert memory.sessions.episodes() == [said]  # it is evidence for what holds
        assert brought_back(memory.undo(record.id)).text == "Tea at five."  # back and forth
        assert [version.what for version in memory.history(record.id)] == [
            "added",
            "tagged",
            *["revised"] * 3,
        ]

    def test_a_key_goes_back_to_its_earlier_value(self, memory: Memory) -> None:
        old = memory.remember("The port is 5432.", key="port")
        new = memory.remember("The port is 5433.", key="port")
        here = memory.events.position
        back = brought_back(memory.undo("port"))
        assert (back.id, back.status, back.replaced_by) == (old.id, "active", None)
        assert memory.get(key="port") == back
        left = memory.get(new.id, include=["replaced"])
        assert isinstance(left, Record)
        assert (left.status, left.replaced_by) == ("replaced", old.id)
        assert _kinds(memory, here) == ["record.superseded", "record.restored"]
        assert brought_back(memory.undo(new.id)).id == new.id  # named, it takes the key back
        assert memory.get(key="port").text == "The port is 5433."

    def test_a_version_is_chosen_by_its_seq_or_an_instant(self, memory: Memory) -> None:
        first = memory.remember("one", key="n")
        second = memory.remember("two", key="n")
        third = memory.revise(second.id, "three")
        fourth = memory.remember("four", key="n")
        assert brought_back(memory.undo("n", to=second.seq)).text == "two"
        assert memory.get(key="n").id == second.id
        assert brought_back(memory.undo("n", to=third.seq)).text == "three"
        assert brought_back(memory.undo("n", to=first.seq)).id == first.id
        assert brought_back(memory.undo(fourth.id, to=fourth.at)).id == fourth.id
        assert (
            brought_back(memory.undo(fourth.id, to=fourth.seq)).id == fourth.id
        )  # it is so already
        with pytest.raises(Conflict, match="nothing came before"):
            memory.undo("n", to=first.seq - 1)
        with pytest.raises(Conflict, match="did not hold"):
            memory.undo(first.id, to=second.seq)
        with pytest.raises(NotFound):
            memory.undo("nobody")
        alone = memory.remember("alone")
        assert brought_back(memory.undo(alone.id)).status == "forgotten"  # its one change
        assert brought_back(memory.undo(alone.id)).status == "active"

    def test_an_approval_is_reverted(self, memory: Memory) -> None:
        web, agent = memory.scoped(trust="unverified"), memory.scoped(trust="agent")
        mine = memory.remember("The port is 5432.", key="port")
        claim = web.remember("The port is 666.", key="port")
        memory.review.approve(claim.id, memory.review.show(claim.id).digest)
        assert memory.get(key="port").id == claim.id
        with pytest.raises(Forbidden):
            agent.undo(claim.id)
        here = memory.events.position
        back = brought_back(memory.undo(claim.id, idempotency_key="once"))
        assert brought_back(memory.undo(claim.id, idempotency_key="once")) == back
        assert (back.id, back.status, back.trust) == (mine.id, "active", "person")
        now = memory.history(claim.id)[-1].record
        assert (now.status, now.trust) == ("waiting", "unverified")
        assert memory.get(key="port").id == mine.id
        assert _kinds(memory, here) == ["record.reviewed", "record.restored"]
        plain = web.remember("The host is evil.", key="host")
        memory.review.approve(plain.id, memory.review.show(plain.id).digest)
        assert brought_back(memory.undo(plain.id)).status == "waiting"

    def test_a_revert_happens_once_for_each_key(self, memory: Memory) -> None:
        memory.remember("one", key="n")
        memory.remember("two", key="n")
        first = brought_back(memory.undo("n", idempotency_key="once"))
        assert brought_back(memory.undo("n", idempotency_key="once")) == first
        assert memory.get(key="n").text == "one"
        with pytest.raises(Changed):
            memory.undo("n", expect=memory.events.position - 1)

    def test_every_kind_of_command_is_undone(self, memory: Memory) -> None:
        def is_undone_and_redone() -> None:
            after = memory.events.position
            undone = memory.undo()
            assert undone.events
            assert undone.undone_by
            assert _state(memory) == before
            assert [change.seq for change in undone.undone_by] == list(
                range(after + 1, undone.position + 1)
            )
            memory.undo()
            assert _state(memory) == done
            memory.undo()
            assert _state(memory) == before

        (said,) = memory.observe("I sit in 12A.")
        seat = memory.remember("Sits in 12A.", key="seat", evidence=[said.id], tags=["air"])
        town = memory.remember("Lives in Oslo.")
        memory.graph.link(seat.id, town.id, weight=0.5)
        forget = memory.remember("Drinks tea.")
        memory.forget(forget.id)
        for command in (
            lambda: memory.remember("Eats bread.", evidence=[said.id]),
            lambda: memory.remember("Sits in 14C.", key="seat"),
            lambda: memory.remember("Lives in Oslo.", key="town"),  # takes a twin's place
            lambda: memory.revise(seat.id, "Sits in 13B.", data={"row": 13}),
            lambda: memory.forget(seat.id),
            lambda: memory.forget(seat.id, sources="keep"),
            lambda: memory.undo(forget.id),
            lambda: memory.revise(seat.id, tags=["window"], untag=["air"]),
            lambda: memory.graph.link(seat.id, town.id, "near"),
            lambda: memory.graph.link(seat.id, town.id, weight=0.9),
            lambda: memory.graph.unlink(seat.id, town.id),
            lambda: memory.observe("We take off."),
            lambda: memory.forget(said.id),
        ):
            before = _state(memory)
            command()
            done = _state(memory)
            assert done != before
            is_undone_and_redone()

    def test_a_batch_is_undone_as_a_whole(self, memory: Memory) -> None:
        old = memory.remember("one", key="n")
        before = _state(memory)
        with memory.batch() as batch:
            batch.remember("two", key="n")
            batch.remember("three", id="three")
            batch.link("three", old.id)
            batch.observe("hello")
        shown = memory.undo(dry_run=True)
        assert len(shown.events) == 5
        assert shown.undone_by == ()
        memory.undo(expect=shown.position)
        assert _state(memory) == before

    def test_what_changed_since_it_was_shown_is_not_undone(self, memory: Memory) -> None:
        memory.remember("one")
        shown = memory.undo(dry_run=True)
        memory.remember("two")
        with pytest.raises(Changed):
            memory.undo(expect=shown.position)
        assert len(memory.list()) == 2

    def test_the_last_change_of_one_record_is_undone(self, memory: Memory) -> None:
        first = memory.remember("one", key="n")
        memory.remember("two", key="n")
        (said,) = memory.observe("hello")
        memory.remember("other")
        undone = memory.undo("n")
        assert [change.kind for change in undone.events] == ["record.added"]
        assert memory.get(key="n").id == first.id
        memory.undo(said.id)
        assert memory.sessions.episodes() == []
        memory.undo(said.id)
        assert [episode.id for episode in memory.sessions.episodes()] == [said.id]
        assert len(memory.list()) == 2

    def test_use_is_not_undone_and_neither_is_nothing(self, memory: Memory) -> None:
        with pytest.raises(Conflict, match="nothing to undo"):
            memory.undo()
        record = memory.remember("The key is under the mat.")
        memory.remember("The key is under the mat.")  # a restatement
        memory.context("where is the key?")
        memory.undo()
        assert memory.list() == []
        assert record.id == memory.list(include=["forgotten"])[0].id

    def test_what_was_said_in_a_session_is_not_a_change(self, memory: Memory) -> None:
        chat, agent = memory.scoped(session="chat"), memory.scoped(session="chat", trust="agent")
        (first,) = chat.observe("hello")
        with pytest.raises(Conflict, match="nothing to undo"):
            memory.undo()
        (alone,) = memory.observe("Staging is on port 5433.")
        agent.remember("Staging is on port 5433.", id="port")
        chat.observe([{"role": "user", "content": f"run test {n}"} for n in range(201)])
        assert [change.id for change in agent.undo().events] == ["port"]
        chat.observe("thanks")
        memory.undo()  # the second one brings it back
        assert [record.id for record in memory.list()] == ["port"]
        memory.undo("port")
        memory.undo(first.id)  # named, it is taken back
        with pytest.raises(NotFound):
            memory.get(first.id)
        with chat.batch() as batch:
            batch.observe("tea at four", id="said")
            batch.remember("Tea is at four.", id="tea")
        assert {change.id for change in memory.undo().events} == {"said", "tea"}
        (later,) = memory.observe("no session")
        chat.observe("hello again")
        assert [change.id for change in memory.undo().events] == [later.id]
        assert memory.get(alone.id) == alone

    def test_what_was_erased_does_not_come_back(self, memory: Memory) -> None:
        old = memory.remember("one", key="n")
        new = memory.remember("two", key="n")
        memory.erase(old.id)
        with pytest.raises(Conflict, match="erased"):
            memory.undo()
        with pytest.raises(Conflict, match="erased"):
            memory.undo(new.id)
        assert memory.get(key="n") == new

    def test_an_agent_takes_back_only_what_agents_did(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        mine = memory.remember("one")
        memory.revise(mine.id, "two")
        its = agent.remember("three", key="n")
        with pytest.raises(Forbidden):
            agent.undo(mine.id)
        agent.revise(its.id, "four")
        assert brought_back(agent.undo(its.id)).text == "three"  # the control: its own it may
        memory.revise(its.id, "five")
        assert memory.get(its.id).trust == "person"
        with pytest.raises(Forbidden):
            agent.undo(its.id)
        with pytest.raises(Forbidden):
            agent.undo()
        memory.remember("six", key="n")
        with pytest.raises(Forbidden):
            agent.undo("n")
        with pytest.raises(Forbidden):
            agent.undo(its.id)
        assert brought_back(memory.undo("n")).id == its.id  # a person may
        assert memory.get(its.id).trust == "person"  # as it was
        memory.forget(its.id)
        with pytest.raises(Forbidden):
            agent.undo()
        with memory.batch() as batch:
            for number in range(21):
                batch.remember(f"number {number}")
        with pytest.raises(Forbidden):
            agent.undo()

    def test_no_act_of_a_person_is_undone_by_an_agent(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        for id in ("a", "b"):
            agent.remember(f"{id} is one", id=id)
        for id in ("e1", "e2"):
            agent.observe("It is four.", role="assistant", id=id)
        agent.forget("e2")
        agent.graph.link("a", "b")
        acts: list[Callable[[Memory], object]] = [
            lambda handle: handle.graph.unlink("a", "b"),
            lambda handle: handle.graph.link("b", "a"),
            lambda handle: handle.forget("e1"),
            lambda handle: handle.undo("e2"),
            lambda handle: handle.revise("a", tags=["t"]),
            lambda handle: handle.forget("b"),
        ]
        for act in acts:
            act(agent)
            agent.undo()  # the control: its own it may
            act(memory)
            with pytest.raises(Forbidden, match="made by 'person'"):
                agent.undo()
            memory.undo()

    def test_a_name_that_meant_nothing_is_no_evidence_later(self, memory: Memory) -> None:
        record = memory.remember("one", evidence=["ticket-42", "https://example.org"])
        memory.revise(record.id, "two")
        memory.scoped(trust="agent").observe("Take this.", role="tool", id="ticket-42")
        back = brought_back(memory.undo(record.id))
        assert (back.text, back.trust) == ("one", "person")
        assert back.evidence == ("https://example.org",)
        assert memory.why(record.id).sources == ()

    def test_a_handle_for_one_user_undoes_only_its_own(self, memory: Memory) -> None:
        ann, bob = memory.scoped(user="ann"), memory.scoped(user="bob")
        anns = ann.remember("Lives in Oslo.")
        bob.remember("Lives in Rome.")
        assert [change.id for change in ann.undo().events] == [anns.id]
        assert (len(ann.list()), len(bob.list())) == (0, 1)
        with pytest.raises(NotFound):
            bob.undo(anns.id)


def _state(memory: Memory) -> object:
    """What reads show, without what counts changes."""
    records = {
        record.id: (record.text, record.tags, record.data, record.evidence, record.key)
        for record in memory.list(include=["waiting"])
    }
    links = {
        (link.source, link.target, link.kind, link.weight)
        for id in records
        for link in memory.why(id).links
    }
    return records, links, sorted(episode.id for episode in memory.sessions.episodes())
