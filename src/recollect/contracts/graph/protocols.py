"""The protocols of S1: a graph store, an event log, an audit sink.

Responsible for what every adapter has. Leaves the adapters to the modules beside it. Invariant: an
adapter in memory and one in files have the same calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from recollect.contracts.graph.values import Edge, MemoryPath, Node, Profile, Snapshot
from recollect.model.validate import Json
from recollect.model.values import Finding


@runtime_checkable
class MemoryGraphStore(Protocol):
    """Profiles, nodes, edges and paths."""

    def save_profile(self, profile: Profile) -> None:
        """Keep a profile; one with this id is replaced."""

    def load_profile(self, id: str) -> Profile:
        """A profile; ``NotFound`` if there is none."""

    def save_node(self, node: Node) -> None:
        """Keep a node; one with this id is revised."""

    def load_node(self, id: str) -> Node:
        """A node; ``NotFound`` if there is none."""

    def save_edge(self, edge: Edge) -> None:
        """Keep an edge between two nodes that are there; one with this id is replaced."""

    def load_edge(self, id: str) -> Edge:
        """An edge; ``NotFound`` if there is none."""

    def list_profiles(self) -> Sequence[Profile]:
        """The profiles, by id."""

    def list_nodes(self, kind: str | None = None) -> Sequence[Node]:
        """The nodes, of one kind or of all, by id."""

    def list_edges(self, *, source: str | None = None, target: str | None = None) -> Sequence[Edge]:
        """The edges from a node, to a node, or all, by id."""

    def load_path(self, id: str) -> MemoryPath:
        """A path; ``NotFound`` if there is none."""

    def list_paths(self) -> Sequence[MemoryPath]:
        """The paths, by id."""

    def import_graph(self, envelope: Mapping[str, Json]) -> Sequence[Finding]:
        """Keep a graph envelope; what was left out is in the findings."""

    def export_graph(self) -> dict[str, Json]:
        """Everything as a graph envelope."""


@runtime_checkable
class Recorded(Protocol):
    """A store that knows what happened to its nodes and edges, also if no event was written."""

    def history(self) -> Iterable[Mapping[str, Json]]:
        """What happened, as events of a log, the oldest first."""


@runtime_checkable
class MemoryEventLog(Protocol):
    """Events, append-only, in the order in which they were appended."""

    def append(self, event: Mapping[str, Json]) -> None:
        """Append an event; ``Conflict`` if its id is in the log."""

    def list(self, kind: str | None = None) -> Sequence[Mapping[str, Json]]:
        """The events, of one kind or of all."""

    def replay(self, source: MemoryGraphStore | None = None) -> Snapshot:
        """The graph that the events lead to, after them what ``source`` says itself."""

    def diagnostics(self) -> Sequence[Finding]:
        """What in the log could not be used."""


@runtime_checkable
class AuditSink(Protocol):
    """Records of what a runtime did, append-only."""

    def write(self, record: Mapping[str, Json]) -> None:
        """Append a record."""

    def list(self) -> Sequence[Mapping[str, Json]]:
        """The records, in order."""

    def diagnostics(self) -> Sequence[Finding]:
        """What in the sink could not be read."""
