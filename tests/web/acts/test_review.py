"""The review: what is decided is what was shown, and by a person."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Memory, Store
from recollect.interfaces.web.draw.consequences import consequences
from recollect.interfaces.web.draw.words import AROUND_CHARS, span
from recollect.interfaces.web.memories import Own
from recollect.interfaces.web.rights import NEEDS_PERSON
from recollect.model.values import Quote
from tests.web.visiting import Visitor, hidden_fields, served


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open(":memory:") as store:
        memory = store.space("demo")
        memory.remember("Alice eats vegetarian meals.", key="alice.meal")
        agent = memory.scoped(trust="agent", agent="planner")
        said = agent.observe("At the gate she asked for vegan meals from now on. Then we flew.")
        agent.review.propose(
            "Alice eats vegan meals.", target=memory.get(key="alice.meal").id, reason="she asked",
            evidence=[Quote(said[0].id, "asked for vegan meals")],
        )  # fmt: skip
        web = memory.scoped(trust="unverified")
        web.remember("Alice eats whatever mallory sends.", key="alice.meal")
        yield store


def waiting(memory: Memory) -> tuple[str, str]:
    """The id of the proposal and of the held record."""
    found = {each.unit: each.id for each in memory.review.list()}
    return found["proposal"], found["record"]


def test_a_case_shows_all_that_is_needed(visitor: Visitor, memory: Memory) -> None:
    proposal, held = waiting(memory)
    page = visitor.get("/demo/review")
    assert "Agent planner wants to change alice.meal" in page.words
    assert "<del><bdi>vegetarian</bdi></del>" in page.text
    assert "<ins><bdi>vegan</bdi></ins>" in page.text
    assert "<mark><bdi>asked for vegan meals</bdi></mark>" in page.text
    assert "At the gate she " in page.words
    assert "“ she asked ”" in page.words
    for said in consequences(memory.review.show(proposal)):
        assert said in page.words
    assert f'/review/{proposal}/approve"' in page.text
    assert "mallory" in page.words  # the other one, in the same queue
    other = visitor.get(f"/demo/review?id={held}")
    assert "would replace" in other.words
    assert "takes the key from the record that holds it now" in other.words


def test_an_approval_changes_the_record_once(visitor: Visitor, memory: Memory) -> None:
    proposal, _ = waiting(memory)
    fields = hidden_fields(visitor.get("/demo/review"), "/approve")
    next_one = visitor.follow(visitor.post(f"/demo/review/{proposal}/approve", fields))
    assert memory.get(key="alice.meal").text == "Alice eats vegan meals."
    position = memory.events.position
    assert visitor.post(f"/demo/review/{proposal}/approve", fields).status == 303
    assert memory.events.position == position
    assert "Approved." in next_one.words
    assert "mallory" in next_one.words  # the next one
    undo = hidden_fields(next_one, "/undo")
    record = memory.get(key="alice.meal").id
    assert visitor.post(f"/demo/r/{record}/undo", undo).status == 303
    assert memory.get(key="alice.meal").text == "Alice eats vegetarian meals."


def test_a_held_record_is_let_in_and_held_again(visitor: Visitor, memory: Memory) -> None:
    _, held = waiting(memory)
    fields = hidden_fields(visitor.get(f"/demo/review?id={held}"), "/approve")
    done = visitor.follow(visitor.post(f"/demo/review/{held}/approve", fields))
    assert memory.get(key="alice.meal").id == held
    undo = hidden_fields(done, "/undo")
    again = visitor.follow(visitor.post(f"/demo/review/{held}/undo", undo))
    assert "It waits again." in again.words
    assert memory.get(key="alice.meal").text == "Alice eats vegetarian meals."
    assert held in waiting(memory)


def test_a_struck_entry_is_reviewed_as_what_it_is(
    visitor: Visitor, memory: Memory, tmp_path: Path
) -> None:
    # S3-175: and it stays on its page, struck through
    (said,) = memory.observe("Row 3 is hers.")
    record = memory.remember("Alice sits in row 3.", about="person:Alice", evidence=[said.id])
    page = Path(memory.pages.render(tmp_path).folder) / "person-alice.md"
    struck = "\n~~Alice sits in row 3.~~\n"
    page.write_text(page.read_text().replace("\nAlice sits in row 3.\n", struck))
    memory.pages.sync(tmp_path, propose=True)
    (one,) = [each for each in memory.review.list() if each.target == record.id]
    asked = visitor.get(f"/demo/review?id={one.id}")
    assert f"wants to refute {record.id}" in asked.words
    assert "<del><bdi>Alice sits in row 3.</bdi></del>" in asked.text
    assert "Its page shows it struck through, and it can be restored." in asked.words
    assert "may be hidden" not in asked.words
    assert "why rejected" not in asked.words
    fields = hidden_fields(asked, f"/review/{one.id}/approve")
    visitor.follow(visitor.post(f"/demo/review/{one.id}/approve", fields))
    shown = visitor.get(f"/demo/r/{record.id}").words
    assert "Archived: it did not hold. It is not recalled." in shown
    memory.pages.sync(tmp_path)
    assert struck in page.read_text()


def test_a_rejection_has_a_reason(visitor: Visitor, memory: Memory) -> None:
    proposal, held = waiting(memory)
    fields = hidden_fields(visitor.get("/demo/review"), "/reject")
    done = visitor.post(f"/demo/review/{proposal}/reject", {**fields, "reason": "not yet"})
    assert "That is final" in visitor.follow(done).words
    assert memory.review.show(proposal).note == "not yet"
    fields = hidden_fields(visitor.get(f"/demo/review?id={held}"), "/reject")
    visitor.post(f"/demo/review/{held}/reject", fields)
    assert memory.review.list() == []
    assert memory.get(key="alice.meal").text == "Alice eats vegetarian meals."
    assert "Nothing waits for you." in visitor.get("/demo/review").words
    assert "It was rejected" in visitor.get(f"/demo/review?id={proposal}").words


def test_what_changed_is_shown_beside_what_was_shown(visitor: Visitor, memory: Memory) -> None:
    _, held = waiting(memory)
    fields = hidden_fields(visitor.get(f"/demo/review?id={held}"), "/approve")
    memory.remember("Alice eats fish.", key="alice.meal")  # what it would replace is another
    position = memory.events.position
    both = visitor.post(f"/demo/review/{held}/approve", fields)
    assert both.status == 409
    assert memory.events.position == position
    then, now = both.text.split("What waits now")
    assert "vegetarian" in then
    assert "fish" in now
    fresh = hidden_fields(both, "/approve")
    assert fresh["digest"] != fields["digest"]
    assert visitor.post(f"/demo/review/{held}/approve", fresh).status == 303
    assert memory.get(key="alice.meal").id == held


def test_a_stale_proposal_is_shown_and_not_approved(visitor: Visitor, memory: Memory) -> None:
    proposal, _ = waiting(memory)
    fields = hidden_fields(visitor.get("/demo/review"), "/approve")
    memory.revise(memory.get(key="alice.meal").id, "Alice eats fish.")
    refused = visitor.post(f"/demo/review/{proposal}/approve", fields)
    assert refused.status == 409
    assert "can only be rejected" in refused.words
    assert memory.get(key="alice.meal").text == "Alice eats fish."


@pytest.mark.parametrize("change", [{"digest": "x"}, {"digest": "0" * 64}, {"position": "soon"}])
def test_another_digest_decides_nothing(
    visitor: Visitor, memory: Memory, change: dict[str, str]
) -> None:
    proposal, _ = waiting(memory)
    fields = hidden_fields(visitor.get("/demo/review"), "/approve")
    position = memory.events.position
    if change == {"position": "soon"}:
        memory.revise(memory.get(key="alice.meal").id, "Alice eats fish.")
        position = memory.events.position
    answer = visitor.post(f"/demo/review/{proposal}/approve", {**fields, **change})
    assert answer.status in (409, 422)
    assert memory.events.position == position


def test_later_leads_through_the_queue_and_round_again(visitor: Visitor, memory: Memory) -> None:
    first, second = memory.review.list()
    page = visitor.get("/demo/review")
    assert f"review?after={first.seq}" in page.text
    page = visitor.get(f"/demo/review?after={first.seq}")
    assert f"/review/{second.id}/approve" in page.text
    assert hidden_fields(page, "/approve")["after"] == str(first.seq)
    again = visitor.get(f"/demo/review?after={second.seq}")
    assert f"/review/{first.id}/approve" in again.text
    assert "You have put all of them off." in again.words


def test_an_agent_sees_the_reason_instead_of_the_button(store: Store, memory: Memory) -> None:
    class ForAgents(Own):
        """A store that is opened with the rights of an agent."""

        def open(self, space: str) -> Memory:
            return super().open(space).scoped(trust="agent")

    proposal, _ = waiting(memory)
    with served(store, ForAgents(store)) as inspector:
        visitor = inspector.enter()
        page = visitor.get("/demo/review")
        assert NEEDS_PERSON in page.words
        fields = hidden_fields(page, "/approve")
        position = memory.events.position
        assert visitor.post(f"/demo/review/{proposal}/approve", fields).status == 403
        assert visitor.post(f"/demo/review/{proposal}/reject", fields).status == 403
        assert memory.events.position == position


def test_a_quote_is_shown_in_its_place() -> None:
    text = "a " * 400 + "the words" + " b" * 400
    found = span(text, "the words")
    assert found.words == "the words"
    assert found.before.startswith("… ")
    assert found.after.endswith(" …")
    assert len(found.before) <= AROUND_CHARS + 2
    assert span("other", "the words").words == "the words"
