"""A graph store over a memory.

Responsible for nodes as records, edges as links, and profiles and paths as documents. Leaves files
to ``workspace`` and what becomes of a path to ``paths``. Invariants: the ledger is the truth; an
edge has its id as the name of its link, and a document with its other fields; what a default read
of the memory hides is not in the graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Final, Self

from recollect.contracts.graph.audit import InMemoryAuditSink
from recollect.contracts.graph.envelopes import parts_of
from recollect.contracts.graph.events import InMemoryEventLog
from recollect.contracts.graph.protocols import AuditSink, MemoryEventLog
from recollect.contracts.graph.records import (
    PATH,
    PROFILE,
    activation_of,
    branch_in,
    edge_acts,
    edge_at,
    edge_from,
    node_acts,
    node_from,
    path_document,
    path_from,
    shown_version,
)
from recollect.contracts.graph.values import (
    GRAPH_SCHEMA,
    MAIN,
    Activation,
    Edge,
    MemoryPath,
    Node,
    Profile,
    profile_of,
)
from recollect.errors import NotFound
from recollect.exchange.envelope import ABOUT, EDGE
from recollect.exchange.workspace import Kind
from recollect.index.values import record_of
from recollect.lifecycle.commands import Act
from recollect.memory import Memory
from recollect.memory.handle import handle_of
from recollect.model import limits, validate
from recollect.model.validate import Json
from recollect.model.values import Document, Finding, Graph, Link

_PAGE: Final = 1_000
_TOGETHER: Final = 500  # nodes or edges that one command writes


class GraphStore:
    """Profiles, nodes, edges, paths and activations of a memory."""

    def __init__(self, memory: Memory, events: MemoryEventLog, audit: AuditSink) -> None:
        """Over a memory that is open; closing the store closes it."""
        self.memory = memory
        self.events = events
        self.audit = audit

    # Profiles.

    def save_profile(self, profile: Profile) -> None:
        """Keep a profile; one with this id is replaced."""
        self.memory.documents.set(PROFILE, profile.id, profile.extra)
        self.wrote("profile", [profile.id])

    def load_profile(self, id: str) -> Profile:
        """A profile; ``NotFound`` if there is none."""
        return Profile(id=id, extra=self.memory.documents.get(PROFILE, id).data)

    def list_profiles(self) -> list[Profile]:
        """The profiles, by id."""
        return [Profile(id=one.name, extra=one.data) for one in self._documents(PROFILE)]

    # Nodes.

    def save_node(self, node: Node) -> None:
        """Keep a node; one with this id is revised, and comes back if it was forgotten."""
        self.save_nodes([node])

    def save_nodes(self, nodes: Iterable[Node]) -> None:
        """Keep many nodes, a few hundred in each command."""
        every = list(nodes)
        for first in range(0, len(every), _TOGETHER):
            some = every[first : first + _TOGETHER]
            acts: list[Act] = []
            with handle_of(self.memory).reading() as reads:
                for node in some:
                    acts += node_acts(handle_of(self.memory), reads, node)
            self.memory.submit(*acts)
            self.wrote("node", [node.id for node in some])

    def load_node(self, id: str) -> Node:
        """A node; ``NotFound`` if there is none."""
        handle = handle_of(self.memory)
        with handle.reading() as reads:
            row = shown_version(handle, reads, id)
            if row is None:
                raise NotFound(
                    f"node {validate.shown(id)} was not found", hint="list_nodes() has them all"
                )
            return node_from(record_of(row))

    def _has_node(self, id: str) -> bool:
        try:
            return bool(self.load_node(id))
        except NotFound:
            return False

    def list_nodes(self, kind: str | None = None) -> list[Node]:
        """The nodes, of one kind or of all, by id."""
        nodes = [node_from(record) for page in self._pages() for record in page.records]
        return sorted((n for n in nodes if kind in (None, n.kind)), key=lambda node: node.id)

    # Edges.

    def save_edge(self, edge: Edge) -> None:
        """Keep an edge between two nodes that are there; one with this id is replaced."""
        self.save_edges([edge])

    def save_edges(self, edges: Iterable[Edge]) -> None:
        """Keep many edges, a few hundred in each command."""
        every = list(edges)
        for first in range(0, len(every), _TOGETHER):
            some = every[first : first + _TOGETHER]
            acts: list[Act] = []
            with handle_of(self.memory).reading() as reads:
                for edge in some:
                    acts += edge_acts(handle_of(self.memory), reads, edge)
            self.memory.submit(*acts)
            self.wrote("edge", [edge.id for edge in some])

    def load_edge(self, id: str) -> Edge:
        """An edge; ``NotFound`` if there is none, or one of its nodes is not there."""
        handle = handle_of(self.memory)
        with handle.reading() as reads:
            found = edge_at(handle, reads, id)
        if found is not None:
            return found
        # A link that was named with `memory.link` has no document: only a walk finds it.
        for edge in self.list_edges():
            if edge.id == id:
                return edge
        raise NotFound(f"edge {validate.shown(id)} was not found", hint="list_edges() has them all")

    def list_edges(self, *, source: str | None = None, target: str | None = None) -> list[Edge]:
        """The edges from a node, to a node, or all, by id."""
        links = [
            link
            for link in self._links(source, target)
            if source in (None, link.source) and target in (None, link.target)
        ]
        with handle_of(self.memory).reading() as reads:
            edges = [edge_from(reads, link) for link in links]
        return sorted(edges, key=lambda edge: edge.id)

    def _links(self, source: str | None, target: str | None) -> Iterator[Link]:
        """At least the links that were asked for; usually those of one node alone."""
        named = source if source is not None else target
        if named is None:
            yield from self._every_link()
            return
        if not self._has_node(named):
            return
        near = self.memory.neighbours(
            named, direction="in" if source is None else "out", limit=limits.LIST_MAX_RECORDS
        )
        yield from self._every_link() if near.more else near.links

    def _every_link(self) -> Iterator[Link]:
        return (link for page in self._pages() for link in page.links)

    def _pages(self) -> Iterator[Graph]:
        page = self.memory.graph(limit=_PAGE)
        yield page
        while page.more:
            page = self.memory.graph(limit=_PAGE, after=page.records[-1].id)
            yield page

    # Paths and activations.

    def load_path(self, id: str) -> MemoryPath:
        """A path; ``NotFound`` if there is none. ``main`` is always there."""
        try:
            return path_from(self.memory, path_document(self.memory, id))
        except NotFound:
            if id == MAIN:
                return MemoryPath(id=MAIN)
            raise

    def list_paths(self) -> list[MemoryPath]:
        """The paths, by id."""
        return [path_from(self.memory, one) for one in self._documents(PATH)]

    def on(self, path: str) -> GraphStore:
        """The graph with the changes of an open path; nodes that are saved here wait there."""
        branch = branch_in(path_document(self.memory, path))
        return GraphStore(self.memory.on(branch), self.events, self.audit)

    def activate(self, query: str, *, max_tokens: int | None = None) -> Activation | None:
        """Choose nodes for a prompt and keep which; None if nothing was relevant.

        ``memory.replay(activation.id)`` gives the text.
        """
        context = self.memory.context(query, tokens=max_tokens)
        if context.receipt is None:
            return None
        self.memory.flush()
        self.wrote("activation", [context.receipt])
        return self.load_activation(context.receipt)

    def load_activation(self, id: str) -> Activation:
        """An activation; ``NotFound`` if there is none."""
        return activation_of(self.memory.receipts.get(id))

    def list_activations(self) -> list[Activation]:
        """The activations, by id."""
        found, after = list[Activation](), None
        while page := self.memory.receipts.list(limit=_PAGE, after=after):
            found += map(activation_of, page)
            after = page[-1].id
        return sorted(found, key=lambda one: one.id)

    # Envelopes.

    def import_graph(self, envelope: Mapping[str, Json]) -> list[Finding]:
        """Keep a graph envelope; importing it again changes nothing.

        Edges to nodes that are neither in it nor here are left out and named in the answer, and so
        is an event whose id is in the log with another content.
        """
        parts = parts_of(envelope)
        self.save_nodes(parts.nodes)
        lost = self.save_whole(parts.edges)
        if parts.about:
            self.save_about(parts.about)
        return [*lost, *self._take_events(parts.events)]

    def save_about(self, about: Mapping[str, Json]) -> None:
        """Keep what the graph says about itself: its id, title, intent and other fields."""
        self.memory.documents.set(*ABOUT, about)

    def load_about(self) -> dict[str, Json]:
        """What the graph says about itself."""
        try:
            return self.memory.documents.get(*ABOUT).data
        except NotFound:
            return {}

    def save_whole(self, edges: Sequence[Edge]) -> list[Finding]:
        """Keep the edges whose nodes are here; the others are named in the answer."""
        ends = {end for edge in edges for end in (edge.source, edge.target)}
        lacking = {end for end in ends if not self._has_node(end)}
        self.save_edges(edge for edge in edges if not {edge.source, edge.target} & lacking)
        return [_without_end(edge) for edge in edges if {edge.source, edge.target} & lacking]

    def import_profile(self, given: Mapping[str, Json]) -> Profile:
        """Keep a profile from its object."""
        profile = profile_of(given)
        self.save_profile(profile)
        return profile

    def export_graph(self) -> dict[str, Json]:
        """Everything as a graph envelope; nodes and edges by id, events in their order."""
        nodes: list[Json] = [node.to_dict() for node in self.list_nodes()]
        edges: list[Json] = [edge.to_dict() for edge in self.list_edges()]
        events: list[Json] = [dict(event) for event in self.events.list()]
        made: dict[str, Json] = {"schema_version": GRAPH_SCHEMA, **self.load_about()}
        made |= {"nodes": nodes, "edges": edges}
        return made | ({"events": events} if events else {})

    def _take_events(self, events: Sequence[dict[str, Json]]) -> Iterator[Finding]:
        known = {event["id"]: event for event in self.events.list()}
        for event in events:
            id = event["id"]
            if id not in known:
                self.events.append(event)
            elif known[id] != event:
                detail = f"the log has another event with the id {id!r}, which stays"
                yield Finding(level="problem", what="events", detail=detail, fix="use another id")

    # For stores that keep files too.

    def wrote(self, kind: Kind, ids: Iterable[str], *, erased: bool = False) -> list[str]:
        """Called after things of one kind were written, or may be gone.

        Returns the files that still show something else; if it was ``erased``, all that name it.
        """
        return []

    def differing(self) -> Iterable[Finding]:
        """The files that say something else than the memory."""
        return ()

    def _documents(self, type: str) -> Iterator[Document]:
        after = None
        while page := self.memory.documents.list(
            type, limit=limits.LIST_MAX_DOCUMENTS, after=after
        ):
            yield from page
            after = page[-1].id

    def edges_kept(self) -> Iterator[Edge]:
        """Every edge that has a document, also those whose link or node is gone."""
        for one in self._documents(EDGE):
            kind, source, target = (str(one.data.get(n)) for n in ("kind", "source", "target"))
            yield Edge(id=one.name, kind=kind, source=source, target=target)

    def close(self) -> None:
        """Close the memory."""
        self.memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class InMemoryGraphStore(GraphStore):
    """A graph store that is gone when the program ends, or one over any memory."""

    def __init__(self, memory: Memory | None = None) -> None:
        """Over a memory; by default a new one that is kept nowhere."""
        if memory is None:
            memory = Memory.open(":memory:", embedder="none")
        super().__init__(memory, InMemoryEventLog(), InMemoryAuditSink())


def _without_end(edge: Edge) -> Finding:
    return Finding(
        level="problem",
        what="edges",
        detail=f"the edge {edge.id!r} from {edge.source!r} to {edge.target!r} lacks a node",
        fix="save the node, then the edge; the edge was left out",
    )
