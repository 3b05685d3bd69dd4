"""What a list and a key answer after something was erased or changed."""

from __future__ import annotations

from tests.http.serving import Client
from tests.http.test_service import S


def test_a_page_goes_on_after_its_last_item_was_erased(person: Client) -> None:
    for number in range(4):
        person.post(f"{S}/records", {"text": f"Number {number}."})
    first = person.get(f"{S}/records?limit=2").json
    last = first["items"][-1]
    tag = f'"v{last["seq"]}"'
    assert person.post(f"{S}/records/{last['id']}/erase", {}, If_Match=tag).status == 200
    rest = person.get(f"{S}/records?limit=2&cursor={first['next']}")
    assert rest.status == 200
    texts = [one["text"] for one in first["items"] + rest.json["items"]]
    assert texts == ["Number 3.", "Number 2.", "Number 1.", "Number 0."]


def test_a_change_without_a_text_is_given_again_by_its_key(person: Client) -> None:
    record = person.post(f"{S}/records", {"text": "A note.", "data": {"n": 1}}).json
    place, key = f"{S}/records/{record['id']}", {"Idempotency-Key": "k-1"}
    made = person.ask("PATCH", place, {"data": {"n": 2}}, key)
    assert (made.status, made.json["text"], made.json["data"]) == (200, "A note.", {"n": 2})
    assert person.ask("PATCH", place, {"text": "Another note."}).status == 200
    again = person.ask("PATCH", place, {"data": {"n": 2}}, key)
    assert (again.status, again.json) == (200, made.json)
    assert len(person.get(f"{place}/history").json) == 3  # nothing was written by the second
    other = person.ask("PATCH", place, {"data": {"n": 3}}, key)
    assert other.status == 409
    assert person.ask("PATCH", place, {"reason": "none"}).status == 422
