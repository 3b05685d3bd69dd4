"""Paths of a conversation: branch, extend, merge, abandon, compact.

Responsible for changing a path and for the event that tells it. Leaves the changes on it to the
branch of the memory that a path is. Invariants: a path names events and never holds what was said;
what has ended stays so; a merge is of exactly what was shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from recollect.contracts.graph.records import PATH, branch_in, path_document
from recollect.contracts.graph.store import GraphStore
from recollect.contracts.graph.values import MAIN, MemoryPath
from recollect.errors import Changed, Conflict, InvalidInput, NotFound
from recollect.memory import Memory
from recollect.model.validate import Json, document, identifier
from recollect.model.values import Branch, Diff, Settlement

_TRIES: Final = 100  # how often another program may write in between


def branch(
    store: GraphStore, id: str, *, parent: str = MAIN, reason: str | None = None
) -> MemoryPath:
    """Start a path with the events of another; ``store.on(id)`` writes on it."""
    document(PATH, id)
    identifier(_event_id(id, "compacted"), "the id of the path's events")
    start = _open(store, parent)
    if id == MAIN or _has(store, id):
        raise Conflict(f"there is a path {id!r}", hint="use another id: paths are not used twice")
    made = _branch(store, id, parent, reason)
    data: dict[str, Json] = {"branch": made.id, "parent": parent, "events": list(start.events)}
    _keeper(store).documents.set(PATH, id, data)
    return _tell(store, id, "branched", {"parent": parent, "reason": reason})


def extend(store: GraphStore, id: str, event: Mapping[str, Json]) -> MemoryPath:
    """Append an event to the log, and its id to a path."""
    _open(store, id)
    store.events.append({**event, "path": id})
    _list(store, id, [str(event["id"])])
    return store.load_path(id)


def diff(store: GraphStore, id: str) -> Diff:
    """What merging a path would change; ``merge`` needs its digest."""
    return store.memory.branches.diff(_branch_id(store, id))


def merge(
    store: GraphStore,
    id: str,
    digest: str,
    *,
    settle: Mapping[str, Settlement] | None = None,
    edits: Mapping[str, str] | None = None,
    reason: str | None = None,
) -> MemoryPath:
    """Make every change of a path; the main path gets the events that it lacks. Needs a person."""
    ended = _open(store, id)
    done = store.memory.branches.merge(
        _branch_id(store, id), digest, settle=settle, edits=edits, reason=reason
    )
    _list(store, MAIN, ended.events)
    store.wrote("node", done.records)
    store.wrote("path", [MAIN])
    said: dict[str, Json] = {"into": MAIN, "nodes": list(done.records), "reason": reason}
    return _tell(store, id, "merged", said)


def abandon(store: GraphStore, id: str, reason: str) -> MemoryPath:
    """End a path without its changes."""
    _open(store, id)
    if not isinstance(reason, str) or not reason.strip():
        raise InvalidInput("abandoning a path needs a reason", hint="say why, in a few words")
    store.memory.branches.abandon(_branch_id(store, id), reason)
    return _tell(store, id, "abandoned", {"reason": reason})


def compact(store: GraphStore, id: str, summary: str, *, reason: str | None = None) -> MemoryPath:
    """End a path without its changes and keep one node that sums it up; its events stay listed."""
    _open(store, id)
    done = store.memory.branches.condense(_branch_id(store, id), summary, reason=reason)
    store.wrote("node", [done.record] if done.record else [])
    return _tell(store, id, "compacted", {"summary": done.record, "reason": reason})


def take(store: GraphStore, path: MemoryPath) -> None:
    """Keep a path that a file tells, unless there is one with its id.

    One that goes on gets a branch; what waited on it is in the memory where it began. One that has
    ended stays so, as the file says.
    """
    document(PATH, path.id)
    if _has(store, path.id):
        return
    data: dict[str, Json] = {"events": list(path.events)}
    if path.id != MAIN:
        data["parent"] = path.parent or MAIN
        if path.is_active:
            data["branch"] = _branch(store, path.id, MAIN, None).id
        else:
            data["told"] = path.to_dict()
    _keeper(store).documents.set(PATH, path.id, data)
    store.wrote("path", [path.id])


def _open(store: GraphStore, id: str) -> MemoryPath:
    """A path that has not ended."""
    path = store.load_path(id)
    if not path.is_active:
        how = "merged" if path.merged_into else "compacted" if path.summary else "abandoned"
        raise Conflict(f"the path {id!r} was {how}", hint="start another one")
    return path


def _branch(store: GraphStore, id: str, parent: str, reason: str | None) -> Branch:
    """The branch of a new path; one that a stopped call has opened is used."""
    above = None if parent == MAIN else _branch_id(store, parent)
    try:
        return store.memory.branches.open(id, parent=above, reason=reason)
    except Conflict:
        return store.memory.branches.show(id)


def _branch_id(store: GraphStore, id: str) -> str:
    if id == MAIN:
        raise InvalidInput("the main path is the memory itself", hint="name another path")
    return branch_in(path_document(store.memory, id))


def _has(store: GraphStore, id: str) -> bool:
    try:
        store.memory.documents.get(PATH, id)
    except NotFound:
        return False
    return True


def _list(store: GraphStore, id: str, events: Iterable[str]) -> None:
    """Adds events to the list of a path, those that it lacks, also if others write meanwhile."""

    def grown() -> dict[str, Json]:
        known = list(store.load_path(id).events)
        known += [event for event in dict.fromkeys(events) if event not in known]
        old = store.memory.documents.get(PATH, id).data if _has(store, id) else {}
        return {**old, "events": list(known)}

    _set(store, id, grown)
    store.wrote("path", [id])


def _keeper(store: GraphStore) -> Memory:
    """Writes the list of a path with an agent's trust, so that agents may extend it later."""
    memory = store.memory
    return memory.scoped(origin="agent") if memory.trust == "person" else memory


def _set(store: GraphStore, id: str, make: Callable[[], dict[str, Json]]) -> None:
    for _ in range(_TRIES):
        position = store.memory.position
        try:
            _keeper(store).documents.set(PATH, id, make(), expect=position or None)
            return
        except Changed:
            continue
    raise Conflict("other programs did not stop writing", hint="try again")


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
