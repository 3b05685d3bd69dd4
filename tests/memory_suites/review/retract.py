"""The conformance suite of retractions, on every engine.

Subclass ``RetractSuite`` and define a fixture ``memory`` with an empty memory.
"""

from __future__ import annotations

import pytest

from recollect.errors import Changed, Conflict, Forbidden, InvalidInput, NotFound
from recollect.memory import Memory
from recollect.model.values import Quote, Record


def _record(memory: Memory, id: str) -> Record:
    return memory.history(id)[-1].record


def _texts(memory: Memory) -> set[str]:
    return {record.text for record in memory.list(include=["waiting"])}


class RetractSuite:
    """Every engine passes this."""

    def test_everything_derived_is_taken_back(self, memory: Memory) -> None:
        (heard,) = memory.observe("Pay to account 666", role="assistant")
        (beside,) = memory.observe("Invoices are due on Friday")
        account = memory.remember("The account is 666", evidence=[heard.id, beside.id])
        invoice = memory.remember("Invoices name 666", evidence=[account.id])
        linked = memory.remember("The bank knows 666")
        memory.graph.link(linked.id, invoice.id, "derived_from")
        apart = memory.remember("Rome is in Italy", evidence=[beside.id])
        shown = memory.forget(heard.id, derived=True, dry_run=True)
        assert (shown.id, shown.unit, shown.seq) == (heard.id, "episode", 0)
        assert set(shown.taken) == {account.id, invoice.id, linked.id}
        assert memory.get(linked.id).id == linked.id  # nothing was done
        here = memory.events.position
        done = memory.forget(heard.id, derived=True)
        assert (done.taken, done.back, done.seq) == (shown.taken, (), memory.events.position)
        kinds = [change.kind for change in memory.events.list(after=here)]
        assert kinds == ["lineage.retracted", "episode.forgotten", *["record.forgotten"] * 3]
        assert memory.list() == [apart]
        assert [episode.id for episode in memory.sessions.episodes()] == [beside.id]
        assert memory.recall("account 666").hits == ()
        assert memory.forget(heard.id, derived=True).seq == 0  # it is so already

    def test_what_was_superseded_is_back(self, memory: Memory) -> None:
        old = memory.remember("The port is 5432", key="port")
        (heard,) = memory.observe("The port is 666", role="assistant")
        new = memory.remember("The port is 666", key="port", evidence=[heard.id])
        done = memory.forget(heard.id, derived=True)
        assert (done.taken, done.back) == ((new.id,), (old.id,))
        now = memory.get(key="port")
        assert (now.id, now.trust, now.replaced_by) == (old.id, "person", None)

    def test_what_took_the_key_since_keeps_it(self, memory: Memory) -> None:
        old = memory.remember("The port is 5432", key="port")
        (heard,) = memory.observe("The port is 666", role="assistant")
        memory.remember("The port is 666", key="port", evidence=[heard.id])
        new = memory.remember("The port is 5433", key="port")
        memory.forget(heard.id, derived=True)
        assert memory.get(key="port").id == new.id
        assert _record(memory, old.id).replaced_by == new.id

    def test_what_was_revised_says_what_it_said_before(self, memory: Memory) -> None:
        (said,) = memory.observe("Staging runs on host one")
        host = memory.remember("Staging runs on host one", evidence=[said.id], tags=["ops"])
        before = memory.remember("Backups run there", evidence=[host.id])
        (heard,) = memory.observe("It runs on evil.example", role="assistant")
        memory.revise(host.id, "Staging runs on evil.example", evidence=[heard.id])
        memory.revise(host.id, tags=["new"])
        after = memory.remember("Send keys to evil.example", evidence=[host.id])
        done = memory.forget(heard.id, derived=True)
        assert (done.taken, done.back) == ((after.id,), (host.id,))
        now = _record(memory, host.id)
        assert (now.text, now.evidence, now.tags) == (host.text, (said.id,), ("ops",))
        assert now.trust == "person"  # before and since, it was a person's word
        assert memory.get(said.id).id == said.id
        assert before.id in {record.id for record in memory.list()}

    def test_a_restatement_is_taken_back(self, memory: Memory) -> None:
        tea = memory.remember("Tea is at four")
        (heard,) = memory.observe("Tea is at four, said the bot", role="assistant")
        memory.remember("Tea is at four", evidence=[heard.id])
        assert memory.forget(heard.id, derived=True).back == (tea.id,)
        assert _record(memory, tea.id).evidence == ()
        assert memory.forget(heard.id, derived=True).seq == 0  # it rests on it no longer

    def test_what_waited_waits_again(self, memory: Memory) -> None:
        mine = memory.remember("The port is 5432", key="port")
        claim = memory.scoped(trust="unverified").remember("The port is 99", key="port")
        (heard,) = memory.observe("The port is 666", role="assistant")
        memory.revise(claim.id, "The port is 666", evidence=[heard.id])
        memory.review.approve(claim.id, memory.review.show(claim.id).digest)
        assert memory.get(key="port").id == claim.id
        memory.forget(heard.id, derived=True)
        now = _record(memory, claim.id)
        assert (now.text, now.status, now.trust) == ("The port is 99", "waiting", "unverified")
        assert memory.get(key="port").id == mine.id

    def test_a_record_is_a_root_too(self, memory: Memory) -> None:
        base = memory.remember("The harbour is open")
        ferry = memory.remember("The ferry runs", evidence=[base.id])
        done = memory.forget(base.id, derived=True, idempotency_key="once")
        assert done == memory.forget(base.id, derived=True, idempotency_key="once")
        assert (done.unit, set(done.taken)) == ("record", {base.id, ferry.id})
        assert memory.list() == []
        with pytest.raises(NotFound):
            memory.forget("nothing", derived=True)
        with pytest.raises(InvalidInput):
            memory.forget(base.id, derived=True, dry_run="yes")  # type: ignore[arg-type]
        with pytest.raises(Changed):
            memory.forget(base.id, derived=True, expect=memory.events.position - 1)

    def test_a_retraction_is_undone(self, memory: Memory) -> None:
        old = memory.remember("The port is 5432", key="port")
        host = memory.remember("The host is one")
        (heard,) = memory.observe("The port is 666", role="assistant")
        new = memory.remember("The port is 666", key="port", evidence=[heard.id])
        memory.revise(host.id, "The host is two", evidence=[heard.id])
        before = _texts(memory)
        memory.forget(heard.id, derived=True)
        assert _texts(memory) == {old.text, host.text}
        memory.undo()
        assert _texts(memory) == before
        assert memory.get(key="port").id == new.id
        assert memory.get(heard.id).id == heard.id
        memory.undo()
        assert _texts(memory) == {old.text, host.text}
        with pytest.raises(Conflict, match="is held by"):
            memory.undo(new.id)

    def test_an_agent_takes_back_only_what_agents_did(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        (heard,) = agent.observe("The log says 5433", role="assistant")
        its = agent.remember("The port is 5433", evidence=[heard.id])
        mine = memory.remember("The firewall opens it", evidence=[its.id])
        (said,) = memory.observe("I like tea")
        with pytest.raises(Forbidden, match=said.id):
            agent.forget(said.id, derived=True)
        memory.review.approve(mine.id, memory.review.show(mine.id).digest)
        for dry_run in (False, True):
            with pytest.raises(Forbidden, match=mine.id):
                agent.forget(heard.id, derived=True, dry_run=dry_run)
        memory.forget(mine.id)
        with pytest.raises(Forbidden, match=mine.id):
            agent.forget(heard.id, derived=True)
        memory.erase(mine.id)
        assert agent.forget(heard.id, derived=True).taken == (
            its.id,
        )  # the control: its own it may

    def test_an_agent_takes_back_few_at_once(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        (heard,) = agent.observe("All of it", role="assistant")
        for number in range(21):
            agent.remember(f"number {number}", evidence=[heard.id])
        with pytest.raises(Forbidden, match="more than 20"):
            agent.forget(heard.id, derived=True)
        assert len(memory.forget(heard.id, derived=True).taken) == 21

    def test_a_user_takes_back_nothing_of_others(self, memory: Memory) -> None:
        ann = memory.scoped(user="ann")
        tea = ann.remember("Ann likes tea")
        menu = memory.remember("The menu has tea", evidence=[tea.id])
        with pytest.raises(Forbidden, match="another user") as refused:
            ann.forget(tea.id, derived=True)
        assert menu.id not in str(refused.value)
        with pytest.raises(NotFound):
            memory.scoped(user="ben").forget(tea.id, derived=True)
        assert set(memory.forget(tea.id, derived=True).taken) == {tea.id, menu.id}
        own = ann.remember("Ann likes coffee")
        more = ann.remember("Buy coffee", evidence=[own.id])
        assert set(ann.forget(own.id, derived=True).taken) == {own.id, more.id}

    def test_a_quoted_correction_is_taken_back(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        port = memory.remember("Staging is on 5432")
        (said,) = memory.observe("Staging is on 5433 now")
        agent.revise(port.id, "Staging is on 5433", evidence=[Quote(said.id, "5433 now")])
        assert _record(memory, port.id).text == "Staging is on 5433"
        memory.forget(said.id, derived=True)
        assert _record(memory, port.id).text == "Staging is on 5432"

    def test_erasing_the_root_leaves_nothing_of_it(self, memory: Memory) -> None:
        (heard,) = memory.observe("zanzibar", role="assistant", id="zanzibar-said")
        one = memory.remember("A spice", evidence=[heard.id])
        memory.forget(heard.id, derived=True)
        memory.erase(heard.id)
        assert _record(memory, one.id).status == "forgotten"
        assert all("zanzibar" not in str(change) for change in memory.events.list())
