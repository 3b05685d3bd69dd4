"""Paths of a conversation: branch, extend, merge, abandon, compact.

Responsible for changing a path and for the event that tells it. Leaves the changes on it to the
branch of the memory that a path is, and what a merge does to ``merging``. Invariants: a path names
events and never holds what was said; what has ended stays so; a merge is of exactly what was shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Final

import msgspec

from recollect.contracts.graph.gate import gate_in, require_approval
from recollect.contracts.graph.merging import Settled, merge_acts, own_events, target_of
from recollect.contracts.graph.path_documents import (
    PATH,
    add_edges,
    branch_in,
    edges_in,
    has_path,
    list_events,
    open_branch,
    path_document,
    require_apart,
    write_path,
)
from recollect.contracts.graph.store import GraphStore
from recollect.contracts.graph.values import MAIN, Action, Approval, MemoryPath, PathDiff
from recollect.errors import Changed, Conflict, InvalidInput
from recollect.model.validate import Json, document, identifier, text
from recollect.model.values import Settlement

_TRIES: Final = 100  # how often another program may write in between
_ENCODE: Final = msgspec.json.Encoder(order="sorted").encode


def branch(
    store: GraphStore, id: str, *, parent: str = MAIN, reason: str | None = None
) -> MemoryPath:
    """Start a path with the events of another; ``store.on(id)`` writes on it."""
    document(PATH, id)
    identifier(_event_id(id, "compacted"), "the id of the path's events")
    start = _open(store, parent)
    if id == MAIN or has_path(store.memory, id):
        raise Conflict(f"there is a path {id!r}", hint="use another id: paths are not used twice")
    made = open_branch(store.memory, id, parent, reason)
    data: dict[str, Json] = {"branch": made.id, "parent": parent, "events": list(start.events)}
    write_path(store.memory, id, data)
    return _tell(store, id, "branched", {"parent": parent, "reason": reason})


def extend(store: GraphStore, id: str, event: Mapping[str, Json]) -> MemoryPath:
    """Append an event to the log, and its id to a path."""
    _open(store, id)
    store.events.append({**event, "path": id})
    list_events(store.memory, id, [str(event["id"])])
    store.wrote("path", [id])
    return store.load_path(id)


def diff(store: GraphStore, id: str) -> PathDiff:
    """What merging a path would change; ``merge`` needs its digest."""
    shown = store.memory.branches.diff(_branch_id(store, id))
    waiting = edges_in(path_document(store.memory, id).data)
    edges = tuple(waiting[name] for name in sorted(waiting))
    cells = [shown.digest, [edge.to_dict() for edge in edges]]
    return PathDiff(
        branch=shown.branch,
        changes=shown.changes,
        edges=edges,
        of_nodes=shown.digest,
        digest=sha256(_ENCODE(cells)).hexdigest() if edges else shown.digest,
    )


def merge(
    store: GraphStore,
    id: str,
    digest: str,
    *,
    settle: Mapping[str, Settlement] | None = None,
    edits: Mapping[str, str] | None = None,
    reason: str | None = None,
    approval: Approval | None = None,
) -> MemoryPath:
    """Make every change of a path on the one that it started from.

    That is ``main``, the memory itself, or a path that goes on. There the changes wait with the
    others, and no approval is needed. Into ``main`` a store of a person merges what the diff
    showed. Any other needs an approval, and merges what it may change without a path.
    """
    path = _open(store, id)
    _branch_id(store, id)
    if target_of(store, path) == MAIN and store.memory.trust != "person":
        action = Action(kind="merge", subject=id, digest=digest, reason=reason)
        require_approval(action, _gate(store), approval)
    return end_merged(store, id, digest, settle=settle, edits=edits, reason=reason)


def abandon(
    store: GraphStore, id: str, reason: str, *, approval: Approval | None = None
) -> MemoryPath:
    """End a path without its changes; those that go on from it must have ended."""
    action = Action(kind="abandon", subject=id, reason=reason)
    require_approval(action, _gate(store), approval)
    return end_abandoned(store, id, reason)


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
    _branch_id(store, id)
    action = Action(kind="compact", subject=id, text=summary, reason=reason)
    require_approval(action, _gate(store), approval)
    return end_compacted(store, id, summary, reason)


# What the runtime calls after its own gate.


def end_merged(
    store: GraphStore,
    id: str,
    digest: str,
    *,
    settle: Mapping[str, Settlement] | None = None,
    edits: Mapping[str, str] | None = None,
    reason: str | None = None,
) -> MemoryPath:
    """Merge a path for which no approval is asked any more."""
    path = _open(store, id)
    settled = _settled(settle or {}, edits or {}, reason)
    for _ in range(_TRIES):
        position, shown = store.memory.position, diff(store, id)
        if digest != shown.digest:
            raise Changed(f"the path {id!r} is not what was shown", hint="show paths.diff again")
        into = target_of(store, path)
        if into != MAIN:
            there = edges_in(path_document(store.memory, into).data)
            require_apart({**there, **{edge.id: edge for edge in shown.edges}}.values())
        acts = merge_acts(store, path, shown, into, settled)
        try:
            store.memory.submit(*acts, expect=position)
        except Changed:
            continue
        return _merged(store, path, shown, into, settled)
    raise Conflict("other programs did not stop writing", hint="try again")


def _merged(
    store: GraphStore, path: MemoryPath, shown: PathDiff, into: str, settled: Settled
) -> MemoryPath:
    """Hands on the events of a path that was merged, and what goes with them."""
    taken = [one for one in shown.changes if one.id not in settled.ours]
    nodes = [one.record for one in taken if one.intent != "delete"]
    if own := own_events(store, path):
        list_events(store.memory, into, own)
        store.wrote("path", [into])
    said: dict[str, Json] = {"into": into, "nodes": list(nodes), "reason": settled.reason}
    if into == MAIN:
        store.wrote("node", [one.record for one in taken])
        store.wrote("edge", [edge.id for edge in shown.edges])
    elif shown.edges:
        add_edges(store.memory, into, shown.edges)
    if shown.edges:
        said["edges"] = [edge.id for edge in shown.edges]
    return _tell(store, path.id, "merged", said)


def end_abandoned(store: GraphStore, id: str, reason: str) -> MemoryPath:
    """Abandon a path for which no approval is asked any more."""
    _require_last(store, id)
    if not isinstance(reason, str) or not reason.strip():
        raise InvalidInput("abandoning a path needs a reason", hint="say why, in a few words")
    store.memory.branches.abandon(_branch_id(store, id), reason)
    return _tell(store, id, "abandoned", {"reason": reason})


def end_compacted(store: GraphStore, id: str, summary: str, reason: str | None) -> MemoryPath:
    """Compact a path for which no approval is asked any more."""
    _require_last(store, id)
    done = store.memory.branches.condense(_branch_id(store, id), summary, reason=reason)
    store.wrote("node", [done.record] if done.record else [])
    return _tell(store, id, "compacted", {"summary": done.record, "reason": reason})


def _require_last(store: GraphStore, id: str) -> None:
    """Refuses to end a path from which another one goes on: that has its events."""
    _open(store, id)
    for other in store.list_paths():
        if other.is_active and other.parent == id:
            raise Conflict(
                f"the path {other.id!r} goes on from {id!r}", hint="merge or abandon that one first"
            )


def _settled(
    settle: Mapping[str, Settlement], edits: Mapping[str, str], reason: str | None
) -> Settled:
    for id, word in settle.items():
        if word not in ("ours", "theirs"):
            raise InvalidInput(f"{id!r} is settled with {word!r}", hint="use ours or theirs")
    ours = tuple(id for id, word in settle.items() if word == "ours")
    theirs = tuple(id for id, word in settle.items() if word == "theirs")
    return Settled(ours, theirs, {id: text(words) for id, words in edits.items()}, reason)


def _open(store: GraphStore, id: str) -> MemoryPath:
    """A path that has not ended."""
    path = store.load_path(id)
    if not path.is_active:
        how = "merged" if path.merged_into else "compacted" if path.summary else "abandoned"
        raise Conflict(f"the path {id!r} was {how}", hint="start another one")
    return path


def _branch_id(store: GraphStore, id: str) -> str:
    if id == MAIN:
        raise InvalidInput("the main path is the memory itself", hint="name another path")
    return branch_in(path_document(store.memory, id))


def _gate(store: GraphStore) -> str | None:
    return gate_in(store.list_profiles())


def _tell(store: GraphStore, id: str, kind: str, said: Mapping[str, Json]) -> MemoryPath:
    """The event of a change: who, what and why, and nothing that was said."""
    told = {name: value for name, value in said.items() if value is not None}
    event: dict[str, Json] = {"id": _event_id(id, kind), "kind": kind, "path": id, **told}
    if not any(known["id"] == event["id"] for known in store.events.list(kind)):
        store.events.append(event)
    store.wrote("path", [id])
    return store.load_path(id)


def _event_id(id: str, kind: str) -> str:
    return f"path:{id}:{kind}"
