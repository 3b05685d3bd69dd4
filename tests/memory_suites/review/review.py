"""The conformance suite of proposals and reviews, on every engine.

Subclass ``ReviewSuite`` and define a fixture ``memory`` with an empty memory.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from recollect.errors import Conflict, Forbidden, InvalidInput, NotFound
from recollect.memory import Memory
from recollect.model.values import Proposal, Quote, Record
from tests.undone import brought_back

CANARY = "zanzibar"


def only(memory: Memory) -> Proposal:
    """The one thing that waits."""
    (found,) = memory.review.list()
    return found


def text_of(memory: Memory, id: str) -> str:
    found = memory.get(id)
    assert isinstance(found, Record)
    return found.text


class ReviewSuite:
    """Every engine passes this."""

    def test_a_correction_that_may_not_be_made_waits(self, memory: Memory) -> None:
        mine = memory.remember("Staging runs on port 5432", key="staging.port")
        agent = memory.scoped(trust="agent", agent="helper")
        answer = agent.revise(mine.id, "Staging runs on port 5433", reason="seen in a log")
        assert (answer.text, answer.seq) == (mine.text, mine.seq)
        waits = only(memory)
        assert answer.pending == waits.id
        assert (waits.unit, waits.intent, waits.state) == ("proposal", "update", "waiting")
        assert (waits.text, waits.target) == ("Staging runs on port 5433", mine.id)
        assert (waits.trust, waits.by, waits.scope.agent) == ("agent", "agent", "helper")
        assert waits.before == memory.get(mine.id)
        assert (waits.reason, waits.stale) == ("seen in a log", False)
        assert agent.revise(mine.id, "Staging runs on port 5433").pending == waits.id
        assert only(memory) == waits  # the same is not proposed twice
        assert memory.review.show(waits.id) == waits

    def test_an_approval_makes_the_change_with_a_persons_trust(self, memory: Memory) -> None:
        mine = memory.remember("Staging runs on port 5432", key="staging.port")
        agent = memory.scoped(trust="agent")
        agent.revise(mine.id, "Staging runs on port 5433")
        before, waits = memory.events.position, only(memory)
        done = memory.review.approve(waits.id, waits.digest, reason="checked")
        assert (done.state, done.record, done.closed_by) == ("approved", mine.id, "person")
        assert done.note == "checked"
        now = memory.get(mine.id)
        assert isinstance(now, Record)
        assert (now.text, now.trust, now.status) == (waits.text, "person", "active")
        assert [step.what for step in memory.history(mine.id)] == ["added", "revised", "reviewed"]
        assert memory.review.list() == []
        assert text_of(memory.at(before), mine.id) == mine.text
        assert only(memory.at(before)).id == waits.id  # it still waits there
        with pytest.raises(Conflict, match="approved"):
            memory.review.approve(waits.id, waits.digest)

    def test_a_rejection_changes_nothing(self, memory: Memory) -> None:
        mine = memory.remember("Tea is at four")
        memory.scoped(trust="agent").forget(mine.id, reason="old")
        waits = only(memory)
        assert (waits.intent, waits.text) == ("delete", None)
        done = memory.review.reject(waits.id, waits.digest, "it still holds")
        assert (done.state, done.note) == ("rejected", "it still holds")
        assert memory.get(mine.id).seq == mine.seq
        assert memory.review.list() == []

    def test_a_forgetting_that_is_approved_is_done(self, memory: Memory) -> None:
        mine = memory.remember("Tea is at four")
        answer = memory.scoped(trust="agent").forget(mine.id)
        waits = only(memory)
        assert (answer.pending, answer.hidden) == (waits.id, ())
        memory.review.approve(waits.id, waits.digest)
        with pytest.raises(NotFound):
            memory.get(mine.id)

    def test_only_a_person_reviews(self, memory: Memory) -> None:
        mine = memory.remember("Tea is at four")
        agent, tool = memory.scoped(trust="agent"), memory.scoped(trust="unverified")
        agent.revise(mine.id, "Tea is at five")
        held = tool.remember("Tea is at six")
        for waits in memory.review.list():
            for handle in (agent, tool):
                with pytest.raises(Forbidden, match="needs a person"):
                    handle.review.approve(waits.id, waits.digest)
                with pytest.raises(Forbidden, match="needs a person"):
                    handle.review.reject(waits.id, waits.digest, "no")
        assert text_of(memory, mine.id) == mine.text
        assert memory.get(held.id, include=["waiting"]).status == "waiting"

    def test_an_approval_is_of_what_was_shown(self, memory: Memory) -> None:
        mine = memory.remember("Tea is at four")
        agent = memory.scoped(trust="agent")
        agent.revise(mine.id, "Tea is at five")
        waits = only(memory)
        with pytest.raises(Conflict, match="not what was shown"):
            memory.review.approve(waits.id, "0" * 64)
        memory.revise(mine.id, "Tea is at half past four")
        assert only(memory).stale
        with pytest.raises(Conflict, match="changed since"):
            memory.review.approve(waits.id, waits.digest)
        assert memory.review.reject(waits.id, waits.digest).state == "rejected"

    def test_being_used_or_tagged_makes_nothing_stale(self, memory: Memory) -> None:
        mine = memory.remember("Tea is at four")
        memory.scoped(trust="agent").revise(mine.id, "Tea is at five")
        memory.used(None, [mine.id])
        memory.revise(mine.id, tags=["meals"])
        waits = only(memory)
        assert not waits.stale
        assert memory.review.approve(waits.id, waits.digest).state == "approved"

    def test_a_held_record_is_reviewed_the_same_way(self, memory: Memory) -> None:
        memory.remember("Lives in Oslo", key="home", id="old")
        held = memory.scoped(trust="agent").remember("Lives in Rome", key="home", id="new")
        waits = only(memory)
        assert (waits.unit, waits.intent, waits.target) == ("record", "update", "old")
        assert waits.id == held.id
        memory.review.approve(waits.id, waits.digest)
        now = memory.get("new")
        assert isinstance(now, Record)
        assert (now.status, now.trust) == ("active", "person")
        gone = memory.get("old", include=["replaced"])
        assert isinstance(gone, Record)
        assert (gone.status, gone.replaced_by) == ("replaced", "new")
        assert [record.id for record in memory.list(filter="key = 'home'")] == ["new"]

    def test_a_held_record_that_changed_is_shown_again(self, memory: Memory) -> None:
        tool = memory.scoped(trust="unverified")
        held = tool.remember("Lives in Rome")
        waits = only(memory)
        tool.revise(held.id, "Lives in Pisa")
        with pytest.raises(Conflict, match="not what was shown"):
            memory.review.approve(waits.id, waits.digest)
        again = only(memory)
        assert again.text == "Lives in Pisa"
        assert memory.review.approve(again.id, again.digest).state == "approved"

    def test_a_rejected_record_does_not_come_back_by_itself(self, memory: Memory) -> None:
        memory.remember("Lives in Oslo", key="home")
        agent = memory.scoped(trust="agent")
        held = agent.remember("Lives in Rome", key="home")
        waits = only(memory)
        assert memory.review.reject(waits.id, waits.digest, "a joke").state == "rejected"
        gone = memory.get(held.id, include=["archived"])
        assert isinstance(gone, Record)
        assert (gone.status, gone.reason) == ("archived", "rejected")
        with pytest.raises(Forbidden, match="person"):
            agent.undo(held.id)
        agent.revise(held.id, tags=["mine"])  # a change after it does not hide who rejected it
        with pytest.raises(Forbidden, match="person"):
            agent.undo(held.id)
        assert (
            brought_back(memory.undo(held.id)).status == "waiting"
        )  # a person puts it back into the queue
        assert only(memory).id == held.id

    def test_undo_takes_a_review_back(self, memory: Memory) -> None:
        memory.remember("Lives in Oslo", key="home", id="old")
        memory.scoped(trust="agent").remember("Lives in Rome", key="home", id="new")
        waits = only(memory)
        memory.review.approve(waits.id, waits.digest)
        memory.undo()
        assert memory.get("old").status == "active"
        back = only(memory)
        assert (back.id, back.trust, back.state) == ("new", "agent", "waiting")
        memory.review.reject(back.id, back.digest)
        memory.undo()
        assert only(memory).id == "new"

    def test_an_addition_is_proposed_and_approved(self, memory: Memory) -> None:
        (said,) = memory.observe("My sister is called Ada", session="s")
        agent = memory.scoped(trust="agent")
        made = agent.review.propose(
            "The user's sister is Ada", key="sister", kind="fact", about="user", evidence=[said.id]
        )
        assert (made.intent, made.state, made.target) == ("add", "waiting", None)
        assert [(q.words, q.role) for q in made.quotes] == [("My sister is called Ada", "user")]
        quoted = agent.review.propose("Ada is her name", evidence=[Quote(said.id, "called  Ada")])
        assert [quote.words for quote in quoted.quotes] == ["called Ada"]
        agent.review.withdraw(quoted.id)
        assert memory.list() == []
        done = memory.review.approve(made.id, made.digest)
        assert done.record is not None
        now = memory.get(done.record)
        assert isinstance(now, Record)
        assert (now.text, now.key, now.about) == (made.text, "sister", "user")
        assert (now.trust, now.status, now.evidence) == ("person", "active", (said.id,))
        again = agent.review.propose("The user's sister is Ada", key="sister", confidence=0.9)
        assert memory.review.approve(again.id, again.digest).record == now.id  # not twice
        assert memory.get(now.id).seq > now.seq

    def test_an_addition_under_a_key_replaces_its_holder(self, memory: Memory) -> None:
        old = memory.remember("Lives in Oslo", key="home")
        made = memory.scoped(trust="unverified").review.propose("Lives in Rome", key="home")
        assert (made.target, made.trust) == (old.id, "unverified")
        other = memory.scoped(trust="agent").review.propose("Lives in Bonn", key="home")
        done = memory.review.approve(made.id, made.digest)
        assert [record.text for record in memory.list()] == ["Lives in Rome"]
        assert memory.review.show(other.id).stale  # another record holds the key now
        assert [r.id for r in memory.list(filter="key = 'home'")] == [done.record]

    def test_an_update_of_more_than_the_text(self, memory: Memory) -> None:
        mine = memory.remember("Tea is at four", data={"a": 1})
        agent = memory.scoped(trust="agent")
        agent.revise(mine.id, mine.text, data={"a": 2})
        waits = only(memory)
        assert (waits.text, waits.changes) == (None, {"data": {"a": 2}})
        memory.review.approve(waits.id, waits.digest)
        now = memory.get(mine.id)
        assert isinstance(now, Record)
        assert (now.text, now.data, now.trust) == (mine.text, {"a": 2}, "person")

    def test_what_does_not_fit_together_is_refused(self, memory: Memory) -> None:
        mine = memory.remember("Tea is at four")
        review = memory.review
        wrong: list[Callable[[], Proposal]] = [
            review.propose,
            lambda: review.propose("x", intent="add", target=mine.id),
            lambda: review.propose("x", intent="update"),
            lambda: review.propose("x", intent="delete", target=mine.id),
            lambda: review.propose("x", intent="burn", target=mine.id),  # type: ignore[arg-type]
        ]
        for call in wrong:
            with pytest.raises(InvalidInput):
                call()
        with pytest.raises(NotFound):
            review.propose("x", target="nothing")
        with pytest.raises(NotFound):
            review.show("nothing")
        assert review.list() == []

    def test_a_proposal_is_withdrawn_by_its_author_or_a_person(self, memory: Memory) -> None:
        agent, tool = memory.scoped(trust="agent"), memory.scoped(trust="unverified")
        made = agent.review.propose("Tea is at four")
        with pytest.raises(Forbidden):
            tool.review.withdraw(made.id)
        assert agent.review.withdraw(made.id, reason="mistaken").state == "withdrawn"
        with pytest.raises(Conflict):
            agent.review.withdraw(made.id)
        with pytest.raises(NotFound):
            agent.review.withdraw("nothing")
        assert memory.review.list() == []
        agent.review.propose("Tea is at five")
        agent.undo()
        assert memory.review.list() == []

    def test_nothing_to_do_is_approved_too(self, memory: Memory) -> None:
        mine = memory.remember("Tea is at four")
        made = memory.scoped(trust="agent").review.propose(intent="noop", target=mine.id)
        assert str(made) == ""
        assert memory.review.approve(made.id, made.digest).record == mine.id
        assert memory.get(mine.id).seq == mine.seq

    def test_revert_puts_what_was_held_back_into_the_queue(self, memory: Memory) -> None:
        held = memory.scoped(trust="unverified").remember("Tea is at four")
        memory.forget(held.id)
        assert memory.review.list() == []
        assert brought_back(memory.undo(held.id)).status == "waiting"
        assert only(memory).id == held.id
        memory.revise(held.id, "Tea is at five")
        back = brought_back(memory.undo(held.id))
        assert (back.text, back.status) == ("Tea is at four", "waiting")

    def test_an_approval_covers_whose_key_is_taken(self, memory: Memory) -> None:
        memory.remember("The port is 1", key="port")
        held = memory.scoped(trust="agent").remember("The port is 2", key="port")
        shown = memory.review.show(held.id)
        other = memory.remember("The port is 3", key="port")
        with pytest.raises(Conflict, match="not what was shown"):
            memory.review.approve(shown.id, shown.digest)
        assert memory.get(other.id).status == "active"

    def test_a_changed_held_record_still_waits(self, memory: Memory) -> None:
        memory.remember("The port is 1", key="port")
        held = memory.scoped(trust="agent").remember("The port is 2", key="port")
        waits = memory.scoped(trust="unverified").revise(held.id, "The port is 3").pending
        assert waits is not None
        memory.review.approve(waits, memory.review.show(waits).digest)
        assert [record.text for record in memory.list(filter="key = 'port'")] == ["The port is 1"]
        again = only(memory)
        assert (again.id, again.text) == (held.id, "The port is 3")

    def test_nothing_of_another_user_is_quoted(self, memory: Memory) -> None:
        (secret,) = memory.scoped(user="bob").observe("The code is 4711")
        ann = memory.scoped(user="ann", trust="unverified")
        record = ann.remember("A claim", evidence=[secret.id])
        made = ann.review.propose("Another claim", evidence=[secret.id])
        for id in (record.id, made.id):
            assert ann.review.show(id).quotes == ()
            assert memory.review.show(id).quotes == ()

    def test_a_proposal_does_not_stand_in_the_way_of_undo(self, memory: Memory) -> None:
        mine = memory.remember("Tea is at four")
        memory.revise(mine.id, "Tea is at five")
        memory.scoped(trust="unverified").revise(mine.id, "Tea is at nine")
        memory.undo(mine.id)
        assert text_of(memory, mine.id) == "Tea is at four"
        waits = only(memory)
        memory.review.reject(waits.id, waits.digest)
        with pytest.raises(Conflict, match="decided a proposal"):
            memory.undo()

    def test_undo_of_a_review_lowers_an_active_record_again(self, memory: Memory) -> None:
        belief = memory.scoped(trust="agent").remember("Tea is at four")
        shown = memory.review.show(belief.id)
        memory.review.approve(shown.id, shown.digest)
        memory.undo()
        now = memory.get(belief.id)
        assert isinstance(now, Record)
        assert (now.trust, now.status) == ("agent", "active")

    def test_an_id_of_a_proposal_hides_nothing(self, memory: Memory) -> None:
        made = memory.scoped(trust="agent", user="bob").review.propose("Tea is at four")
        ann = memory.scoped(user="ann")
        ann.scoped(trust="unverified").remember("Tea is at nine", id=made.id)
        assert [one.unit for one in ann.review.list()] == ["record"]
        assert ann.review.show(made.id).text == "Tea is at nine"
        assert [one.unit for one in memory.review.list()] == ["proposal", "record"]

    def test_the_answer_names_the_proposal_of_these_words(self, memory: Memory) -> None:
        mine = memory.remember("Tea is at four")
        agent = memory.scoped(trust="agent")
        five = agent.revise(mine.id, "Tea is at five").pending
        six = agent.revise(mine.id, "Tea is at six").pending
        assert agent.revise(mine.id, "Tea is at five").pending == five != six
        assert memory.revise(mine.id, "Tea is at four").pending is None
        assert agent.revise(mine.id, "Tea is at four").pending is None  # it is so already
        memory.revise(mine.id, "Tea is at three")
        later = agent.revise(mine.id, "Tea is at five").pending
        assert later not in (None, five)  # the first one is stale

    def test_a_proposed_forgetting_keeps_the_sources_that_were_to_stay(
        self, memory: Memory
    ) -> None:
        (said,) = memory.observe("Tea is at four, they said")
        mine = memory.remember("Tea is at four", evidence=[said.id])
        memory.scoped(trust="agent").forget(mine.id, sources="keep")
        waits = only(memory)
        memory.review.approve(waits.id, waits.digest)
        assert memory.get(said.id).status == "visible"

    def test_a_rejected_record_stays_out_after_it_was_forgotten(self, memory: Memory) -> None:
        held = memory.scoped(trust="unverified").remember("Tea is at nine")
        waits = only(memory)
        memory.review.reject(waits.id, waits.digest)
        memory.forget(held.id)
        assert brought_back(memory.undo(held.id)).status == "waiting"
        memory.undo(held.id)
        memory.undo(held.id)
        assert memory.get(held.id, include=["waiting"]).status == "waiting"

    def test_undo_of_a_restoring_rejects_again(self, memory: Memory) -> None:
        held = memory.scoped(trust="unverified").remember("Tea is at nine")
        waits = only(memory)
        memory.review.reject(waits.id, waits.digest)
        memory.undo(held.id)
        memory.undo()
        gone = memory.get(held.id, include=["archived"])
        assert isinstance(gone, Record)
        assert (gone.status, gone.reason) == ("archived", "rejected")

    def test_an_approved_addition_that_is_there_gets_a_persons_trust(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        known = agent.remember("Tea is at four")
        made = agent.review.propose("Tea is at four")
        assert memory.review.approve(made.id, made.digest).record == known.id
        now = memory.get(known.id)
        assert isinstance(now, Record)
        assert now.trust == "person"

    def test_everything_of_a_held_record_is_shown(self, memory: Memory) -> None:
        tool = memory.scoped(trust="unverified")
        tool.remember("Tea is at nine", expires=timedelta(seconds=90), tags=["x"], data={"a": 1})
        changes = only(memory).changes
        assert changes.keys() == {"expires", "tags", "data"}

    def test_a_key_belongs_to_an_addition(self, memory: Memory) -> None:
        mine = memory.remember("Tea is at four")
        with pytest.raises(InvalidInput, match="key"):
            memory.review.propose("Tea is at five", target=mine.id, key="tea")
        for wrong in (-1, True, "x"):
            with pytest.raises(InvalidInput):
                memory.review.list(after=wrong)  # type: ignore[arg-type]
        assert memory.review.list(after=2**70) == []

    def test_a_proposal_is_erased_by_itself_and_with_its_user(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        made = agent.review.propose(f"They met in {CANARY}", key=CANARY, about=CANARY)
        with pytest.raises(Forbidden):
            agent.review.erase(made.id)
        with pytest.raises(NotFound):
            memory.review.erase("nothing")
        memory.review.reject(made.id, made.digest, f"not in {CANARY}")
        erased = memory.review.erase(made.id, reason="asked to")
        assert len(erased.events) == 2
        with pytest.raises(NotFound):
            memory.review.show(made.id)
        agent.review.propose(f"They met in {CANARY}", key=CANARY)
        assert len(memory.erase(key=CANARY).proposals) == 1
        agent.review.propose("They met", about=CANARY)
        assert len(memory.erase(about=CANARY).proposals) == 1
        agent.scoped(user="ann").review.propose(f"Ann was in {CANARY}")
        assert len(memory.erase(user="ann").proposals) == 1
        assert memory.review.list() == []
        assert all(CANARY not in (event.text or "") for event in memory.events.list())

    def test_pages_of_what_waits(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        ids = [agent.review.propose(f"number {n}").id for n in range(3)]
        ids.append(memory.scoped(trust="unverified").remember("number 4").id)
        found: list[str] = []
        after = 0
        while page := memory.review.list(limit=2, after=after):
            found += [one.id for one in page]
            after = page[-1].seq
        assert found == ids

    def test_a_user_sees_and_decides_their_own(self, memory: Memory) -> None:
        ann, bob = memory.scoped(user="ann"), memory.scoped(user="bob")
        mine = ann.remember("Ann drinks tea")
        memory.scoped(trust="agent").revise(mine.id, "Ann drinks milk")  # for the whole space
        waits = only(ann)
        assert waits.scope.user == "ann"
        assert bob.review.list() == []
        for call in (bob.review.show, lambda id: bob.review.approve(id, waits.digest)):
            with pytest.raises(NotFound):
                call(waits.id)
        ann.review.approve(waits.id, waits.digest)
        assert text_of(ann, mine.id) == "Ann drinks milk"

    def test_a_repeated_call_answers_the_same(self, memory: Memory) -> None:
        mine = memory.remember("Tea is at four")
        agent = memory.scoped(trust="agent")
        first = agent.revise(mine.id, "Tea is at five", idempotency_key="k1")
        assert agent.revise(mine.id, "Tea is at five", idempotency_key="k1") == first
        made = agent.review.propose("Milk is cold", idempotency_key="k2")
        assert agent.review.propose("Milk is cold", idempotency_key="k2") == made
        done = memory.review.approve(made.id, made.digest, idempotency_key="k3")
        assert memory.review.approve(made.id, made.digest, idempotency_key="k3") == done
        assert len(memory.review.list()) == 1

    def test_erasing_takes_along_what_proposals_say(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        mine = memory.remember("Tea is at four")
        (said,) = memory.observe(f"I went to {CANARY}")
        agent.revise(mine.id, f"Tea is at four in {CANARY}")
        made = agent.review.propose(f"The user was in {CANARY}", evidence=[said.id])
        kept = agent.review.propose("Milk is cold")
        done = memory.review.approve(made.id, made.digest)
        assert done.record is not None
        memory.erase(mine.id)
        memory.erase(said.id)
        assert [one.id for one in memory.review.list()] == [kept.id]
        with pytest.raises(NotFound):
            memory.review.show(made.id)
        memory.erase(done.record)
        assert all(CANARY not in (event.text or "") for event in memory.events.list())

    def test_everything_is_listed_as_events(self, memory: Memory) -> None:
        mine = memory.remember("Tea is at four")
        agent = memory.scoped(trust="agent")
        agent.revise(mine.id, "Tea is at five")
        waits = only(memory)
        memory.review.approve(waits.id, waits.digest)
        kinds = [event.kind for event in memory.events.list() if event.unit != "ledger"]
        assert kinds == [
            "record.added",
            "proposal.made",
            "proposal.approved",
            "record.revised",
            "record.reviewed",
        ]
        about = [event.kind for event in memory.events.list(id=waits.id)]
        assert about == ["proposal.made", "proposal.approved"]
        assert [event.by for event in memory.events.list(id=waits.id)] == ["agent", "person"]

    def test_only_a_review_raises_trust(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        belief = agent.remember("Tea is at four")
        assert agent.revise(belief.id, "Tea is at five").trust == "agent"
        assert brought_back(agent.undo(belief.id)).trust == "agent"
        shown = memory.review.show(belief.id)
        memory.review.approve(shown.id, shown.digest)
        now = memory.get(belief.id)
        assert isinstance(now, Record)
        assert (now.trust, now.status) == ("person", "active")
        assert memory.scoped(trust="agent").revise(belief.id, "Tea is at six").pending
        with pytest.raises(Conflict, match="does not wait"):
            memory.review.approve(now.id, memory.review.show(now.id).digest)

    def test_what_rests_on_the_target_is_shown(self, memory: Memory) -> None:
        mine = memory.remember("Staging runs on port 5432", key="staging.port")
        named = memory.remember("The tunnel goes to 5432", evidence=[mine.id])
        linked = memory.remember("The script has the port too")
        memory.graph.link(linked.id, mine.id, "derived_from")
        memory.graph.link(mine.id, memory.remember("Ports are in a table").id, "relates_to")
        moved = memory.remember("The docs name the port", evidence=[mine.id])
        memory.forget(memory.remember("A note has the port", evidence=[mine.id]).id)
        memory.scoped(trust="agent").forget(mine.id)
        before, waits = memory.events.position, only(memory)
        expected = sorted([named.id, linked.id, moved.id])
        assert [record.id for record in waits.resting] == expected
        memory.revise(moved.id, "The docs name another port")
        now = [record.id for record in only(memory).resting]
        assert now == sorted([named.id, linked.id])
        assert [record.id for record in only(memory.at(before)).resting] == expected

    def test_a_users_handle_sees_only_what_is_theirs_on_it(self, memory: Memory) -> None:
        ann = memory.scoped(user="ann")
        mine = ann.remember("Tea is at four")
        hers = ann.remember("Cake is at four too", evidence=[mine.id])
        memory.remember("Ann has tea at four", evidence=[mine.id])
        ann.scoped(trust="agent").forget(mine.id)
        for handle in (ann, memory):
            assert [record.id for record in only(handle).resting] == [hers.id]
