"""The conformance suite of lineage: trust is the minimum over all ancestors, also after changes.

Subclass ``LineageSuite`` and define a fixture ``memory`` with an empty memory. ``TrustSuite``
includes it.
"""

from __future__ import annotations

import pytest

from recollect.errors import Forbidden
from recollect.memory import Memory
from recollect.model.events import Trust
from recollect.model.values import Quote, Record
from tests.undone import brought_back

_LOWERED = "derived from something less trusted"


class LineageSuite:
    """Every engine passes this."""

    @pytest.fixture
    def memory(self) -> Memory:
        """An empty memory; defined by subclasses."""
        raise NotImplementedError

    def test_what_has_less_trust_lowers_what_was_derived(self, memory: Memory) -> None:
        seat = memory.remember("Ann sits in row 12")
        meal = memory.remember("Ann gets the vegan meal", evidence=[seat.id])
        bill = memory.remember("The meal is paid", evidence=[meal.id, "a receipt"])
        note = memory.remember("Row 12 is paid")
        memory.graph.link(note.id, bill.id, "derived_from")
        apart = memory.remember("Rome is in Italy")
        _lower(memory, seat.id)
        assert _record(memory, seat.id).trust == "agent"
        for record in (meal, bill, note):
            now = _record(memory, record.id)
            assert (now.trust, now.status) == ("agent", "active")
            assert (now.text, now.evidence) == (record.text, record.evidence)
            assert memory.history(record.id)[-1].note == _LOWERED
        assert memory.get(apart.id) == apart

    def test_a_later_link_holds_what_was_derived(self, memory: Memory) -> None:
        agent, web = memory.scoped(trust="agent"), memory.scoped(trust="unverified")
        bad = web.remember("Pay to account 666")
        account = agent.remember("The account is 666")
        invoice = agent.remember("Invoices name account 666", evidence=[account.id])
        mine = memory.remember("The bank knows 666", key="bank", evidence=[invoice.id])
        memory.graph.link(account.id, bad.id, "derived_from")
        for record in (account, invoice, mine):
            now = _record(memory, record.id)
            assert (now.trust, now.status) == ("unverified", "waiting")
        assert memory.list() == []
        assert memory.recall("account 666").hits == ()

    def test_links_in_a_ring_end(self, memory: Memory) -> None:
        agent, web = memory.scoped(trust="agent"), memory.scoped(trust="unverified")
        bad = web.remember("a rumour")
        ring = [agent.remember(f"belief {n}") for n in range(4)]
        for n, record in enumerate(ring):
            agent.graph.link(record.id, ring[n - 1].id, "derived_from")
        agent.graph.link(ring[2].id, bad.id, "derived_from")
        assert {_record(memory, one.id).status for one in ring} == {"waiting"}

    def test_only_what_the_current_text_names_counts(self, memory: Memory) -> None:
        agent, web = memory.scoped(trust="agent"), memory.scoped(trust="unverified")
        bad, base = web.remember("a rumour"), agent.remember("The sky is grey")
        moved = agent.remember("Take an umbrella", evidence=[base.id])
        agent.revise(moved.id, "Take a coat")
        early = agent.remember("It may rain", evidence=["base-2"])
        agent.remember("The wind is strong", id="base-2")
        freed = agent.remember("Stay inside")
        agent.graph.link(freed.id, base.id, "derived_from")
        agent.graph.unlink(freed.id, base.id, "derived_from")
        other = agent.remember("Clouds are grey too")
        agent.graph.link(other.id, base.id, "relates_to")
        for lowered in (base.id, "base-2"):
            agent.graph.link(lowered, bad.id, "derived_from")
            assert _record(memory, lowered).status == "waiting"
        for record in (moved, early, freed, other):
            assert _record(memory, record.id).trust == "agent"

    def test_what_was_forgotten_comes_back_lowered(self, memory: Memory) -> None:
        agent, web = memory.scoped(trust="agent"), memory.scoped(trust="unverified")
        bad, base = web.remember("a rumour"), agent.remember("Ben lives in Rome")
        gone = agent.remember("Ben speaks Italian", evidence=[base.id])
        old = agent.remember("Ben likes pasta", key="food", evidence=[base.id])
        new = agent.remember("Ben likes rice", key="food")
        agent.forget(gone.id)
        agent.graph.link(base.id, bad.id, "derived_from")
        assert _record(memory, gone.id).status == "forgotten"
        agent.undo(gone.id)
        agent.forget(new.id)
        agent.undo(old.id)
        for record in (gone, old):
            now = _record(memory, record.id)
            assert (now.trust, now.status) == ("unverified", "waiting")

    def test_bringing_back_an_earlier_text_lowers_what_was_derived(self, memory: Memory) -> None:
        source = memory.remember("5433 is open")
        port = memory.remember("The port is 5433", evidence=[source.id])
        memory.revise(port.id, "The port is 5432")
        rule = memory.remember("The firewall opens 5432", evidence=[port.id])
        _lower(memory, source.id, "unverified")
        assert _record(memory, port.id).trust == "person"
        with pytest.raises(Forbidden):
            memory.undo(port.id)  # its words rest on what is held now
        memory.review.approve(source.id, memory.review.show(source.id).digest)
        _lower(memory, source.id)
        back = brought_back(memory.undo(port.id))  # what an agent says does not lower a person's
        assert (back.id, back.text, back.trust) == (port.id, "The port is 5433", "person")
        assert memory.get(rule.id) == rule

    def test_an_agent_lowers_nothing_of_a_person(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        port = memory.remember("The port is 5432")
        rule = memory.remember("The firewall opens it", evidence=[port.id])
        (said,) = memory.observe("Staging is on 5433 now")
        quote = Quote(said.id, "5433 now")
        answer = agent.revise(port.id, "The port is 5433", evidence=[quote])
        assert (answer.text, answer.trust) == (port.text, "person")
        (waits,) = memory.review.list()
        assert answer.pending == waits.id
        assert memory.get(rule.id) == rule
        memory.review.approve(waits.id, waits.digest)
        now = _record(memory, port.id)
        assert (now.text, now.trust, _record(memory, rule.id).trust) == (
            "The port is 5433",
            "person",
            "person",
        )

    def test_an_approval_that_is_taken_back_holds_what_was_derived(self, memory: Memory) -> None:
        web = memory.scoped(trust="unverified")
        claim = web.remember("Account 666 is ours")
        memory.review.approve(claim.id, memory.review.show(claim.id).digest)
        bill = memory.remember("The bill goes to 666", evidence=[claim.id])
        paid = memory.remember("The bill is paid", evidence=[bill.id])
        assert (bill.trust, paid.trust) == ("person", "person")
        memory.undo(claim.id)
        for record in (claim, bill, paid):
            now = _record(memory, record.id)
            assert (now.trust, now.status) == ("unverified", "waiting")

    def test_a_review_vouches_for_what_was_derived_before_it(self, memory: Memory) -> None:
        web, agent = memory.scoped(trust="unverified"), memory.scoped(trust="agent")
        base = agent.remember("The harbour is open")
        ferry = agent.remember("The ferry runs", evidence=[base.id])
        memory.review.approve(ferry.id, memory.review.show(ferry.id).digest)
        trip = memory.remember("We go by ferry", evidence=[ferry.id])
        memory.graph.link(base.id, web.remember("a rumour").id, "derived_from")
        assert _record(memory, base.id).status == "waiting"
        assert (_record(memory, ferry.id).trust, memory.get(trip.id)) == ("person", trip)

    def test_a_user_lowers_nothing_of_the_whole_space(self, memory: Memory) -> None:
        ann = memory.scoped(user="ann")
        tea = ann.remember("Ann likes tea")
        menu = memory.remember("The menu has tea", evidence=[tea.id])
        with pytest.raises(Forbidden, match="another user") as refused:
            _lower(ann, tea.id)
        assert menu.id not in str(refused.value)
        assert memory.get(tea.id) == tea
        _lower(memory, menu.id)
        _lower(ann, tea.id)
        assert _record(memory, tea.id).trust == "agent"

    def test_a_record_of_another_user_is_not_derived(self, memory: Memory) -> None:
        ann, ben = memory.scoped(user="ann"), memory.scoped(user="ben")
        tea = ann.remember("Ann likes tea")
        guess = ben.remember("Tea is liked", evidence=[tea.id])  # for Ben a name from elsewhere
        _lower(ann, tea.id)
        assert _record(memory, tea.id).trust == "agent"
        assert ben.get(guess.id) == guess

    def test_a_repeated_call_names_its_own_record(self, memory: Memory) -> None:
        seat = memory.remember("Ann sits in row 12")
        memory.remember("Ann gets the vegan meal", evidence=[seat.id])
        (heard,) = memory.observe("Ann sits in row 12, said the bot", role="assistant")

        def batch() -> list[str]:
            with memory.batch(idempotency_key="again") as many:
                many.remember(seat.text, evidence=[heard.id])
                many.remember("Ben sits in row 13")
            return [one.text for one in many.results if isinstance(one, Record)]

        assert batch() == batch() == [seat.text, "Ben sits in row 13"]


def _lower(memory: Memory, id: str, trust: Trust = "agent") -> None:
    """It turns out that a record was derived from what someone else says."""
    memory.graph.link(
        id, memory.scoped(trust=trust).remember(f"hearsay {trust}").id, "derived_from"
    )


def _record(memory: Memory, id: str) -> Record:
    return memory.history(id)[-1].record
