"""Edges and contradictions: undirected pairs over typed, directed links.

Responsible for showing links as pairs in canonical order (the smaller id first). Leaves the links
to the engine. Invariants: an edge is the sum of a pair's links except contradictions; an untrusted
link, or one to an archived block, does not count.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

import msgspec

from recollect.contracts.blocks.connection import Connection, IntegrityError
from recollect.contracts.blocks.store import find_live
from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.exchange.importers.blocks import APART, EDGE, Note, noted
from recollect.lifecycle.commands import ReinforceLink, Unlink
from recollect.lifecycle.records.links import CONTRADICTS
from recollect.memory import Memory
from recollect.memory.handle import acts
from recollect.model.values import Link

Pair = tuple[str, str]


class Edge(TypedDict):
    """How strongly two blocks belong together."""

    from_id: str
    to_id: str
    weight: float
    reinforcement_count: int


class Contradiction(TypedDict):
    """Two blocks that cannot both hold."""

    block_a_id: str
    block_b_id: str
    score: float
    resolved: int
    created_at: str


def canonical(one: str, other: str) -> Pair:
    """The two ids of a pair, the smaller first."""
    return (one, other) if one < other else (other, one)


# Edges.


async def insert_edge(conn: Connection, *, from_id: str, to_id: str, weight: float) -> None:
    """Insert an edge; ``from_id`` must be the smaller id.

    Raises ``IntegrityError`` if the pair has one, or one of the blocks does not exist.
    """
    await conn.run(lambda memory: _insert(memory, EDGE, from_id, to_id, weight))


async def get_edges_for_block(conn: Connection, block_id: str) -> list[Edge]:
    """All edges with this block on either side."""
    return await conn.run(lambda memory: list(_edges(memory, [block_id]).values()))


async def get_neighbours(conn: Connection, block_ids: list[str]) -> list[str]:
    """The ids one edge away from any of these, without these."""
    pairs = await conn.run(lambda memory: _edges(memory, block_ids))
    return sorted({id for pair in pairs for id in pair}.difference(block_ids))


async def reinforce_edges(conn: Connection, edge_pairs: list[tuple[str, str]]) -> None:
    """Count one more use of each of these edges, in one command; other pairs are skipped."""
    pairs = [_checked(*pair) for pair in dict.fromkeys(edge_pairs)]

    def work(memory: Memory) -> None:
        links = _links(memory, {id for pair in pairs for id in pair})
        # An edge made here is one link; if a pair has several links, one of them is counted.
        links.sort(key=lambda link: (link.kind == EDGE, link.seq))
        last = {_pair(link): link for link in links if link.kind not in APART}
        found = [last[pair] for pair in pairs if pair in last]
        memory.events.submit(
            *(ReinforceLink(source=x.source, target=x.target, kind=x.kind) for x in found)
        )

    await conn.run(work)


async def get_weighted_degree(conn: Connection, block_ids: list[str]) -> dict[str, float]:
    """The summed weights of each block's edges; 0.0 where there are none."""
    edges = await conn.run(lambda memory: _edges(memory, block_ids))
    return {
        id: sum((edge["weight"] for pair, edge in edges.items() if id in pair), 0.0)
        for id in block_ids
    }


# Contradictions.


async def insert_contradiction(
    conn: Connection, *, block_a_id: str, block_b_id: str, score: float
) -> None:
    """Record that two blocks contradict each other; ``block_a_id`` must be the smaller id."""
    await conn.run(lambda memory: _insert(memory, CONTRADICTS, block_a_id, block_b_id, score))


async def get_contradictions_for_blocks(
    conn: Connection, block_ids: list[str]
) -> list[Contradiction]:
    """The unresolved contradictions of any of these blocks."""

    def work(memory: Memory) -> list[Contradiction]:
        found: dict[Pair, Contradiction] = {}
        for link in _links(memory, block_ids):
            if link.kind == CONTRADICTS:
                a, b = _pair(link)
                before, said = found.get((a, b)), noted(link.name) or Note(link.at, link.weight)
                found[a, b] = Contradiction(
                    block_a_id=a,
                    block_b_id=b,
                    score=max(said.number, before["score"] if before else 0.0),
                    resolved=0,
                    created_at=before["created_at"] if before else said.created_at,
                )
        return [row for _, row in sorted(found.items())]

    return await conn.run(work)


async def resolve_contradiction(conn: Connection, block_a_id: str, block_b_id: str) -> None:
    """Resolve a contradiction; the ledger keeps that it existed."""

    def work(memory: Memory) -> None:
        pair = canonical(block_a_id, block_b_id)
        of_pair = [
            Unlink(source=link.source, target=link.target, kind=link.kind)
            for link in _links(memory, [block_a_id])
            if link.kind == CONTRADICTS and _pair(link) == pair
        ]
        if not of_pair:
            raise NotFound(f"no contradiction between {block_a_id!r} and {block_b_id!r}")
        memory.events.submit(*of_pair)

    await conn.run(work)


# Shared.


def _insert(memory: Memory, kind: str, one: str, other: str, weight: float) -> None:
    pair = _checked(one, other)
    act = msgspec.structs.replace(acts.link(*pair, kind, weight), fresh=True)
    is_contradiction = kind == CONTRADICTS
    for link in _links(memory, [one]):
        if _pair(link) == pair and (link.kind in APART) == is_contradiction:
            raise IntegrityError(f"{one} and {other} are already linked ({link.kind})")
    try:
        memory.events.submit(act)
    except (Conflict, NotFound) as error:
        raise IntegrityError(error.message, hint=error.hint) from error


def _checked(one: str, other: str) -> Pair:
    if not one < other:
        raise InvalidInput(
            f"{one!r} does not come before {other!r}", hint="order the ids with canonical(a, b)"
        )
    return one, other


def _pair(link: Link) -> Pair:
    return canonical(link.source, link.target)


def _links(memory: Memory, ids: Iterable[str]) -> list[Link]:
    """The trusted links of these blocks whose two ends exist, each once."""
    found: dict[int, Link] = {}
    for id in sorted(set(ids)):
        if find_live(memory, id) is not None:
            found |= {link.seq: link for link in memory.why(id).links}
    ends = {id for link in found.values() for id in _pair(link)}
    live = {id for id in ends if find_live(memory, id) is not None}
    return [
        link
        for _, link in sorted(found.items())
        if link.trust != "unverified" and live.issuperset(_pair(link))
    ]


def _edges(memory: Memory, ids: Iterable[str]) -> dict[Pair, Edge]:
    """The edges of these blocks by their pairs, in their order."""
    found: dict[Pair, Edge] = {}
    for link in _links(memory, ids):
        if link.kind not in APART:
            a, b = _pair(link)
            edge = found.setdefault(
                (a, b), Edge(from_id=a, to_id=b, weight=0.0, reinforcement_count=0)
            )
            said = noted(link.name)
            edge["weight"] += said.number if said else link.weight
            edge["reinforcement_count"] += link.reinforcement_count
    return dict(sorted(found.items()))
