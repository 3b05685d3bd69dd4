"""Forms: they write once, only what was shown, and can be taken back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recollect import Memory, Store
from tests.web.visiting import Page, Visitor, hidden_fields


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open(":memory:") as store:
        store.space("demo").remember("Alice sits in 12A.", key="alice.seat")
        yield store


def test_a_revision_is_one_however_often_its_form_is_sent(visitor: Visitor, memory: Memory) -> None:
    id = memory.get(key="alice.seat").id
    fields = hidden_fields(visitor.get(f"/demo/r/{id}"), "/revise")
    fields |= {"text": "Alice sits in 14C.\r\nAt the window.", "reason": "she moved"}
    first = visitor.post(f"/demo/r/{id}/revise", fields)
    assert first.status == 303
    position = memory.events.position
    assert visitor.post(f"/demo/r/{id}/revise", fields).status == 303
    assert memory.events.position == position
    assert memory.get(id).text == "Alice sits in 14C.\nAt the window."
    shown = visitor.follow(first)
    assert "Revised." in shown.words
    undo = hidden_fields(shown, "/undo")
    assert visitor.post(f"/demo/r/{id}/undo", undo).status == 303
    assert memory.get(id).text == "Alice sits in 12A."


def test_what_changed_meanwhile_is_shown_beside_mine(visitor: Visitor, memory: Memory) -> None:
    id = memory.get(key="alice.seat").id
    fields = hidden_fields(visitor.get(f"/demo/r/{id}"), "/revise")
    memory.revise(id, "Alice sits in 3F.")
    position = memory.events.position
    both = visitor.post(f"/demo/r/{id}/revise", {**fields, "text": "Alice sits in 14C."})
    assert both.status == 409
    assert "Alice sits in 3F." in both.words
    assert memory.events.position == position
    mine = {**hidden_fields(both, "/revise"), "text": "Alice sits in 14C."}
    assert visitor.post(f"/demo/r/{id}/revise", mine).status == 303
    assert memory.get(id).text == "Alice sits in 14C."


def test_forgetting_can_be_taken_back(visitor: Visitor, memory: Memory) -> None:
    id = memory.get(key="alice.seat").id
    fields = hidden_fields(visitor.get(f"/demo/r/{id}"), "/forget")
    done = visitor.post(f"/demo/r/{id}/forget", {**fields, "reason": "wrong"})
    assert done.status == 303
    assert memory.list() == []
    page = visitor.follow(done)
    assert "Forgotten" in page.words
    undo = hidden_fields(page, "/undo")
    assert visitor.post(f"/demo/r/{id}/undo", undo).status == 303
    assert [each.id for each in memory.list()] == [id]


@pytest.mark.parametrize(
    "change",
    [{"command": ""}, {"expect": "x"}, {"command": "a b"}, {"command": "é"}, {"expect": "-1"}],
)
def test_a_form_without_its_hidden_fields_is_refused(
    visitor: Visitor, memory: Memory, change: dict[str, str]
) -> None:
    id = memory.get(key="alice.seat").id
    fields = hidden_fields(visitor.get(f"/demo/r/{id}"), "/forget")
    position = memory.events.position
    assert visitor.post(f"/demo/r/{id}/forget", {**fields, **change}).status == 422
    assert memory.events.position == position


def test_a_form_of_the_past_is_refused(visitor: Visitor, memory: Memory) -> None:
    id = memory.get(key="alice.seat").id
    memory.remember("later")
    fields = hidden_fields(visitor.get(f"/demo/r/{id}"), "/forget")
    assert visitor.post(f"/demo/r/{id}/forget?at=2", fields).status == 403
    assert visitor.post(f"/demo/r/{id}/forget", fields).status == 303  # the control


def test_a_body_of_another_kind_is_refused(visitor: Visitor, memory: Memory) -> None:
    id = memory.get(key="alice.seat").id
    refused = visitor.post(f"/demo/r/{id}/forget", {}, **{"Content-Type": "application/json"})
    assert refused.status == 422
    assert visitor.post(f"/demo/r/{id}/nothing", {}).status == 404
    assert visitor.get(f"/demo/r/{id}/forget").status == 404


def test_tags_come_and_go_and_come_back(visitor: Visitor, memory: Memory) -> None:
    id = memory.get(key="alice.seat").id

    def send(**fields: str) -> Page:
        hidden = hidden_fields(visitor.get(f"/demo/r/{id}"), "/tag")
        return visitor.follow(visitor.post(f"/demo/r/{id}/tag", {**hidden, **fields}))

    assert "Tagged." in send(add="travel, home").words
    assert memory.get(key="alice.seat").tags == ("travel", "home")
    gone = send(remove="home")
    assert memory.get(key="alice.seat").tags == ("travel",)
    undo = hidden_fields(gone, "/undo")
    assert visitor.post(f"/demo/r/{id}/undo", undo).status == 303
    assert set(memory.get(key="alice.seat").tags) == {"home", "travel"}
    fields = hidden_fields(visitor.get(f"/demo/r/{id}"), "/tag")
    assert visitor.post(f"/demo/r/{id}/tag", fields).status == 422


def test_a_link_is_made_and_taken_away(visitor: Visitor, memory: Memory) -> None:
    id, other = memory.get(key="alice.seat").id, memory.remember("The flight is LH 2044.").id
    fields = hidden_fields(visitor.get(f"/demo/r/{id}"), "/link")
    fields |= {"target": other, "kind": "supports"}
    linked = visitor.follow(visitor.post(f"/demo/r/{id}/link", fields))
    assert [(each.kind, each.target) for each in memory.why(id).links] == [("supports", other)]
    position = memory.events.position
    assert visitor.post(f"/demo/r/{id}/link", fields).status == 303  # sent twice
    assert memory.events.position == position
    undo = hidden_fields(linked, "/unlink")
    gone = visitor.follow(visitor.post(f"/demo/r/{id}/unlink", undo))
    assert memory.why(id).links == ()
    again = hidden_fields(gone, "/link")
    assert visitor.post(f"/demo/r/{id}/link", again).status == 303
    assert len(memory.why(id).links) == 1
    missing = visitor.post(f"/demo/r/{id}/link", {**fields, "command": "b", "target": "nothing"})
    assert missing.status == 404


def test_the_address_puts_no_words_into_a_page(visitor: Visitor) -> None:
    for said in ("Send+your+password+to+mallory", "00000000", "<b>x</b>"):
        page = visitor.get(f"/demo/?said={said}")
        assert 'class="flash"' not in page.text
        assert "mallory" not in page.text


def test_what_is_kept_for_the_next_page_has_no_word_of_the_memory(
    visitor: Visitor, memory: Memory
) -> None:
    """Else it would outlive an erasure."""
    id = memory.get(key="alice.seat").id
    fields = hidden_fields(visitor.get(f"/demo/r/{id}"), "/revise")
    visitor.post(f"/demo/r/{id}/revise", {**fields, "text": "Alice sits in 14C."})
    kept = list(visitor.session()._flashes.values())
    assert [each.said for each in kept] == ["Revised."]
    assert "12A" not in str(kept)
    assert "14C" not in str(kept)


def test_an_undo_that_comes_too_late_changes_nothing(visitor: Visitor, memory: Memory) -> None:
    id = memory.get(key="alice.seat").id
    fields = hidden_fields(visitor.get(f"/demo/r/{id}"), "/revise")
    done = visitor.post(f"/demo/r/{id}/revise", {**fields, "text": "Alice sits in 14C."})
    undo = hidden_fields(visitor.follow(done), "/undo")
    memory.revise(id, "Alice sits in 3F.")
    position = memory.events.position
    late = visitor.post(f"/demo/r/{id}/undo", undo)
    assert late.status == 409
    assert "Alice sits in 3F." in late.words
    assert memory.events.position == position
