"""From events to a graph and its paths.

Responsible for what each update in an event does, and for the paths that events tell. Leaves
reading events to their log. Invariants: the same events give the same graph; what could not be
replayed is named, never guessed.

An event may have ``node_updates`` and ``edge_updates``, each a list of objects with ``node_id`` or
``edge_id``, an ``operation`` and, optionally, the ``node`` or ``edge`` itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Final, TypeVar

from recollect.contracts.graph.protocols import MemoryGraphStore, Recorded
from recollect.contracts.graph.values import (
    GRAPH_SCHEMA,
    MAIN,
    Edge,
    MemoryPath,
    Node,
    Snapshot,
    edge_of,
    node_of,
    path_of,
)
from recollect.errors import InvalidInput, NotFound
from recollect.model.validate import Json

REMOVES: Final = frozenset({"delete", "remove", "forget", "forgotten"})
_OF_PATHS: Final = ("branched", "merged", "abandoned", "compacted")  # kinds that `paths` tells
T = TypeVar("T", Node, Edge)


def replayed(events: Iterable[Mapping[str, Json]], source: MemoryGraphStore | None) -> Snapshot:
    """The graph that events lead to; where its ledger says more than the log, the ledger counts."""
    nodes: dict[str, Node] = {}
    edges: dict[str, Edge] = {}
    skipped: list[str] = []
    load_node = source.load_node if source is not None else _nowhere
    load_edge = source.load_edge if source is not None else _no_edge
    for event in chain(events, source.history() if isinstance(source, Recorded) else ()):
        for update in updates(event, "node"):
            _replay(event, update, "node", nodes, (node_of, load_node), skipped)
        for update in updates(event, "edge"):
            _replay(event, update, "edge", edges, (edge_of, load_edge), skipped)
    whole = {
        id: edge for id, edge in edges.items() if edge.source in nodes and edge.target in nodes
    }
    skipped += [f"edge {id!r} lacks a node" for id in sorted(edges.keys() - whole.keys())]
    graph: dict[str, Json] = {
        "schema_version": GRAPH_SCHEMA,
        "nodes": [nodes[id].to_dict() for id in sorted(nodes)],
        "edges": [whole[id].to_dict() for id in sorted(whole)],
    }
    return Snapshot(graph=graph, skipped=tuple(skipped))


def paths_told(events: Iterable[Mapping[str, Json]]) -> list[MemoryPath]:
    """The paths that events tell: where each begins, what was said on it, and how it ended."""
    made: dict[str, dict[str, Json]] = {MAIN: {"events": []}}
    for event in events:
        id, kind = event.get("path"), event["kind"]
        if not isinstance(id, str):
            continue
        if event["id"] != f"path:{id}:{kind}" or kind not in _OF_PATHS:
            _listed(made.get(id, {"events": []})).append(event["id"])
        elif kind == "branched":
            above = made.get(str(event.get("parent")), made[MAIN])
            parent = str(event.get("parent") or MAIN)
            made.setdefault(id, {"parent": parent, "events": list(_listed(above))})
        elif id != MAIN and made.get(id, {}).get("is_active", id in made):
            _end(made, id, event)
    return [path_of({"id": id, **one}) for id, one in made.items() if id != MAIN or one["events"]]


def _end(made: dict[str, dict[str, Json]], id: str, event: Mapping[str, Json]) -> None:
    """What became of a path; one that was merged hands on its events."""
    path, kind = made[id], event["kind"]
    path["is_active"] = False
    if kind == "merged":
        into = str(event.get("into") or MAIN)
        path["merged_into"] = into
        there = _listed(made.get(into, {"events": []}))
        before = _listed(made.get(str(path["parent"]), made[MAIN]))
        there += [one for one in _listed(path) if one not in there and one not in before]
    elif kind == "compacted":
        path |= {"compaction": "compacted", "summary": _word(event, "summary")}
    else:
        path["abandoned_because"] = _word(event, "reason")


def _word(event: Mapping[str, Json], name: str) -> str | None:
    value = event.get(name)
    return value if isinstance(value, str) else None


def _listed(path: dict[str, Json]) -> list[Json]:
    events = path["events"]
    return events if isinstance(events, list) else []


def updates(event: Mapping[str, Json], what: str) -> Iterator[Mapping[str, Json]]:
    """The updates of nodes or edges in an event."""
    given = event.get(f"{what}_updates")
    for update in given if isinstance(given, list) else ():
        if isinstance(update, dict):
            yield update


def _replay(
    event: Mapping[str, Json],
    update: Mapping[str, Json],
    what: str,
    graph: dict[str, T],
    ways: tuple[Callable[[Mapping[str, Json]], T], Callable[[str], T]],
    skipped: list[str],
) -> None:
    """One update: the object that it carries, or the one that the store has."""
    parse, load = ways
    given, id = update.get(what), update.get(f"{what}_id")
    try:
        if update.get("operation") in REMOVES:
            graph.pop(str(id), None)
            return
        if isinstance(given, dict):
            made = parse({"id": id, **given} if id else given)
        elif isinstance(id, str):
            made = load(id)
        else:
            raise InvalidInput(f"an update without {what}_id")
    except (InvalidInput, NotFound) as error:
        skipped.append(f"event {event['id']!r}: {error.message}")
        return
    graph[made.id] = made


def _nowhere(id: str) -> Node:
    raise NotFound(f"the event only names the node {id!r}")


def _no_edge(id: str) -> Edge:
    raise NotFound(f"the event only names the edge {id!r}")
