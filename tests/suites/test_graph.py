"""Graph answers equal those of a plain dictionary, on random graphs at random positions.

The dictionary holds the links and records of a position and follows them in a few lines. The memory
answers from its index: by the same rules, in one statement a step.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import msgspec
import pytest

from recollect import Memory, Record
from recollect.finding import graph as walking
from recollect.index.graph import Ask, Direction, links_around, versions_of
from recollect.index.reads import Reads
from recollect.index.rows import LinkRow, VersionRow
from recollect.model import limits
from recollect.model.values import INCLUDES, Graph, Include, Link

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
            (memory.forget if source in shown else memory.undo)(source)
            shown ^= {source}
        elif chance < 0.3 and edges:
            gone = rng.choice(sorted(edges))
            memory.graph.unlink(*gone)
            del edges[gone]
        elif edge not in edges:
            edges[edge] = memory.graph.link(*edge).seq
        yield State(memory.events.position, frozenset(shown), dict(edges))


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
        found = then.graph.neighbours(
            start, hops=hops, kinds=kinds, direction=direction, limit=limit
        )
        answer = [one.id for one in found.records], [link.seq for link in found.links], found.more
        if answer != neighbours(state, start, hops, direction, kinds, limit):
            return f"neighbours of {start} at {state.position}"
        way = then.graph.path(start, end, kinds=kinds, direction=direction)
        if not _is_way(way, state, start, end, direction, kinds):
            return f"path from {start} to {end} at {state.position}"
    return None


def _seen(state: State) -> set[int]:
    return {seq for (one, other, _), seq in state.edges.items() if {one, other} <= state.shown}


def _pages(memory: Memory, rng: random.Random) -> tuple[frozenset[str], set[int]]:
    """The whole graph, page by page."""
    limit, records, links = rng.randrange(1, 20), list[Record](), list[Link]()
    while True:
        page = memory.graph.list(limit=limit, after=records[-1].id if records else None)
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


@pytest.mark.nightly
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


def _every_record(walk: walking.Walk, ids: Iterator[str]) -> dict[str, VersionRow]:
    return versions_of(walk.reads, list(dict.fromkeys(ids)))


def _every_link(reads: Reads, ids: list[str], ask: Ask, limit: int) -> list[LinkRow]:
    ask = msgspec.structs.replace(ask, user=None, include=INCLUDES)
    return links_around(reads, ids, ask, limit)


def test_control_walking_through_what_is_hidden_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(walking.Walk, "shown", _every_record)
    monkeypatch.setattr(walking, "links_around", _every_link)
    assert run(DEFAULT, in_memory) is not None


@pytest.mark.parametrize("include", [(), *((word,) for word in INCLUDES), INCLUDES])
def test_the_statement_hides_what_the_rule_of_all_reads_hides(
    monkeypatch: pytest.MonkeyPatch, include: tuple[Include, ...]
) -> None:
    """Each of the two alone gives the same answer: the statement only counts by the rule."""
    with in_memory(0) as whole:
        memory = whole.scoped(user="ann")
        memory.remember("The middle.", id="r")
        memory.remember("Of the past.", id="past", valid_to="2020-01-01")
        memory.remember("Of the future.", id="future", valid_from="2199-01-01")
        memory.remember("Valid now.", id="now", valid_from="2020-01-01", valid_to="2199-01-01")
        memory.remember("Tea.", id="old", key="drink")
        memory.remember("Coffee.", id="new", key="drink")
        memory.remember("Forgotten.", id="gone")
        memory.scoped(trust="unverified").remember("Held.", id="held")
        whole.scoped(user="ben").remember("Of another.", id="other")
        whole.remember("Of nobody.", id="nobody")
        ids = ["past", "future", "now", "old", "new", "gone", "held", "other", "nobody"]
        for id in ids:
            whole.graph.link("r", id)
        memory.forget("gone")
        both = memory.graph.neighbours("r", include=include)
        assert {"now", "new"} <= {record.id for record in both.records} < {"r", *ids}
        with monkeypatch.context() as patch:
            patch.setattr(walking, "links_around", _every_link)
            assert memory.graph.neighbours("r", include=include) == both
        with monkeypatch.context() as patch:
            patch.setattr(walking.Walk, "shown", _every_record)
            assert memory.graph.neighbours("r", include=include) == both


def test_a_path_past_a_record_whose_links_were_cut_may_not_be_the_shortest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "PATH_MAX_LINKS_OF_ONE", 3)
    with in_memory(0) as memory:
        for id in ("a", "b", "x", "y", "z"):
            memory.remember(f"What {id} says.", id=id)
        memory.graph.link("a", "b", "oldest")
        for id in ("x", "y"):
            memory.graph.link("a", id)
            memory.graph.link(id, "b")
        way = memory.graph.path("a", "b")  # exactly as many links as are followed
        assert ([record.id for record in way.records], way.more) == (["a", "b"], False)
        memory.graph.link("a", "z")
        memory.graph.link("z", "b")
        way = memory.graph.path("a", "b")
        assert (len(way.records), way.more) == (3, True)
