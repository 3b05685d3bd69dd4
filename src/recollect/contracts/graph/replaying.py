"""From events to a graph.

Responsible for what each update in an event does. Leaves reading events to their log. Invariants:
the same events give the same graph; what could not be replayed is named, never guessed.

An event may have ``node_updates`` and ``edge_updates``, each a list of objects with ``node_id`` or
``edge_id``, an ``operation`` and, optionally, the ``node`` or ``edge`` itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeVar

from recollect.contracts.graph.protocols import MemoryGraphStore
from recollect.contracts.graph.values import GRAPH_SCHEMA, Edge, Node, Snapshot, edge_of, node_of
from recollect.errors import InvalidInput, NotFound
from recollect.model.validate import Json

REMOVES: Final = frozenset({"delete", "remove", "forget", "forgotten"})
T = TypeVar("T", Node, Edge)


def replayed(events: Iterable[Mapping[str, Json]], source: MemoryGraphStore | None) -> Snapshot:
    """The graph that events lead to."""
    nodes: dict[str, Node] = {}
    edges: dict[str, Edge] = {}
    skipped: list[str] = []
    load_node = source.load_node if source is not None else _nowhere
    load_edge = source.load_edge if source is not None else _no_edge
    for event in events:
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
