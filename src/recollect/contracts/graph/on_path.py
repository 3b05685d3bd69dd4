"""The graph on a path: what is saved here waits there.

Responsible for the edges that wait on a path, beside the nodes that its branch has. Leaves merging
them to ``merges``. Invariants: an edge is between nodes that the path shows; nothing here is
written to a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from recollect.contracts.graph.path_documents import (
    add_edges,
    branch_in,
    edges_in,
    path_document,
)
from recollect.contracts.graph.records import edge_acts
from recollect.contracts.graph.stored_graph import StoredGraph
from recollect.contracts.graph.values import Edge, Profile
from recollect.errors import NotFound, Unsupported
from recollect.memory.handle.handle import handle_of
from recollect.model.validate import Json
from recollect.model.values import Finding


class PathStore(StoredGraph):
    """The graph with the changes of an open path."""

    def __init__(self, whole: StoredGraph, path: str) -> None:
        """On a path of a store."""
        branch = branch_in(path_document(whole.memory, path))
        super().__init__(whole.memory.on(branch), whole.events, whole.audit)
        self._whole, self._path = whole, path

    def _put_edges(self, edges: Iterable[Edge]) -> None:
        """Keep edges on the path; a merge adds them after its nodes."""
        some = list(edges)
        handle = handle_of(self.memory)
        with handle.reading() as reads:
            for edge in some:
                edge_acts(handle, reads, edge)  # refuses what a merge could not add
        add_edges(self._whole.memory, self._path, some)

    def load_edge(self, id: str) -> Edge:
        """An edge; ``NotFound`` if there is none, or one of its nodes is not there."""
        for edge in self.list_edges():
            if edge.id == id:
                return edge
        raise NotFound(f"edge {id!r} was not found", hint="list_edges() has them all")

    def list_edges(self, *, source: str | None = None, target: str | None = None) -> list[Edge]:
        """The edges from a node, to a node, or all, by id."""
        there = {node.id for node in self.list_nodes()}
        known = {edge.id: edge for edge in [*super().list_edges(), *self._waiting()]}
        return [
            edge
            for _, edge in sorted(known.items())
            if {edge.source, edge.target} <= there
            and source in (None, edge.source)
            and target in (None, edge.target)
        ]

    def history(self) -> Iterator[dict[str, Json]]:
        """What the ledger says of nodes and edges, then the edges that wait here."""
        yield from super().history()
        updates: list[Json] = [
            {"edge_id": one.id, "edge": one.to_dict()} for one in self._waiting()
        ]
        yield {"id": f"path:{self._path}", "kind": "recorded", "edge_updates": updates}

    def _waiting(self) -> list[Edge]:
        return list(edges_in(path_document(self._whole.memory, self._path).data).values())

    def _put_profile(self, profile: Profile) -> None:
        """Refused: a profile is of the whole workspace."""
        raise Unsupported("a path holds nodes and edges", hint="save profiles without the path")

    def _put_about(self, about: Mapping[str, Json]) -> None:
        """Refused: what a graph says about itself is of the whole workspace."""
        raise Unsupported("a path holds nodes and edges", hint="save it without the path")

    def import_graph(self, envelope: Mapping[str, Json]) -> list[Finding]:
        """Refused: a graph has events and says something about itself."""
        raise Unsupported("a path holds nodes and edges", hint="import without the path")

    def require_no_gate(self) -> None:
        """What waits on a path is not lasting yet."""
