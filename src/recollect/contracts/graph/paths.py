"""Paths of a conversation: branch, extend, merge, abandon, compact.

Responsible for starting and extending a path, and for what needs an approval to end it. Leaves the
changes on it to the branch of the memory that a path is, and ending it to ``endings``. Invariant: a
path names events and never holds what was said.
"""

from __future__ import annotations

from collections.abc import Mapping

from recollect.contracts.graph import endings
from recollect.contracts.graph.endings import branch_of, diff, event_id, open_path, tell
from recollect.contracts.graph.gate import gate_in, require_approval
from recollect.contracts.graph.merges import target_of
from recollect.contracts.graph.path_documents import (
    PATH,
    has_path,
    list_events,
    open_branch,
    write_path,
)
from recollect.contracts.graph.store import GraphStore
from recollect.contracts.graph.values import MAIN, Action, Approval, MemoryPath
from recollect.errors import Conflict
from recollect.model.validate import Json, document, identifier
from recollect.model.values import Choice

__all__ = ["abandon", "branch", "compact", "diff", "extend", "merge"]


def branch(
    store: GraphStore, id: str, *, parent: str = MAIN, reason: str | None = None
) -> MemoryPath:
    """Start a path with the events of another; ``store.on(id)`` writes on it."""
    document(PATH, id)
    identifier(event_id(id, "compacted"), "the id of the path's events")
    start = open_path(store, parent)
    if id == MAIN or has_path(store.memory, id):
        raise Conflict(f"there is a path {id!r}", hint="use another id: paths are not used twice")
    made = open_branch(store.memory, id, parent, reason)
    data: dict[str, Json] = {"branch": made.id, "parent": parent, "events": list(start.events)}
    write_path(store.memory, id, data)
    return tell(store, id, "branched", {"parent": parent, "reason": reason})


def extend(store: GraphStore, id: str, event: Mapping[str, Json]) -> MemoryPath:
    """Append an event to the log, and its id to a path."""
    open_path(store, id)
    store.events.append({**event, "path": id})
    list_events(store.memory, id, [str(event["id"])])
    store.wrote("path", [id])
    return store.load_path(id)


def merge(
    store: GraphStore,
    id: str,
    digest: str,
    *,
    settle: Mapping[str, Choice] | None = None,
    edits: Mapping[str, str] | None = None,
    reason: str | None = None,
    approval: Approval | None = None,
) -> MemoryPath:
    """Make every change of a path on the one that it started from.

    That is ``main``, the memory itself, or a path that goes on. There the changes wait with the
    others, and no approval is needed. Into ``main`` a store of a person merges what the diff
    showed. Any other needs an approval, and merges what it may change without a path.
    """
    path = open_path(store, id)
    branch_of(store, id)
    if target_of(store, path) == MAIN and store.memory.scope.trust != "person":
        action = Action(kind="merge", subject=id, digest=digest, reason=reason)
        require_approval(action, _gate(store), approval)
    return endings.merged(store, id, digest, settle=settle, edits=edits, reason=reason)


def abandon(
    store: GraphStore, id: str, reason: str, *, approval: Approval | None = None
) -> MemoryPath:
    """End a path without its changes; those that go on from it must have ended."""
    action = Action(kind="abandon", subject=id, reason=reason)
    require_approval(action, _gate(store), approval)
    return endings.abandoned(store, id, reason)


def compact(
    store: GraphStore,
    id: str,
    summary: str,
    *,
    reason: str | None = None,
    approval: Approval | None = None,
) -> MemoryPath:
    """End a path without its changes and keep one node that sums it up; its events stay listed.

    It needs an approval of ``Action(kind="compact", subject=id, text=summary, reason=reason)``.
    """
    branch_of(store, id)
    action = Action(kind="compact", subject=id, text=summary, reason=reason)
    require_approval(action, _gate(store), approval)
    return endings.compacted(store, id, summary, reason)


def _gate(store: GraphStore) -> str | None:
    return gate_in(store.list_profiles())
