"""A graph in a memory.

Responsible for nodes as records, edges as links, and profiles and paths as documents, and for what
the ledger says of nodes and edges, as events of a log. Leaves files to ``workspace``, what waits on
a path to ``on_path``, what becomes of it to ``paths`` and what events lead to to ``replay``.
Invariants: the ledger is the truth; an edge has its id as the name of its link, and a document with
its other fields; what a default read of the memory hides is not in the graph; replaying the events
gives the nodes and edges that a store lists, and what was erased is not in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Final, Self

from recollect.contracts.graph.envelopes import kept, parts_of, problem
from recollect.contracts.graph.gate import gate_in, require_no_gate
from recollect.contracts.graph.path_documents import (
    PATH,
    keep_path,
    list_events,
    path_document,
    path_from,
)
from recollect.contracts.graph.protocols import AuditSink, MemoryEventLog
from recollect.contracts.graph.records import (
    ACTIVATION,
    activation_from,
    activation_of,
    edge_acts,
    edge_at,
    edge_from,
    is_shown,
    node_acts,
    node_from,
    shown_version,
)
from recollect.contracts.graph.replay import paths_told
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
from recollect.errors import Conflict, NotFound, RecollectError
from recollect.exchange.envelope import ABOUT, EDGE, EVENT, PROFILE, with_brought
from recollect.exchange.workspace import Kind
from recollect.index.reads import Reads
from recollect.index.statements import NOW
from recollect.index.values import record_of
from recollect.lifecycle.commands import Act
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle, handle_of
from recollect.model import limits, validate
from recollect.model.validate import Json
from recollect.model.values import Document, Finding, Graph, Link

_PAGE: Final = 1_000
_TOGETHER: Final = 500  # nodes or edges that one command writes
_NODES_AT_ONCE: Final = 1_000
_STATUSES: Final = ("active", "inbox", "held", "archived", "forgotten")


class StoredGraph:
    """Profiles, nodes, edges, paths and activations of a memory."""

    def __init__(self, memory: Memory, events: MemoryEventLog, audit: AuditSink) -> None:
        """Over a memory that is open; closing the store closes it."""
        self.memory = memory
        self.events = events
        self.audit = audit

    # Profiles.

    def save_profile(self, profile: Profile) -> None:
        """Keep a profile; one with this id is replaced.

        If a profile lets lasting changes wait for a review, only a store of a person changes one.
        """
        if self.memory.scope.trust != "person" and profile not in self.list_profiles():
            self.require_no_gate()
        self._put_profile(profile)

    def _put_profile(self, profile: Profile) -> None:
        """Keep a profile, whatever the others say."""
        self.memory.settings.documents.set(PROFILE, profile.id, profile.extra)
        self.wrote("profile", [profile.id])

    def load_profile(self, id: str) -> Profile:
        """A profile; ``NotFound`` if there is none."""
        return Profile(id=id, extra=self.memory.settings.documents.get(PROFILE, id).data)

    def list_profiles(self) -> list[Profile]:
        """The profiles, by id."""
        return [Profile(id=one.name, extra=one.data) for one in self._documents(PROFILE)]

    # Nodes.

    def save_node(self, node: Node) -> None:
        """Keep a node; one with this id is revised, and comes back if it was forgotten.

        ``Forbidden`` if a profile lets every lasting change wait for a review: then nodes and edges
        are saved on a path, and merged.
        """
        self.save_nodes([node])

    def save_nodes(self, nodes: Iterable[Node]) -> None:
        """Keep many nodes, a few hundred in each command."""
        self.require_no_gate()
        self._put_nodes(nodes)

    def _put_nodes(self, nodes: Iterable[Node]) -> None:
        keep_nodes(self, nodes)

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
        self.require_no_gate()
        self._put_edges(edges)

    def _put_edges(self, edges: Iterable[Edge]) -> None:
        """Keep edges whose change was approved, or needs no approval."""
        every = list(edges)
        for first in range(0, len(every), _TOGETHER):
            some = every[first : first + _TOGETHER]
            acts: list[Act] = []
            with handle_of(self.memory).reading() as reads:
                for edge in some:
                    acts += edge_acts(handle_of(self.memory), reads, edge)
            self.memory.events.submit(*acts)
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
        near = self.memory.graph.neighbours(
            named, direction="in" if source is None else "out", limit=limits.LIST_MAX_RECORDS
        )
        yield from self._every_link() if near.more else near.links

    def _every_link(self) -> Iterator[Link]:
        return (link for page in self._pages() for link in page.links)

    def _pages(self) -> Iterator[Graph]:
        page = self.memory.graph.list(limit=_PAGE)
        yield page
        while page.more:
            page = self.memory.graph.list(limit=_PAGE, after=page.records[-1].id)
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

    def activate(self, query: str, *, max_tokens: int | None = None) -> Activation | None:
        """Choose nodes for a prompt and keep which; None if nothing was relevant.

        ``memory.replay(activation.id)`` gives the text.
        """
        context = self.memory.context(query, tokens=max_tokens)
        if context.receipt is None:
            return None
        self.memory.admin.flush()
        self.wrote("activation", [context.receipt])
        return self.load_activation(context.receipt)

    def load_activation(self, id: str) -> Activation:
        """An activation; ``NotFound`` if there is none."""
        try:
            return activation_of(self.memory.proof.receipts.get(id))
        except NotFound:
            if not validate.is_document(ACTIVATION, id):
                raise
        return activation_from(self.memory.settings.documents.get(ACTIVATION, id).data)

    def list_activations(self) -> list[Activation]:
        """The activations, by id; also those of another memory whose files were read."""
        found = {one.name: activation_from(one.data) for one in self._documents(ACTIVATION)}
        after: str | None = None
        while page := self.memory.proof.receipts.list(limit=_PAGE, after=after):
            found |= {one.id: activation_of(one) for one in page}
            after = page[-1].id
        return [found[id] for id in sorted(found)]

    def keep_activation(self, activation: Activation) -> None:
        """Keep what another memory handed out, unless this one did."""
        try:
            self.load_activation(activation.id)
        except NotFound:
            self.memory.settings.documents.set(ACTIVATION, activation.id, activation.to_dict())

    def history(self) -> Iterator[dict[str, Json]]:
        """What the ledger says of nodes and edges, as events of a log, the oldest first."""
        return history(self.memory, self._every_link())

    # Envelopes.

    def import_graph(self, envelope: Mapping[str, Json]) -> list[Finding]:
        """Keep a graph envelope; importing it again changes nothing.

        What cannot be kept is named in the answer: a node that keeps another kind here, an edge to
        a node that is neither in it nor here, an event whose id is in the log with another content.
        The events also tell the paths, which are kept as they stood.
        """
        self.require_no_gate()
        parts = parts_of(envelope)
        found = kept(self._put_nodes, parts.nodes)
        found += kept(self._put_edges, parts.edges)
        if parts.about:
            self._put_about(parts.about)
        found += self.take_events(parts.events)
        return found + self.take_paths()

    def require_no_gate(self) -> None:
        """Refuses a change where a profile lets every lasting change wait for a review."""
        require_no_gate(gate_in(self.list_profiles()))

    def save_about(self, about: Mapping[str, Json]) -> None:
        """Keep what the graph says about itself: its id, title, intent and other fields."""
        self.require_no_gate()
        self._put_about(about)

    def _put_about(self, about: Mapping[str, Json]) -> None:
        """Keep what the graph says about itself, whatever profiles say."""
        self.memory.settings.documents.set(*ABOUT, about)

    def load_about(self) -> dict[str, Json]:
        """What the graph says about itself."""
        try:
            return self.memory.settings.documents.get(*ABOUT).data
        except NotFound:
            return {}

    def import_profile(self, given: Mapping[str, Json]) -> Profile:
        """Keep a profile from its object."""
        profile = profile_of(given)
        self.save_profile(profile)
        return profile

    def export_graph(self) -> dict[str, Json]:
        """Everything as a graph envelope; nodes and edges by id, events in their order."""
        nodes: list[Json] = [node.to_dict() for node in self.list_nodes()]
        edges: list[Json] = [edge.to_dict() for edge in self.list_edges()]
        events: list[Json] = [dict(event) for event in self.events_known()]
        made: dict[str, Json] = {"schema_version": GRAPH_SCHEMA, **self.load_about()}
        made |= {"nodes": nodes, "edges": edges}
        return made | ({"events": events} if events else {})

    def events_known(self) -> list[dict[str, Json]]:
        """The events of the log, then those that only an import into the memory brought."""
        return with_brought(map(dict, self.events.list()), self._documents(EVENT))

    def events_brought(self) -> list[dict[str, Json]]:
        """The events that an import into the memory brought."""
        return with_brought((), self._documents(EVENT))

    def take_events(self, events: Iterable[dict[str, Json]]) -> list[Finding]:
        """Appends the events that the log lacks; those that it has otherwise are named."""
        if not (given := list(events)):
            return []
        known = {event["id"]: dict(event) for event in self.events.list()}
        found: list[Finding] = []
        for event in given:
            id = event["id"]
            try:
                if known.setdefault(id, event) is event:
                    self.events.append(event)
                elif known[id] != event:
                    raise Conflict(f"the log has another event with the id {id!r}, which stays")
            except RecollectError as error:
                found.append(problem("events", error.message, error.hint or "use another id"))
        return found

    def take_paths(self) -> list[Finding]:
        """Keeps the paths that the events of the log tell, and of those that go on their events."""
        found: list[Finding] = []
        for told in paths_told(self.events.list()):
            try:
                if not keep_path(self.memory, told) and self.load_path(told.id).is_active:
                    list_events(self.memory, told.id, told.events)
            except RecollectError as error:
                detail = f"the path {told.id!r}: {error.message}"
                found.append(problem("paths", detail, error.hint or "start a path of that id"))
            else:
                self.wrote("path", [told.id])
        return found

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
        while page := self.memory.settings.documents.list(
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


def keep_nodes(store: StoredGraph, nodes: Iterable[Node]) -> None:
    """Keep nodes whose change was approved, or needs no approval."""
    every, handle = list(nodes), handle_of(store.memory)
    for first in range(0, len(every), _TOGETHER):
        some = every[first : first + _TOGETHER]
        acts: list[Act] = []
        with handle.reading() as reads:
            for node in some:
                acts += node_acts(handle, reads, node)
        store.memory.events.submit(*acts)
        store.wrote("node", [node.id for node in some])


def history(memory: Memory, links: Iterable[Link]) -> Iterator[dict[str, Json]]:
    """The events of every node and of these links, in the order of the ledger."""
    handle, known = handle_of(memory), list(links)
    with handle.reading() as reads:
        told = [one for id in _nodes(handle, reads) for one in _versions(handle, reads, id)]
        told += [_edge(reads, link) for link in known]
    for seq, what, update in sorted(told, key=lambda one: one[0]):
        yield {"id": f"ledger:{seq}", "kind": "recorded", f"{what}_updates": [update]}


def _nodes(handle: Handle, reads: Reads) -> Iterator[str]:
    before = NOW
    while rows := reads.listing(_STATUSES, handle.actor.user, before, _NODES_AT_ONCE):
        yield from (row.id for row in rows if handle.may_see(row))
        before = rows[-1].seq


def _versions(handle: Handle, reads: Reads, id: str) -> Iterator[tuple[int, str, Json]]:
    """A node as it was from one event to the next; the last one as it is now."""
    rows = reads.versions(id)
    for number, row in enumerate(rows, start=1):
        is_last = number == len(rows)
        update: dict[str, Json] = {"node_id": id, "operation": "forget"}
        if is_shown(handle, row) if is_last else row.status == "active":
            operation = "create" if number == 1 else "update"
            update |= {"operation": operation, "node": node_from(record_of(row)).to_dict()}
        yield row.seq, "node", update


def _edge(reads: Reads, link: Link) -> tuple[int, str, Json]:
    edge = edge_from(reads, link)
    update: dict[str, Json] = {"edge_id": edge.id, "operation": "create", "edge": edge.to_dict()}
    return link.seq, "edge", update
