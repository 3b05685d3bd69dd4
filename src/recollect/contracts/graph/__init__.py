"""A memory as a graph of nodes and edges, under the API of S1 (``contracts.md``).

Responsible for the API as a whole. Leaves its calls to ``store``, ``workspace``, ``events``,
``paths`` and ``runtime``, and its values to ``values``. Invariants: a node is a record, an edge is
a link, a profile is a document, a path is a branch; the memory is the truth, and the files of a
workspace show it.

    with FileBackedMemoryGraphStore("notes") as store:
        store.save_node(Node(id="decision.one", kind="decision", text="Use one journal."))
"""

from __future__ import annotations

from recollect.contracts.graph import paths
from recollect.contracts.graph.audit import InMemoryAuditSink, JsonlAuditSink
from recollect.contracts.graph.events import InMemoryEventLog, JsonlMemoryEventLog
from recollect.contracts.graph.gate import digest_of
from recollect.contracts.graph.protocols import AuditSink, MemoryEventLog, MemoryGraphStore
from recollect.contracts.graph.runtime import PhaseMemoryRuntime
from recollect.contracts.graph.store import GraphStore, InMemoryGraphStore
from recollect.contracts.graph.values import (
    Action,
    Activation,
    Applied,
    Approval,
    Edge,
    MemoryPath,
    Node,
    PathDiff,
    Profile,
    Snapshot,
)
from recollect.contracts.graph.workspace import FIXTURES, FileBackedMemoryGraphStore, fixture

__all__ = [
    "FIXTURES",
    "Action",
    "Activation",
    "Applied",
    "Approval",
    "AuditSink",
    "Edge",
    "FileBackedMemoryGraphStore",
    "GraphStore",
    "InMemoryAuditSink",
    "InMemoryEventLog",
    "InMemoryGraphStore",
    "JsonlAuditSink",
    "JsonlMemoryEventLog",
    "MemoryEventLog",
    "MemoryGraphStore",
    "MemoryPath",
    "Node",
    "PathDiff",
    "PhaseMemoryRuntime",
    "Profile",
    "Snapshot",
    "digest_of",
    "fixture",
    "paths",
]
