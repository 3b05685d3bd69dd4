"""Graphs and profiles of Markitect: ``markitect.memory.graph.v1`` and ``….profile.v1``.

Responsible for nodes, edges and profiles. Leaves storing to ``memory.importing``. Invariants: a
node has the id that it has there; a kind that is not known is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from recollect.exchange.items import (
    Found,
    LinkItem,
    RecordItem,
    Source,
    Trouble,
    data_of,
    moment_of,
    name_of,
    named,
    names_of,
    text_of,
)
from recollect.exchange.json_stream import BrokenJsonError, elements
from recollect.exchange.statuses import standing

FORMAT: Final = "markitect"
_PARTS: Final = ("nodes", "edges", "events")


def recognizes(name: str, head: bytes) -> bool:
    """True if a file begins like one of these."""
    return b"markitect.memory." in head[:4000]


def read(sources: Sequence[Source]) -> Iterator[Found]:
    """The nodes and edges of graphs, and profiles."""
    for source in sources:
        if source.name.endswith(".json"):
            try:
                yield from _document(source)
            except BrokenJsonError as error:
                yield Trouble(where=source.name, why=str(error))


def _document(source: Source) -> Iterator[Found]:
    about: dict[str, object] = {}
    dates: dict[str, str] = {}
    nodes: list[tuple[str, Mapping[str, object]]] = []
    for number, (key, element) in enumerate(elements(source.chunks(), _PARTS), start=1):
        where = f"{source.name}, element {number}"
        if key not in _PARTS and key is not None:
            about[key] = element
        elif not isinstance(element, Mapping):
            yield Trouble(where=where, why="not an object")
        elif key == "nodes":
            nodes.append((where, element))
        elif key == "edges":
            yield _edge(where, about, element)
        elif key == "events":
            dates |= _dates(element)
    if ".profile." in str(about.get("schema_version")):
        yield _profile(source.name, about)
    for where, node in nodes:
        yield _node(where, about, node, dates)


def _node(
    where: str, graph: Mapping[str, object], node: Mapping[str, object], dates: Mapping[str, str]
) -> Found:
    text = text_of(node.get("text"))
    if not text:
        return Trouble(where=where, why="a node without a text")
    policy = node.get("policy")
    labels = policy.get("labels") if isinstance(policy, Mapping) else None
    return RecordItem(
        id=_id(graph, node.get("id")),
        text=text,
        where=where,
        kind=name_of(node.get("kind")),
        tags=names_of(labels or []),
        data=data_of(node, "text"),
        said_at=dates.get(str(node.get("id"))),
        status=standing(node.get("phase")),
    )


def _edge(where: str, graph: Mapping[str, object], edge: Mapping[str, object]) -> Found:
    kind = name_of(edge.get("kind"))
    if kind is None or not edge.get("source") or not edge.get("target"):
        return Trouble(where=where, why="an edge without both ends and a kind")
    source, target = _id(graph, edge["source"]), _id(graph, edge["target"])
    return LinkItem(source=source, target=target, kind=kind, where=where)


def _dates(event: Mapping[str, object]) -> dict[str, str]:
    """When each node was last changed, by an event."""
    said_at, updates = moment_of(event.get("timestamp")), event.get("node_updates")
    if said_at is None or not isinstance(updates, list):
        return {}
    return {str(one.get("node_id")): said_at for one in updates if isinstance(one, Mapping)}


def _profile(where: str, given: Mapping[str, object]) -> Found:
    id, title = name_of(given.get("id")), name_of(given.get("title"))
    intent = text_of(given.get("intent"))
    return RecordItem(
        id=named(FORMAT, "profile", id or title or where),
        text=f"Profile {title or id}: {intent}" if intent else f"Profile {title or id}",
        where=where,
        kind="profile",
        data=data_of(given),
    )


def _id(graph: Mapping[str, object], node: object) -> str:
    return named(FORMAT, graph.get("id") or "graph", node)
