"""How a path ends, once it may: merged, abandoned or compacted.

Responsible for what a path would change, for ending it and for the event that tells it. Leaves
whether that needs an approval to ``paths`` and ``runtime``, and what a merge does to ``merges``.
Invariants: what has ended stays so; a merge is of exactly what was shown; a path names events and
never holds what was said.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Final

import msgspec

from recollect.contracts.graph.merges import Settled, merge_acts, own_events, target_of
from recollect.contracts.graph.path_documents import (
    add_edges,
    branch_in,
    edges_in,
    list_events,
    path_document,
    require_apart,
)
from recollect.contracts.graph.store import GraphStore
from recollect.contracts.graph.values import MAIN, MemoryPath, PathDiff
from recollect.errors import Changed, Conflict, InvalidInput, NotFound
from recollect.model.validate import Json, text
from recollect.model.values import Choice

_TRIES: Final = 100  # how often another program may write in between
_ENCODE: Final = msgspec.json.Encoder(order="sorted").encode


def diff(store: GraphStore, id: str) -> PathDiff:
    """What merging a path would change; ``merge`` needs its digest."""
    shown = store.memory.branches.diff(branch_of(store, id))
    waiting = edges_in(path_document(store.memory, id).data)
    edges = tuple(waiting[name] for name in sorted(waiting))
    into = target_of(store, store.load_path(id))
    cells = [shown.digest, [edge.to_dict() for edge in edges], into]
    return PathDiff(
        branch=shown.branch,
        changes=shown.changes,
        edges=edges,
        into=into,
        of_nodes=shown.digest,
        digest=sha256(_ENCODE(cells)).hexdigest(),
    )


def merged(
    store: GraphStore,
    id: str,
    digest: str,
    *,
    settle: Mapping[str, Choice] | None = None,
    edits: Mapping[str, str] | None = None,
    reason: str | None = None,
) -> MemoryPath:
    """Merge a path that may be."""
    path = open_path(store, id)
    settled = _settled(settle or {}, edits or {}, reason)
    for _ in range(_TRIES):
        position, shown = store.memory.events.position, diff(store, id)
        if digest != shown.digest:
            raise Changed(f"the path {id!r} is not what was shown", hint="show paths.diff again")
        into = shown.into
        if into != MAIN:
            there = edges_in(path_document(store.memory, into).data)
            require_apart({**there, **{edge.id: edge for edge in shown.edges}}.values())
        acts = merge_acts(store, path, shown, settled)
        try:
            store.memory.events.submit(*acts, expect=position)
        except Changed:
            continue
        return _handed_on(store, path, shown, settled)
    raise Conflict("other programs did not stop writing", hint="try again")


def _handed_on(
    store: GraphStore, path: MemoryPath, shown: PathDiff, settled: Settled
) -> MemoryPath:
    """Hands on the events of a path that was merged, and what goes with them."""
    into = shown.into
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
    edges = [one.id for one in shown.edges if into != MAIN or _has_edge(store, one.id)]
    if edges:
        said["edges"] = list(edges)
    return tell(store, path.id, "merged", said)


def _has_edge(store: GraphStore, id: str) -> bool:
    try:
        return store.load_edge(id).id == id
    except NotFound:
        return False


def abandoned(store: GraphStore, id: str, reason: str) -> MemoryPath:
    """Abandon a path that may be."""
    _require_last(store, id)
    if not isinstance(reason, str) or not reason.strip():
        raise InvalidInput("abandoning a path needs a reason", hint="say why, in a few words")
    store.memory.branches.abandon(branch_of(store, id), reason)
    return tell(store, id, "abandoned", {"reason": reason})


def compacted(store: GraphStore, id: str, summary: str, reason: str | None) -> MemoryPath:
    """Compact a path that may be."""
    _require_last(store, id)
    done = store.memory.branches.condense(branch_of(store, id), summary, reason=reason)
    store.wrote("node", [done.record] if done.record else [])
    return tell(store, id, "compacted", {"summary": done.record, "reason": reason})


def _require_last(store: GraphStore, id: str) -> None:
    """Refuses to end a path from which another one goes on: that has its events."""
    open_path(store, id)
    for other in store.list_paths():
        if other.is_active and other.parent == id:
            raise Conflict(
                f"the path {other.id!r} goes on from {id!r}", hint="merge or abandon that one first"
            )


def _settled(settle: Mapping[str, Choice], edits: Mapping[str, str], reason: str | None) -> Settled:
    for id, word in settle.items():
        if word not in ("ours", "theirs"):
            raise InvalidInput(f"{id!r} is decided with {word!r}", hint="use ours or theirs")
    ours = tuple(id for id, word in settle.items() if word == "ours")
    theirs = tuple(id for id, word in settle.items() if word == "theirs")
    return Settled(ours, theirs, {id: text(words) for id, words in edits.items()}, reason)


def open_path(store: GraphStore, id: str) -> MemoryPath:
    """A path that has not ended."""
    path = store.load_path(id)
    if not path.is_active:
        how = "merged" if path.merged_into else "compacted" if path.summary else "abandoned"
        raise Conflict(f"the path {id!r} was {how}", hint="start another one")
    return path


def branch_of(store: GraphStore, id: str) -> str:
    if id == MAIN:
        raise InvalidInput("the main path is the memory itself", hint="name another path")
    return branch_in(path_document(store.memory, id))


def tell(store: GraphStore, id: str, kind: str, said: Mapping[str, Json]) -> MemoryPath:
    """The event of a change: who, what and why, and nothing that was said."""
    told = {name: value for name, value in said.items() if value is not None}
    event: dict[str, Json] = {"id": event_id(id, kind), "kind": kind, "path": id, **told}
    if not any(known["id"] == event["id"] for known in store.events.list(kind)):
        store.events.append(event)
    store.wrote("path", [id])
    return store.load_path(id)


def event_id(id: str, kind: str) -> str:
    return f"path:{id}:{kind}"
