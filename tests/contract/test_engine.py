"""What the engine does for the contracts beyond its own API, on every engine."""

from __future__ import annotations

import pytest
from msgspec import UNSET, UnsetType

from recollect import Conflict, Forbidden, LimitExceeded, Memory, NotFound, Record
from recollect.lifecycle.commands import (
    Link,
    ReinforceLink,
    Remember,
    Restore,
    Revise,
)
from recollect.model.validate import Json
from recollect.testing.rebuilding import rebuilt_digest


def remember(
    id: str, text: str, *, inbox: bool = False, fresh: bool = True, key: str | None = None
) -> Remember:
    status: UnsetType = UNSET
    return Remember(
        id=id,
        text=text,
        stamp="",
        chance="",
        key=key,
        status="inbox" if inbox else status,
        fresh=True if fresh else UNSET,
    )


def record(memory: Memory, id: str) -> Record:
    found = memory.get(id)
    assert isinstance(found, Record)
    return found


def test_what_waits_in_the_inbox_shows_but_is_not_recalled(memory: Memory) -> None:
    memory.events.submit(remember("a", "The kettle is red.", inbox=True))
    assert (record(memory, "a").status, [r.id for r in memory.list()]) == ("inbox", ["a"])
    assert len(memory.recall("kettle")) == len(memory.context("kettle").hits) == 0
    position = memory.events.position
    memory.events.submit(Restore(id="a"))
    restored = record(memory, "a")
    assert restored.status == "active"
    assert [hit.id for hit in memory.recall("kettle")] == ["a"]
    assert len(memory.at(position).recall("kettle")) == 0
    memory.events.submit(Restore(id="a"))
    assert record(memory, "a") == restored


def test_a_record_in_the_inbox_takes_its_key_when_it_becomes_active(memory: Memory) -> None:
    memory.remember("The kettle is red.", key="kettle.colour", id="old")
    memory.events.submit(remember("new", "The kettle is blue.", inbox=True, key="kettle.colour"))
    assert memory.get(key="kettle.colour").id == "old"
    with pytest.raises(Conflict):
        memory.events.submit(Restore(id="new"))
    memory.forget("old")
    memory.events.submit(Restore(id="new"))
    assert memory.get(key="kettle.colour").id == "new"


def test_less_trust_cannot_activate_a_record_of_more_trust(memory: Memory) -> None:
    memory.events.submit(remember("a", "The kettle is red.", inbox=True))
    for origin in ("agent", "unverified"):
        with pytest.raises(Forbidden):
            memory.scoped(trust=origin).events.submit(Restore(id="a"))
    memory.scoped(trust="unverified").events.submit(
        remember("b", "The kettle is blue.", inbox=True)
    )
    assert record(memory, "b").status == "waiting"


def test_a_fresh_record_states_nothing_again(memory: Memory) -> None:
    memory.events.submit(remember("a", "The kettle is red."))
    with pytest.raises(Conflict):
        memory.events.submit(remember("a", "The kettle is red."))
    assert record(memory, "a").reinforcement_count == 0
    memory.events.submit(remember("a", "The kettle is red.", fresh=False))
    assert record(memory, "a").reinforcement_count == 1


def test_a_patch_changes_parts_of_the_data(memory: Memory) -> None:
    memory.remember("The kettle is red.", id="a", data={"keep": [1], "deep": {"x": 1, "y": 2}})
    steps: list[tuple[dict[str, Json], dict[str, Json]]] = [
        ({"deep": {"x": 3}}, {"keep": [1], "deep": {"x": 3, "y": 2}}),
        ({"deep": {"y": None}, "new": "n"}, {"keep": [1], "deep": {"x": 3}, "new": "n"}),
        ({"keep": {"z": {"w": None}}}, {"keep": {"z": {}}, "deep": {"x": 3}, "new": "n"}),
        ({"deep": None, "keep": None, "gone": None}, {"new": "n"}),
    ]
    for patch, data in steps:
        memory.events.submit(Revise(id="a", patch=patch, confidence=0.25, decay_tier="durable"))
        assert record(memory, "a").data == data
    found = record(memory, "a")
    assert (found.text, found.confidence, found.decay_tier) == (
        "The kettle is red.",
        0.25,
        "durable",
    )
    position = memory.events.position
    memory.events.submit(Revise(id="a", patch={"new": "n"}))
    assert memory.events.position == position


def test_patches_cannot_grow_data_beyond_its_limit(memory: Memory) -> None:
    memory.remember("The kettle is red.", id="a")
    memory.events.submit(Revise(id="a", patch={"one": "x" * 200_000}))
    with pytest.raises(LimitExceeded):
        memory.events.submit(Revise(id="a", patch={"two": "x" * 200_000}))
    assert list(record(memory, "a").data) == ["one"]


def test_a_link_is_reinforced_and_a_rebuild_counts_the_same(memory: Memory) -> None:
    for id in ("a", "b"):
        memory.remember(f"Record {id}.", id=id)
    act = ReinforceLink(source="a", target="b", kind="relates_to")
    memory.events.submit(act)  # there is none: nothing happens
    memory.events.submit(Link(source="a", target="b", kind="relates_to", weight=0.5, fresh=True))
    with pytest.raises(Conflict):
        memory.events.submit(
            Link(source="a", target="b", kind="relates_to", weight=0.9, fresh=True)
        )
    memory.events.submit(act, act)
    memory.scoped(trust="agent").events.submit(act)
    with pytest.raises(Forbidden):
        memory.scoped(trust="unverified").events.submit(act)
    (link,) = memory.why("a").links
    assert (link.weight, link.trust, link.reinforcement_count) == (0.5, "person", 3)
    assert memory.graph.link("a", "b", weight=0.75).reinforcement_count == 3
    digest = memory.admin.digest()
    assert rebuilt_digest(memory.admin) == digest == memory.admin.digest()
    memory.graph.unlink("a", "b")
    assert memory.graph.link("a", "b").reinforcement_count == 0
    assert memory.admin.verify().ok


def test_erasing_a_record_erases_how_its_links_were_used(memory: Memory) -> None:
    for id in ("a", "b"):
        memory.remember(f"Record {id}.", id=id)
    first = memory.events.position
    memory.graph.link("a", "b")
    memory.events.submit(ReinforceLink(source="a", target="b", kind="relates_to"))
    last = memory.events.position
    erasure = memory.erase("a")
    assert set(range(first + 1, last + 1)) <= set(erasure.events)
    assert memory.why("b").links == ()


def test_submitted_acts_happen_together_or_not_at_all(memory: Memory) -> None:
    position = memory.events.position
    with pytest.raises(NotFound):
        memory.events.submit(remember("a", "The kettle is red."), Restore(id="nobody"))
    memory.events.submit()
    assert memory.events.position == position


def test_tags_are_filtered_by_how_they_begin(memory: Memory) -> None:
    for id, tags in (
        ("a", ["self/goal"]),
        ("b", ["x", 'self"/']),
        ("c", ["themself/x"]),
        ("d", []),
    ):
        memory.remember(f"Record {id}.", id=id, tags=tags)

    def ids(where: str) -> list[str]:
        return sorted(found.id for found in memory.list(filter=where))

    assert ids("tags starts with 'self'") == ["a", "b"]
    assert ids("tags starts with 'self/'") == ["a"]
    assert ids("tags starts with 'self\"'") == ["b"]
    assert ids("not tags starts with 'self'") == ["c", "d"]
    assert ids("tags contains 'self'") == []
