"""Graph stores, on which paths can be opened.

Responsible for the way from a graph to one of its paths, and for the store that keeps no files.
Leaves the graph to ``stored_graph`` and files to ``workspace``. Invariant: what is saved on a path
is in the graph only after a merge.
"""

from __future__ import annotations

from recollect.contracts.graph.audit import InMemoryAuditSink
from recollect.contracts.graph.events import InMemoryEventLog
from recollect.contracts.graph.on_path import PathStore
from recollect.contracts.graph.stored_graph import StoredGraph
from recollect.memory import Memory


class GraphStore(StoredGraph):
    """Profiles, nodes, edges, paths and activations of a memory."""

    def on(self, path: str) -> PathStore:
        """The graph with the changes of an open path; what is saved here waits there."""
        return PathStore(self, path)


class InMemoryGraphStore(GraphStore):
    """A graph store that is gone when the program ends, or one over any memory."""

    def __init__(self, memory: Memory | None = None) -> None:
        """Over a memory; by default a new one that is kept nowhere."""
        if memory is None:
            memory = Memory.open(":memory:", embedder="none")
        super().__init__(memory, InMemoryEventLog(), InMemoryAuditSink())
