"""What comes back with words that rest on something that is no longer trusted."""

from __future__ import annotations

from itertools import pairwise

import pytest
from msgspec.structs import replace

from recollect.errors import Forbidden
from recollect.index.reads import Reads
from recollect.lifecycle import commands as c
from recollect.lifecycle.decide import decide
from recollect.model import events as e
from tests.lifecycle.folding import Event, index_of

PERSON = c.Actor(trust="person")


def added(id: str, text: str, trust: e.Trust = "person") -> e.RecordAdded:
    status: e.Status = "held" if trust == "unverified" else "active"
    return e.RecordAdded(id=id, text=text, kind="fact", confidence=0.7, status=status, trust=trust)


# A page was trusted when a record was revised because of it. Then the record was put right, and
# the page turned out to be a stranger's.
LIFE: list[Event] = [
    ("person", added("page", "Tea is at five")),
    ("person", added("tea", "Tea is at four")),
    (
        "person",
        e.RecordRevised(id="tea", trust="person", text="Tea is at five", evidence=("page",)),
    ),
    ("person", e.RecordRevised(id="tea", trust="person", text="Tea is at four", evidence=())),
    ("person", e.RecordRevised(id="page", trust="unverified")),
]


def reverted(*more: Event, may_fall: bool) -> list[e.AnyBody]:
    """The events that bring the third version back, after these."""
    db = index_of([*LIFE, *more])
    try:
        act = c.Revert(id="tea", to=3, may_fall=may_fall)
        return decide(Reads(db), PERSON, act)[0]
    finally:
        db.close()


def test_it_is_refused_unless_it_may_fall() -> None:
    with pytest.raises(Forbidden):
        reverted(may_fall=False)


def test_it_comes_back_held() -> None:
    (body,) = reverted(may_fall=True)
    assert isinstance(body, e.RecordRevised)
    assert (body.text, body.trust, body.evidence) == ("Tea is at five", "unverified", ("page",))


def test_what_was_forgotten_meanwhile_comes_back_held_too() -> None:
    first, second = reverted(("person", e.RecordForgotten(id="tea")), may_fall=True)
    assert isinstance(first, e.RecordRevised)
    assert first.trust == "unverified"
    assert second == e.RecordRestored(id="tea")


def replaced(id: str, by: str) -> Event:
    return "person", e.RecordSuperseded(id=id, by=by)


def chain(*ids: str) -> list[Event]:
    """Records of which each replaced the one before."""
    made: list[Event] = [("person", added(ids[0], f"Tea: {ids[0]}"))]
    for before, id in pairwise(ids):
        text = f"Tea: {id}"
        body = replace(added(id, text), supersedes=before)
        made += [("person", body), replaced(before, id)]
    return made


def ended(events: list[Event], id: str) -> list[str]:
    """What no longer holds once this record is brought back."""
    db = index_of(events)
    try:
        bodies = decide(Reads(db), PERSON, c.Revert(id=id))[0]
        return [body.id for body in bodies if isinstance(body, e.RecordSuperseded)]
    finally:
        db.close()


def test_it_takes_the_place_of_the_last_in_a_chain() -> None:
    assert ended(chain("a", "b", "c", "d"), "a") == ["d"]
    assert ended(chain("a", "b", "c", "d"), "c") == ["d"]


def test_what_was_there_before_holds_beside_it() -> None:
    events = [("person", added("twin", "Tea: twin")), *chain("a", "b"), replaced("b", "twin")]
    assert ended([*events], "b") == []


def test_it_takes_the_place_of_what_was_brought_back() -> None:
    back: list[Event] = [replaced("b", "a"), ("person", e.RecordRestored(id="a"))]
    more: list[Event] = [("person", e.RecordTagged(id="a", add=("hot",)))]
    assert ended([*chain("a", "b"), *back, *more], "b") == ["a"]


def test_a_ring_ends() -> None:
    assert ended([*chain("a", "b"), replaced("b", "a")], "a") == []
