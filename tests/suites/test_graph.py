"""Graph answers equal those of a plain dictionary, on random graphs at random positions.

The dictionary holds the links and records of a position and follows them in a few lines. The memory
answers from its index: by the same rules, in one statement a step.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import pytest

from recollect import Memory, Record
from recollect.finding import graph as walking
from recollect.index.graph import Direction, links_around, versions_of
from recollect.index.rows import LinkRow, VersionRow
from recollect.model.values import Graph, Link

KINDS = ("cites", "supports", "relates_to")
DIRECTIONS: Final[tuple[Direction, ...]] = ("both", "out", "in")
RECORDS, CHANGES, QUESTIONS = 12, 40, 6
DEFAULT, WHOLE = 20, 1_000

Edges = dict[tuple[str, str, str], int]  # source, target and kind; with the event that made it


class State(NamedTuple):
    """A graph at a position: who may be seen, and the links."""

    position: int
    shown: frozenset[str]
    edges: Edges


def near(links: Edges, ids: list[str], direction: str, kinds: tuple[str, ...]) -> list[Edges]:
    """The links of records in their order, of each the newest first."""
    found = []
    for id in ids:
        mine = {
            edge: seq
            for edge, seq in links.items()
            if (not kinds or edge[2] in kinds)
            and ((edge[0] == id and direction != "in") or (edge[1] == id and direction != "out"))
        }
        newest = sorted(mine.items(), key=lambda each: -each[1])
        found += [{edge: seq} for edge, seq in newest]
    return found


def neighbours(
    state: State, start: str, hops: int, direction: str, kinds: tuple[str, ...], limit: int
) -> tuple[list[str], list[int], bool]:
    """What ``Memory.neighbours`` promises, over a dictionary."""
    seen, links, frontier = [start], list[int](), [start]
    for _ in range(hops):
        following, frontier = near(state.edges, frontier, direction, kinds), []
        for edge in following:
            ((source, target, _), seq) = next(iter(edge.items()))
            new = [end for end in (source, target) if end not in seen]
            if seq in links or not state.shown.issuperset(new):
                continue
            if new and len(seen) == limit:
                return seen, links, True
            seen += new
            frontier += new
            links.append(seq)
    return seen, links, False


def distance(
    state: State, start: str, end: str, direction: str, kinds: tuple[str, ...]
) -> int | None:
    """How many links are between two records; None if no path leads there."""
    reached, frontier, steps = {start}, [start], 0
    while frontier and end not in reached:
        edges = near(state.edges, frontier, direction, kinds)
        found = {end for edge in edges for each in edge for end in each[:2]}
        frontier = sorted((found & state.shown) - reached)
        reached.update(frontier)
        steps += 1
    return steps if end in reached else None


def story(memory: Memory, rng: random.Random) -> Iterator[State]:
    """A random graph that changes; its states, each with its position."""
    ids = [f"r{number}" for number in range(RECORDS)]
    with memory.batch() as batch:
        for id in ids:
            batch.remember(f"What {id} says.", id=id)
    shown, edges = set(ids), Edges()
    for _ in range(CHANGES):
        source, target = rng.sample(ids, 2)
        edge = (source, target, rng.choice(KINDS))
        chance = rng.random()
        if chance < 0.1:
            (memory.forget if source in shown else memory.restore)(source)
            shown ^= {source}
        elif chance < 0.3 and edges:
            gone = rng.choice(sorted(edges))
            memory.unlink(*gone)
            del edges[gone]
        elif edge not in edges:
            edges[edge] = memory.link(*edge).seq
        yield State(memory.position, frozenset(shown), dict(edges))


def differs(memory: Memory, state: State, rng: random.Random) -> str | None:
    """Asks some questions at a position; the first answer that is not the dictionary's."""
    then = memory.at(state.position)
    if _pages(then, rng) != (state.shown, _seen(state)):
        return f"graph at {state.position}"
    for _ in range(QUESTIONS if state.shown else 0):
        start, end = rng.choices(sorted(state.shown), k=2)
        direction = rng.choice(DIRECTIONS)
        kinds = tuple(rng.sample(KINDS, rng.randrange(3)))
        hops, limit = rng.randrange(1, 5), rng.choice((2, 4, 120))
        found = then.neighbours(start, hops=hops, kinds=kinds, direction=direction, limit=limit)
        answer = [one.id for one in found.records], [link.seq for link in found.links], found.more
        if answer != neighbours(state, start, hops, direction, kinds, limit):
            return f"neighbours of {start} at {state.position}"
        way = then.path(start, end, kinds=kinds, direction=direction)
        if not _is_way(way, state, start, end, direction, kinds):
            return f"path from {start} to {end} at {state.position}"
    return None


def _seen(state: State) -> set[int]:
    return {seq for (one, other, _), seq in state.edges.items() if {one, other} <= state.shown}


def _pages(memory: Memory, rng: random.Random) -> tuple[frozenset[str], set[int]]:
    """The whole graph, page by page."""
    limit, records, links = rng.randrange(1, 20), list[Record](), list[Link]()
    while True:
        page = memory.graph(limit=limit, after=records[-1].id if records else None)
        records += page.records
        links += page.links
        if not page.more:
            break
    seqs = {link.seq for link in links}
    assert len(seqs) == len(links), "a link came twice"
    return frozenset(record.id for record in records), seqs


def _is_way(
    way: Graph, state: State, start: str, end: str, direction: str, kinds: tuple[str, ...]
) -> bool:
    """True if a path is one, and none is shorter."""
    shortest = distance(state, start, end, direction, kinds)
    if shortest is None:
        return way == Graph()
    ids = [record.id for record in way.records]
    if (ids[0], ids[-1], len(way.links)) != (start, end, shortest):
        return False
    for one, other, link in zip(ids, ids[1:], way.links, strict=False):
        outward, inward = (link.source, link.target) == (one, other), link.source == other
        known = state.edges.get((link.source, link.target, link.kind)) == link.seq
        along = {"out": outward, "in": inward, "both": outward or inward}[direction]
        if not known or not along or (kinds and link.kind not in kinds):
            return False
    return state.shown.issuperset(ids)


def run(graphs: int, open_memory: Callable[[int], Memory], first_seed: int = 0) -> str | None:
    """So many random graphs, each asked at random positions; the first difference."""
    for seed in range(first_seed, first_seed + graphs):
        rng = random.Random(seed)
        with open_memory(seed) as memory:
            states = list(story(memory, rng))
            for state in [*rng.sample(states, 3), states[-1]]:
                if found := differs(memory, state, rng):
                    return f"seed {seed}: {found}"
    return None


def in_memory(_: int) -> Memory:
    return Memory.open(":memory:", embedder="none")


def test_answers_equal_a_dictionarys() -> None:
    assert run(DEFAULT, in_memory) is None


@pytest.mark.slow
@pytest.mark.bounded
def test_answers_equal_a_dictionarys_on_1000_graphs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(WHOLE, in_memory) is None
    asked = WHOLE * 4 * (1 + 2 * QUESTIONS)
    with capsys.disabled():
        sys.stdout.write(f"\n{WHOLE:,} random graphs, {asked:,} answers, 0 that differ\n")


# Controls: a rule that is left out is noticed.


def test_control_a_link_that_is_left_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def but_one(*asked: Any) -> list[LinkRow]:
        return links_around(*asked)[1:]

    monkeypatch.setattr(walking, "links_around", but_one)
    assert run(DEFAULT, in_memory) is not None


def test_control_the_present_in_place_of_the_past_is_noticed() -> None:
    class Present(Memory):
        def at(self, position: object) -> Memory:
            return self

    def opened(_: int) -> Memory:
        return Present.open(":memory:", embedder="none")

    assert run(DEFAULT, opened) is not None


def test_control_walking_through_what_is_hidden_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def every(walk: walking.Walk, ids: Iterator[str]) -> dict[str, VersionRow]:
        return versions_of(walk.reads, list(dict.fromkeys(ids)))

    monkeypatch.setattr(walking.Walk, "shown", every)
    assert run(DEFAULT, in_memory) is not None
