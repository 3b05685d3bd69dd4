"""The conformance suite of policies, on every engine.

Subclass ``PolicySuite`` and define a fixture ``memory`` with an empty memory.
"""

from __future__ import annotations

import pytest

from recollect.errors import Forbidden, InvalidInput, LimitExceeded
from recollect.memory import Memory
from recollect.model.limits import PROPOSALS_MAX_COUNT
from recollect.model.values import Quote, Record

POLICY = ("policy", "agents")


def text_of(memory: Memory, id: str) -> str:
    found = memory.get(id)
    assert isinstance(found, Record)
    return found.text


class PolicySuite:
    """Every engine passes this."""

    def test_without_a_policy_an_agent_changes_its_own_records(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        made = agent.remember("Tea is at four")
        assert agent.revise(made.id, "Tea is at five").pending is None
        assert agent.forget(made.id).pending is None
        assert memory.review.list() == []

    def test_an_addition_is_held_if_the_policy_says_so(self, memory: Memory) -> None:
        memory.settings.documents.set(*POLICY, {"add": "review"})
        agent = memory.scoped(trust="agent")
        made = agent.remember("Tea is at four")
        assert (made.status, made.trust) == ("waiting", "agent")
        assert not agent.recall("tea").hits
        (waits,) = memory.review.list()
        memory.review.approve(waits.id, waits.digest)
        assert [hit.id for hit in agent.recall("tea").hits] == [made.id]
        assert memory.remember("Cake is at five").status == "active"  # a person's

    def test_an_update_waits_if_the_policy_says_so(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        made = agent.remember("Tea is at four", key="tea")
        memory.settings.documents.set(*POLICY, {"update": "review"})
        answer = agent.revise(made.id, "Tea is at five")
        assert (answer.text, answer.seq) == (made.text, made.seq)
        keyed = agent.remember("Tea is at six", key="tea")
        assert keyed.status == "waiting"
        assert [one.id for one in memory.review.list()] == [answer.pending, keyed.id]
        assert agent.remember("Cake is at five").status == "active"
        agent.revise(made.id, tags=["drink"])  # tags and links apply at once
        assert agent.forget(made.id).pending is None

    def test_forgetting_waits_if_the_policy_says_so(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        made = agent.remember("Tea is at four")
        memory.settings.documents.set(*POLICY, {"delete": "review"})
        gone = agent.forget(made.id)
        assert gone.pending is not None
        assert text_of(memory, made.id) == made.text
        with pytest.raises(Forbidden, match="policy"), agent.batch() as batch:
            batch.forget(made.id)  # a batch is all or nothing, so it proposes nothing

    def test_undo_and_episodes_are_no_way_around_it(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        (said,) = agent.observe("Tea is at four", role="assistant")
        made, back = agent.remember("Tea is at five"), agent.remember("Cake is at five")
        agent.forget(back.id)
        agent.undo(back.id)
        memory.settings.documents.set(*POLICY, {"delete": "review"})
        for call in (
            lambda: agent.undo(made.id),  # takes back that it was added
            lambda: agent.undo(back.id),
            lambda: agent.undo(said.id),
            lambda: agent.forget(said.id),
        ):
            with pytest.raises(Forbidden, match="every delete"):
                call()
        assert text_of(memory, made.id) == made.text
        assert memory.forget(said.id).pending is None  # a person may
        agent.revise(made.id, "Tea is at six")
        assert text_of(memory, made.id) == "Tea is at six"
        agent.undo(made.id)
        assert text_of(memory, made.id) == made.text  # it forgets nothing

    def test_nothing_comes_back_by_itself_if_updates_wait(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        (said,) = agent.observe("Tea is at four", role="assistant")
        made = agent.remember("Tea is at five")
        for id in (said.id, made.id):
            agent.forget(id)
        memory.settings.documents.set(*POLICY, {"update": "review"})
        for id in (said.id, made.id):
            with pytest.raises(Forbidden, match="every update"):
                agent.undo(id)
        memory.undo(said.id)

    def test_a_policy_can_ask_about_corrections_with_quotes_too(self, memory: Memory) -> None:
        mine = memory.remember("Staging runs on port 5432")
        (said,) = memory.observe("staging is on 5433 now", role="user")
        memory.settings.documents.set(*POLICY, {"correct": "review"})
        agent = memory.scoped(trust="agent")
        quote = Quote(said.id, "staging is on 5433")
        answer = agent.revise(mine.id, "Staging runs on port 5433", evidence=[quote])
        assert answer.pending is not None
        memory.settings.documents.drop(*POLICY)
        again = agent.revise(mine.id, "Staging runs on port 5433", evidence=[quote])
        assert (again.pending, again.text) == (None, "Staging runs on port 5433")

    def test_how_many_may_be_forgotten_at_once(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        ids = [agent.remember(f"Tea is at {hour}").id for hour in range(3)]
        memory.settings.documents.set(*POLICY, {"forget_at_once": 2})
        with pytest.raises(Forbidden, match="more than 2"), agent.batch() as batch:
            for id in ids:
                batch.forget(id)

    def test_only_a_person_changes_a_policy(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        for data in ({"add": "review"}, {}):
            with pytest.raises(Forbidden, match="person"):
                agent.settings.documents.set(*POLICY, data)
        memory.settings.documents.set(*POLICY, {"add": "review"})
        with pytest.raises(Forbidden, match="person"):
            agent.settings.documents.drop(*POLICY)
        assert memory.settings.documents.get(*POLICY).data == {"add": "review"}

    @pytest.mark.parametrize(
        "data",
        [
            {"add": "yes"},
            {"correct": "at_once"},
            {"forget_at_once": 21},
            {"forget_at_once": 0},
            {"approve": "at_once"},
        ],
    )
    def test_no_policy_allows_more_than_the_rules(
        self, memory: Memory, data: dict[str, str | int]
    ) -> None:
        with pytest.raises(InvalidInput, match="policy"):
            memory.settings.documents.set(*POLICY, data)

    def test_a_policy_of_the_past_is_read_with_the_past(self, memory: Memory) -> None:
        before = memory.events.position
        memory.settings.documents.set(*POLICY, {"add": "review"})
        assert memory.at(before).settings.documents.list("policy") == []
        assert memory.settings.documents.get(*POLICY).data == {"add": "review"}

    def test_a_record_has_room_for_so_many_proposals(self, memory: Memory) -> None:
        mine = memory.remember("Tea is at four")
        bad, agent = memory.scoped(trust="unverified"), memory.scoped(trust="agent")
        for hour in range(PROPOSALS_MAX_COUNT):
            bad.review.propose(f"Tea is at {hour} o'clock", target=mine.id)
        with pytest.raises(LimitExceeded, match="wait already"):
            bad.revise(mine.id, "Tea is never")
        assert agent.revise(mine.id, "Tea is at five").pending is not None
        memory.review.propose("Tea is at half past four", target=mine.id)
