"""The conformance suite of superseding: a new record in the place of an old one, on every engine.

Subclass ``SupersedeSuite`` and define a fixture ``memory`` with an empty memory.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from recollect.errors import Conflict, Forbidden, InvalidInput, NotFound, Unsupported
from recollect.memory import Memory
from recollect.model.values import Quote, Record
from tests.memory_suites.behind import BehindSuite
from tests.undone import brought_back


def _record(memory: Memory, id: str) -> Record:
    return memory.history(id)[-1].record


class SupersedeSuite(BehindSuite):
    """Every engine passes this."""

    def test_a_new_record_takes_the_place_of_an_old_one(self, memory: Memory) -> None:
        old = memory.remember("Alice sits in row 3.", about="person:Alice")
        then = memory.events.position
        new = memory.remember("Alice sits at the window.", replaces=old.id, reason="she moved")
        assert (new.text, new.replaces, new.status) == (
            "Alice sits at the window.",
            old.id,
            "active",
        )
        # default reads leave the old one out, and every other read has it
        assert [record.id for record in memory.list()] == [new.id]
        assert [hit.id for hit in memory.recall("Where does Alice sit?")] == [new.id]
        with pytest.raises(NotFound, match="replaced"):
            memory.get(old.id)
        before = memory.get(old.id, include=["replaced"])
        assert isinstance(before, Record)
        assert (before.text, before.status, before.reason) == (old.text, "replaced", "replaced")
        assert before.replaced_by == new.id
        assert old.id in {record.id for record in memory.list(include=["replaced"])}
        found = memory.recall("Where does Alice sit?", include=["replaced"])
        assert {hit.id for hit in found} == {old.id, new.id}
        last = memory.history(old.id)[-1]
        assert (last.what, last.note) == ("replaced", "she moved")
        assert [record.id for record in memory.at(then).list()] == [old.id]

    def test_its_page_shows_the_old_entry_struck_through(self, memory: Memory) -> None:
        old = memory.remember("Alice sits in row 3.", about="person:Alice", tags=["office"])
        new = memory.remember("Alice sits at the window.", replaces=old.id)
        entries = memory.pages.read("person-alice").partition("\n## ")[2]
        assert entries.splitlines()[0].endswith(f"{{id: {old.id}}} #office #superseded-by:{new.id}")
        assert entries.splitlines()[1:3] == ["~~Alice sits in row 3.~~", ""]
        assert entries.splitlines()[3].endswith(f"{{id: {new.id}}} #office")
        assert entries.splitlines()[4] == "Alice sits at the window."

    def test_only_the_named_entry_is_struck_if_its_words_occur_earlier(
        self, memory: Memory
    ) -> None:
        words = "The port is 5432."
        first = memory.remember(words, about="project:Apollo", key="test.port")
        longer = memory.remember(f"Bob said: {words}", about="project:Apollo")
        second = memory.remember(words, about="project:Apollo", key="live.port")
        new = memory.remember("The port is 6432.", replaces=second.id)
        text = memory.pages.read("project-apollo")
        assert text.count("~~") == 2
        assert f"{{id: {first.id}}}\n{words}\n" in text
        assert f"{{id: {longer.id}}}\nBob said: {words}\n" in text
        assert f"{{id: {second.id}}} #superseded-by:{new.id}\n~~{words}~~\n" in text
        assert _record(memory, first.id).status == "active"

    def test_what_says_where_it_belongs_stays(self, memory: Memory) -> None:
        mine = memory.scoped(user="alice")
        (said,) = mine.observe("Maybe row 3.")
        old = mine.remember(
            "Alice sits in row 3.",
            key="seat",
            about="person:Alice",
            kind="place",
            tags=["office", "seat"],
            data={"row": 3},
            confidence=0.2,
            evidence=[said.id],
            is_hypothesis=True,
            expires=timedelta(days=1),
        )
        new = memory.remember("Alice sits at the window.", replaces=old.id)
        assert (new.key, new.about, new.kind) == ("seat", "person:Alice", "place")
        assert (new.tags, new.data, new.scope.user) == (("office", "seat"), {"row": 3}, "alice")
        assert (new.confidence, new.evidence, new.is_hypothesis, new.expires) == (
            0.7,
            (),
            False,
            None,
        )
        assert mine.get(key="seat").id == new.id
        other = memory.remember(
            "Alice sits outside.",
            replaces="seat",
            about="person:Al",
            kind="fact",
            tags=[],
            data={},
            confidence=0.9,
        )
        assert (other.replaces, other.key, other.tags) == (new.id, "seat", ())
        assert (other.about, other.kind, other.data) == ("person:Al", "fact", {})
        assert (other.confidence, other.scope.user) == (0.9, "alice")

    def test_another_key_leaves_the_old_one_free(self, memory: Memory) -> None:
        old = memory.remember("Row 3.", key="alice.seat")
        there = memory.remember("Row 4.", key="alice.place")
        new = memory.remember("Row 5.", replaces="alice.seat", key="alice.place")
        assert (new.key, new.replaces) == ("alice.place", old.id)
        assert [_record(memory, one.id).replaced_by for one in (old, there)] == [new.id, new.id]
        with pytest.raises(NotFound):
            memory.get(key="alice.seat")

    def test_remember_can_supersede(self, memory: Memory) -> None:
        old = memory.remember("Row 3.", about="person:Alice", tags=["seat"])
        new = memory.remember("Row 4.", replaces=old.id, id="new", kind="place")
        assert (new.id, new.replaces, new.about) == ("new", old.id, "person:Alice")
        assert (new.kind, new.tags) == ("place", ("seat",))
        assert _record(memory, old.id).replaced_by == "new"

    def test_what_is_known_already_takes_the_place(self, memory: Memory) -> None:
        known = memory.remember("Row 4.", about="person:Bob")
        old = memory.remember("Row 3.", about="person:Alice")
        found = memory.remember("Row 4.", replaces=old.id, reason="the same")
        assert (found.id, found.about, found.reinforcement_count) == (known.id, "person:Bob", 1)
        assert _record(memory, old.id).replaced_by == known.id
        memory.undo()
        assert _record(memory, old.id).status == "active"
        keyed = memory.remember("Row 5.", key="seat")
        new = memory.remember("Row 4.", replaces=keyed.id)  # a record does not get a key later
        assert (new.key, new.replaces) == ("seat", keyed.id)
        assert _record(memory, known.id).replaced_by == new.id

    def test_it_is_undone_and_reverted(self, memory: Memory) -> None:
        for key in (None, "alice.seat"):
            old = memory.remember(f"Row 3, {key}.", key=key)
            new = memory.remember(f"Row 4, {key}.", replaces=old.id)
            memory.undo()
            assert _record(memory, old.id).status == "active"
            assert (_record(memory, new.id).status, _record(memory, new.id).reason) == (
                "replaced",
                "replaced",
            )
            memory.undo()
            assert _record(memory, old.id).replaced_by == new.id
            assert brought_back(memory.undo(new.id)).id == old.id
            assert _record(memory, new.id).replaced_by == old.id
            if key is not None:
                assert memory.get(key=key).id == old.id
            last = memory.remember(f"Row 5, {key}.", replaces=old.id)
            assert brought_back(memory.undo(old.id)).id == old.id  # named by the old one
            assert _record(memory, last.id).replaced_by == old.id
            assert [one.id for one in memory.list() if one.key == key] == [old.id]

    def test_what_cannot_be_superseded(self, memory: Memory) -> None:
        old = memory.remember("Row 3.")
        new = memory.remember("Row 4.", replaces=old.id)
        last = memory.remember("Row 5.", replaces=new.id)
        with pytest.raises(Conflict, match=f"replaced by {new.id}") as refused:
            memory.remember("Row 6.", replaces=old.id)
        assert refused.value.hint == f"replace {last.id} instead"
        memory.forget(last.id)
        with pytest.raises(Conflict, match="is forgotten") as refused:
            memory.remember("Row 6.", replaces=last.id)
        assert refused.value.hint == "`undo` brings it back first"
        with pytest.raises(Conflict, match="replaced by") as refused:
            memory.remember("Row 6.", replaces=old.id)
        assert refused.value.hint == "`undo` brings it back first"
        memory.undo(last.id)
        with pytest.raises(Conflict, match="says exactly this already"):
            memory.remember("Row 5.", replaces=last.id)
        with pytest.raises(NotFound, match="was not found"):
            memory.remember("Row 6.", replaces="r-none")
        with pytest.raises(NotFound):
            memory.scoped(user="bob").remember("Row 6.", replaces=last.id)
        with pytest.raises(InvalidInput):
            memory.remember(" ", replaces=last.id)
        with pytest.raises(Unsupported):
            memory.at(memory.events.position).remember("Row 6.", replaces=last.id)
        (heard,) = memory.observe("Row 9.", role="tool")
        held = memory.remember("Row 9.", evidence=[heard.id])
        with pytest.raises(Conflict, match="is held") as refused:
            memory.remember("Row 10.", replaces=held.id)
        assert "review" in (refused.value.hint or "")
        memory.erase(last.id)
        with pytest.raises(NotFound):
            memory.remember("Row 6.", replaces=last.id)

    def test_a_short_id_and_a_key_name_the_old_one(self, memory: Memory) -> None:
        memory.remember("Row 3.", id="alice-row-3")
        assert memory.remember("Row 4.", replaces="alice-ro").replaces == "alice-row-3"
        keyed = memory.remember("Port 1.", key="port")
        assert memory.remember("Port 2.", replaces="port").replaces == keyed.id

    def test_the_same_call_again_gives_the_same_record(self, memory: Memory) -> None:
        old = memory.remember("Row 3.")
        new = memory.remember("Row 4.", replaces=old.id, reason="moved", idempotency_key="once")
        again = memory.remember("Row 4.", replaces=old.id, reason="moved", idempotency_key="once")
        assert again == new
        with pytest.raises(Conflict, match="different call"):
            memory.remember("Row 4.", replaces=old.id, reason="other", idempotency_key="once")
        agent = memory.scoped(trust="agent")
        waits = agent.remember("Row 5.", id="x", replaces=new.id, idempotency_key="twice")
        again = agent.remember("Row 5.", id="x", replaces=new.id, idempotency_key="twice")
        assert waits == again
        assert (waits.id, waits.pending is not None) == (new.id, True)

    def test_several_in_a_batch(self, memory: Memory) -> None:
        one, two, three = (memory.remember(f"Row {n}.", tags=["seat"]) for n in (1, 2, 3))
        with memory.batch() as batch:
            batch.remember("Row 4.", replaces=one.id, reason="moved", tags=["here"])
            batch.remember("Row 5.", replaces=two.id)
            batch.remember("Row 6.", replaces=three.id)
        texts = [found.text for found in batch.results]
        assert texts == ["Row 4.", "Row 5.", "Row 6."]
        assert {record.text: record.tags for record in memory.list()} == {
            "Row 4.": ("here",),
            "Row 5.": ("seat",),
            "Row 6.": ("seat",),
        }
        with pytest.raises(Conflict), memory.batch() as batch:
            batch.remember("Row 7.", replaces=batch_id(memory, "Row 4."))
            batch.remember("Row 8.", replaces=one.id)
        assert {record.text for record in memory.list()} == set(texts)
        with (
            pytest.raises(Forbidden, match="may not change it"),
            memory.scoped(trust="agent").batch() as batch,
        ):
            batch.remember("Row 7.", replaces=batch_id(memory, "Row 4."))

    def test_an_agent_asks_to_supersede_what_a_person_said(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        old = memory.remember("Row 3.", key="seat", about="person:Alice", tags=["office"])
        asked = agent.remember("Row 4.", replaces=old.id, reason="she said so", confidence=0.9)
        assert (asked.id, asked.text, asked.status) == (old.id, "Row 3.", "active")
        assert agent.remember("Row 4.", replaces=old.id, confidence=0.9).pending == asked.pending
        (waiting,) = memory.review.list()
        assert (waiting.id, waiting.intent, waiting.text) == (asked.pending, "update", "Row 4.")
        assert (waiting.target, waiting.changes["replaces"]) == (old.id, True)
        assert waiting.changes["tags"] == ["office"]
        memory.review.approve(waiting.id, waiting.digest)
        new = memory.get(key="seat")
        assert (new.text, new.replaces, new.trust) == ("Row 4.", old.id, "person")
        assert (new.about, new.tags, new.confidence) == ("person:Alice", ("office",), 0.9)
        last = memory.history(old.id)[-1]
        assert (last.what, last.note) == ("replaced", "she said so")
        memory.undo(new.id)
        assert memory.get(key="seat").id == old.id

    def test_a_proposal_to_supersede_goes_stale(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        old = memory.remember("Row 3.", key="seat")
        agent.remember("Row 4.", replaces=old.id)
        memory.remember("Row 5.", replaces=old.id)
        (waiting,) = memory.review.list()
        assert waiting.stale
        with pytest.raises(Conflict, match="changed since"):
            memory.review.approve(waiting.id, waiting.digest)

    def test_an_approved_one_that_is_known_by_now(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        old = memory.remember("Row 3.")
        pending = agent.remember("Row 4.", replaces=old.id).pending or ""
        known = agent.remember("Row 4.")
        memory.review.approve(pending, memory.review.show(pending).digest)
        assert _record(memory, old.id).replaced_by == known.id
        assert (_record(memory, known.id).trust, _record(memory, known.id).status) == (
            "person",
            "active",
        )

    def test_an_agent_supersedes_with_a_quote_and_its_own(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        old = memory.remember("Row 3.")
        (said,) = memory.observe("I moved to row 4.")
        new = agent.remember("Row 4.", replaces=old.id, evidence=[Quote(said.id, "row 4")])
        assert (new.replaces, new.trust, new.pending) == (old.id, "agent", None)
        assert agent.remember("Row 5.", replaces=new.id).pending  # a quote opens one change
        its = agent.remember("Gate 3.")
        assert agent.remember("Gate 4.", replaces=its.id).text == "Gate 4."

    def test_unverified_words_supersede_nothing(self, memory: Memory) -> None:
        (heard,) = memory.observe("Row 9.", role="tool")
        old = memory.scoped(trust="agent").remember("Row 3.")
        with pytest.raises(Forbidden):
            memory.remember("Row 9.", replaces=old.id, evidence=[heard.id])
        asked = memory.scoped(trust="unverified").remember("Row 9.", replaces=old.id)
        assert (asked.text, asked.pending is not None) == ("Row 3.", True)
        waiting = memory.review.show(asked.pending or "")
        memory.review.approve(waiting.id, waiting.digest)
        new = memory.list()[0]
        assert (new.text, new.trust, new.status) == ("Row 9.", "person", "active")

    def test_an_agent_takes_no_key_of_a_person_by_superseding(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        memory.remember("Row 3.", key="alice.seat")
        own = agent.remember("Row 4.")
        with pytest.raises(Forbidden):
            agent.remember("Row 5.", replaces=own.id, key="alice.seat")
        assert memory.get(key="alice.seat").text == "Row 3."
        assert _record(memory, own.id).status == "active"

    def test_a_policy_lets_it_wait(self, memory: Memory) -> None:
        agent = memory.scoped(trust="agent")
        own = agent.remember("Row 3.")
        memory.settings.documents.set("policy", "agents", {"update": "review"})
        asked = agent.remember("Row 4.", replaces=own.id)
        assert (asked.text, asked.pending is not None) == ("Row 3.", True)
        memory.settings.documents.set("policy", "agents", {"add": "review"})
        assert (
            agent.remember("Row 5.", replaces=own.id).status == "active"
        )  # it adds nothing beside it

    def test_erasing_the_old_record_erases_the_reason(self, memory: Memory, engine: Memory) -> None:
        old = memory.remember("Row 3.")
        new = memory.remember("Row 4.", replaces=old.id, reason="a secret reason")
        memory.erase(old.id)
        assert _record(memory, new.id).text == "Row 4."
        assert all("secret" not in repr(one) for one in memory.events.list())
        engine.admin.rebuild()
        assert memory.admin.verify().ok
        assert [record.id for record in memory.list()] == [new.id]

    def test_retracting_the_new_record_brings_the_old_one_back(self, memory: Memory) -> None:
        old = memory.remember("Row 3.")
        new = memory.remember("Row 4.", replaces=old.id)
        done = memory.forget(new.id, derived=True)
        assert (done.taken, done.back) == ((new.id,), (old.id,))
        assert [record.id for record in memory.list()] == [old.id]


def batch_id(memory: Memory, text: str) -> str:
    """The id of the active record that says this."""
    return next(record.id for record in memory.list() if record.text == text)
