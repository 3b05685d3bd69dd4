"""Paths as documents of a memory, and back.

Responsible for what a memory keeps of a path beside its branch: its events, its edges, where it was
merged, and how one ended that another memory had. Leaves what becomes of a path to ``paths``.
Invariants: a path is never made twice; its document has an agent's trust, so that agents may extend
the path later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from recollect.contracts.graph.values import MAIN, Edge, MemoryPath, edge_of, path_of
from recollect.errors import Changed, Conflict, NotFound
from recollect.memory import Memory
from recollect.model import validate
from recollect.model.validate import Json
from recollect.model.values import Branch, Document

PATH: Final = "path"
_TRIES: Final = 100  # how often another program may write in between


def path_document(memory: Memory, id: str) -> Document:
    """The document of a path; ``NotFound`` if there is none."""
    try:
        return memory.settings.documents.get(PATH, id)
    except NotFound:
        raise NotFound(
            f"path {validate.shown(id)} was not found", hint="list_paths() has them all"
        ) from None


def has_path(memory: Memory, id: str) -> bool:
    """True if there is, or was, a path with this id."""
    try:
        path_document(memory, id)
    except NotFound:
        return False
    return True


def branch_in(document: Document) -> str:
    """The branch of a path; refuses one that has none, because it ended in another memory."""
    branch = document.data.get("branch")
    if branch is None:
        raise Conflict(f"the path {document.name!r} has ended", hint="start another one")
    return str(branch)


def edges_in(data: Mapping[str, Json]) -> dict[str, Edge]:
    """The edges that wait on a path, by their ids."""
    given = data.get("edges")
    found = given.values() if isinstance(given, dict) else ()
    edges = [edge_of(one) for one in found if isinstance(one, dict)]
    return {edge.id: edge for edge in edges}


def require_apart(edges: Iterable[Edge]) -> None:
    """Refuses two edges of one kind between the same nodes: a memory has one such link."""
    known: dict[tuple[str, str, str], str] = {}
    for edge in edges:
        other = known.setdefault((edge.source, edge.kind, edge.target), edge.id)
        if other != edge.id:
            raise Conflict(
                f"{edge.source!r} and {edge.target!r} have the edge {other!r} of this kind",
                hint="use its id, or another kind",
            )


def path_from(memory: Memory, document: Document) -> MemoryPath:
    """A path: the events that its document lists, and what became of its branch."""
    given = document.data.get("events")
    events = tuple(str(event) for event in given) if isinstance(given, list) else ()
    if document.name == MAIN:
        return MemoryPath(id=MAIN, events=events)
    told = document.data.get("told")
    if isinstance(told, dict):
        return path_of({**told, "id": document.name, "events": list(events)})
    branch, into = memory.branches.show(branch_in(document)), document.data.get("into")
    is_merged = branch.how == "merged" or (into is not None and not branch.is_open)
    return MemoryPath(
        id=document.name,
        parent=str(document.data["parent"]),
        events=events,
        is_active=branch.is_open,
        merged_into=str(into or MAIN) if is_merged else None,
        abandoned_because=branch.note if branch.how == "abandoned" and not is_merged else None,
        compaction="compacted" if branch.how == "condensed" else "none",
        summary=branch.record,
    )


def open_branch(memory: Memory, id: str, parent: str, reason: str | None) -> Branch:
    """The branch of a new path; one that a stopped call has opened is used."""
    above = None if parent == MAIN else branch_in(path_document(memory, parent))
    try:
        return memory.branches.open(id, parent=above, reason=reason)
    except Conflict:
        return memory.branches.show(id)


def keep_path(memory: Memory, path: MemoryPath) -> bool:
    """Keeps a path that a file or events tell, unless there is one with its id.

    One that goes on gets a branch; what waited on it is in the memory where it began. One that has
    ended stays so, as it was told.
    """
    validate.document(PATH, path.id)
    if has_path(memory, path.id):
        return False
    data: dict[str, Json] = {"events": list(path.events)}
    if path.id != MAIN:
        data["parent"] = path.parent or MAIN
        if path.is_active:
            data["branch"] = open_branch(memory, path.id, MAIN, None).id
        else:
            data["told"] = path.to_dict()
    write_path(memory, path.id, data)
    return True


def write_path(memory: Memory, id: str, data: dict[str, Json]) -> None:
    """Writes the document of a new path."""
    keeper(memory).settings.documents.set(PATH, id, data)


def list_events(memory: Memory, id: str, events: Iterable[str]) -> None:
    """Adds events to the list of a path, those that it lacks."""
    more = list(dict.fromkeys(events))

    def grown(data: dict[str, Json]) -> dict[str, Json]:
        known = data.get("events")
        listed = list(known) if isinstance(known, list) else []
        return {**data, "events": [*listed, *(one for one in more if one not in listed)]}

    change_path(memory, id, grown)


def add_edges(memory: Memory, id: str, edges: Iterable[Edge]) -> None:
    """Lets edges wait on a path; one with the id of another takes its place."""
    more = {edge.id: edge for edge in edges}

    def grown(data: dict[str, Json]) -> dict[str, Json]:
        every = {**edges_in(data), **more}
        require_apart(every.values())
        return {**data, "edges": {name: edge.to_dict() for name, edge in every.items()}}

    change_path(memory, id, grown)


def change_path(
    memory: Memory, id: str, change: Callable[[dict[str, Json]], dict[str, Json]]
) -> None:
    """Changes the document of a path, also if others write meanwhile."""
    for _ in range(_TRIES):
        position = memory.events.position
        data = path_document(memory, id).data if has_path(memory, id) else {}
        try:
            keeper(memory).settings.documents.set(PATH, id, change(data), expect=position or None)
            return
        except Changed:
            continue
    raise Conflict("other programs did not stop writing", hint="try again")


def keeper(memory: Memory) -> Memory:
    """The memory with at most an agent's trust."""
    return memory.scoped(trust="agent") if memory.scope.trust == "person" else memory
