"""S4: edges and contradictions, each clause once, on every engine."""

from __future__ import annotations

import asyncio

import pytest

from recollect import Conflict, InvalidInput, NotFound
from recollect.contracts.blocks import (
    IntegrityError,
    canonical,
    get_contradictions_for_blocks,
    get_edges_for_block,
    get_neighbours,
    get_tags,
    get_weighted_degree,
    insert_contradiction,
    insert_edge,
    reinforce_edges,
    resolve_contradiction,
    update_block_status,
)
from tests.contract.conftest import Call


@pytest.fixture
def ids(call: Call) -> list[str]:
    """Four blocks in the order of their ids."""
    return sorted(call.block(f"Block {n}.") for n in range(4))


def test_an_edge_is_inserted_once(call: Call, ids: list[str]) -> None:  # S4-276
    a, b, c, _ = ids
    call(insert_edge, from_id=a, to_id=b, weight=0.5)
    for weight in (0.5, 0.7):
        with pytest.raises(IntegrityError) as caught:
            call(insert_edge, from_id=a, to_id=b, weight=weight)
        assert isinstance(caught.value, Conflict)
    with pytest.raises(IntegrityError):
        call(insert_edge, from_id="0" * 16, to_id=c, weight=0.5)
    assert [edge["weight"] for edge in call(get_edges_for_block, a)] == [0.5]


def test_of_two_who_insert_one_edge_one_is_told(call: Call, ids: list[str]) -> None:  # S4-276
    async def both() -> list[None | BaseException]:
        made = (insert_edge(call.conn, from_id=ids[0], to_id=ids[1], weight=w) for w in (0.5, 0.6))
        return await asyncio.gather(*made, return_exceptions=True)

    answers = call.wait(both())
    assert sorted(type(answer).__name__ for answer in answers) == ["IntegrityError", "NoneType"]


def test_an_edge_stands_in_canonical_order(call: Call, ids: list[str]) -> None:
    a, b = ids[:2]
    assert canonical(b, a) == canonical(a, b) == (a, b)
    for from_id, to_id in ((b, a), (a, a)):
        with pytest.raises(InvalidInput):
            call(insert_edge, from_id=from_id, to_id=to_id, weight=0.5)
        with pytest.raises(InvalidInput):
            call(reinforce_edges, [(from_id, to_id)])
    assert call(get_edges_for_block, a) == []


def test_a_block_s_edges_are_found_from_either_side(call: Call, ids: list[str]) -> None:  # S4-277
    a, b, c, d = ids
    call(insert_edge, from_id=a, to_id=b, weight=0.5)
    call(insert_edge, from_id=b, to_id=c, weight=0.25)
    first = {"from_id": a, "to_id": b, "weight": 0.5, "reinforcement_count": 0}
    second = {"from_id": b, "to_id": c, "weight": 0.25, "reinforcement_count": 0}
    assert call(get_edges_for_block, b) == [first, second]
    assert (call(get_edges_for_block, a), call(get_edges_for_block, c)) == ([first], [second])
    assert call(get_edges_for_block, d) == call(get_edges_for_block, "0" * 16) == []


def test_neighbours_are_one_hop_away_without_the_seeds(call: Call, ids: list[str]) -> None:
    # S4-278
    a, b, c, d = ids
    for pair in ((a, b), (b, c), (c, d)):
        call(insert_edge, from_id=pair[0], to_id=pair[1], weight=0.5)
    call(insert_contradiction, block_a_id=a, block_b_id=d, score=1.0)
    assert call(get_neighbours, [a]) == [b]
    assert call(get_neighbours, [b]) == [a, c]
    assert call(get_neighbours, [a, b]) == [c]
    assert call(get_neighbours, []) == call(get_neighbours, ids) == []


def test_edges_are_reinforced_in_one_command(call: Call, ids: list[str]) -> None:  # S4-279
    a, b, c, d = ids
    call(insert_edge, from_id=a, to_id=b, weight=0.5)
    call(insert_edge, from_id=b, to_id=c, weight=0.5)
    call(reinforce_edges, [(a, b), (b, c), (c, d)])
    call(reinforce_edges, [(a, b)])
    edges = call(get_edges_for_block, b)
    assert [(edge["weight"], edge["reinforcement_count"]) for edge in edges] == [(0.5, 2), (0.5, 1)]
    assert call(get_edges_for_block, d) == []
    before = call.memory.events.position
    call(reinforce_edges, [(c, d)])
    assert call.memory.events.position == before


def test_the_weighted_degree_is_a_sum_and_0_without_edges(call: Call, ids: list[str]) -> None:
    # S4-280
    a, b, c, d = ids
    call(insert_edge, from_id=a, to_id=b, weight=0.5)
    call(insert_edge, from_id=a, to_id=c, weight=0.25)
    call(insert_contradiction, block_a_id=a, block_b_id=d, score=1.0)
    degrees = call(get_weighted_degree, [a, b, d, "0" * 16])
    assert degrees == {a: 0.75, b: 0.5, d: 0.0, "0" * 16: 0.0}
    assert all(isinstance(degree, float) for degree in degrees.values())


def test_an_edge_is_the_sum_of_typed_links(call: Call, ids: list[str]) -> None:  # S4-277
    a, b = ids[:2]
    call.memory.graph.link(b, a, "derived_from", weight=0.25)
    call.memory.graph.link(a, b, "relates_to", weight=0.5)
    call.memory.scoped(trust="unverified").graph.link(a, b, "praises", weight=1.0)
    (edge,) = call(get_edges_for_block, a)
    assert (edge["from_id"], edge["to_id"], edge["weight"]) == (a, b, 0.75)
    with pytest.raises(IntegrityError):
        call(insert_edge, from_id=a, to_id=b, weight=0.1)
    call(reinforce_edges, [(a, b)])
    assert call(get_edges_for_block, b)[0]["reinforcement_count"] == 1


def test_an_archived_block_has_neither_tags_nor_edges(call: Call, ids: list[str]) -> None:
    a, b = ids[:2]
    call.memory.revise(a, tags=["tea"])
    call(insert_edge, from_id=a, to_id=b, weight=0.5)
    call(update_block_status, a, status="archived", archive_reason="decayed")
    assert (call(get_tags, a), call(get_edges_for_block, b), call(get_neighbours, [b])) == (
        [],
        [],
        [],
    )


def test_a_contradiction_stands_in_canonical_order(call: Call, ids: list[str]) -> None:  # S4-281
    a, b = ids[:2]
    with pytest.raises(InvalidInput):
        call(insert_contradiction, block_a_id=b, block_b_id=a, score=0.9)
    call(insert_contradiction, block_a_id=a, block_b_id=b, score=0.9)
    with pytest.raises(IntegrityError):
        call(insert_contradiction, block_a_id=a, block_b_id=b, score=0.1)
    with pytest.raises(InvalidInput):
        call(insert_contradiction, block_a_id=a, block_b_id=ids[2], score=1.1)
    (link,) = call.memory.why(a).links
    assert (link.source, link.target, link.kind, link.weight) == (a, b, "contradicts", 0.9)


def test_only_unresolved_contradictions_are_found(call: Call, ids: list[str]) -> None:  # S4-282
    a, b, c, d = ids
    call(insert_contradiction, block_a_id=a, block_b_id=b, score=0.9)
    call(insert_contradiction, block_a_id=b, block_b_id=c, score=0.3)
    call(insert_edge, from_id=a, to_id=d, weight=0.5)
    found = call(get_contradictions_for_blocks, [a, b])
    assert [(row["block_a_id"], row["block_b_id"], row["score"]) for row in found] == [
        (a, b, 0.9),
        (b, c, 0.3),
    ]
    assert [row["resolved"] for row in found] == [0, 0]
    assert set(found[0]) == {"block_a_id", "block_b_id", "score", "resolved", "created_at"}
    assert call(get_contradictions_for_blocks, [b]) == found, "of either block of a pair"
    assert call(get_contradictions_for_blocks, [c]) == found[1:]
    call(resolve_contradiction, a, b)
    (left,) = call(get_contradictions_for_blocks, ids)
    assert (left["block_a_id"], left["block_b_id"]) == (b, c)
    assert call(get_contradictions_for_blocks, [d]) == []


def test_a_contradiction_is_resolved_once_and_its_past_stays(call: Call, ids: list[str]) -> None:
    a, b = ids[:2]
    call(insert_contradiction, block_a_id=a, block_b_id=b, score=0.9)
    position = call.memory.events.position
    call(resolve_contradiction, b, a)
    assert call(get_contradictions_for_blocks, [a]) == []
    assert [link.kind for link in call.memory.at(position).why(a).links] == ["contradicts"]
    with pytest.raises(NotFound):
        call(resolve_contradiction, a, b)
