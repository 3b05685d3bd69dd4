"""Nodes, edges, profiles, paths and the other values of S1.

Responsible for their fields and for the JSON objects that they are made of. Leaves where they are
kept to ``store``. Invariant: an object that is read and written again is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from recollect.errors import InvalidInput
from recollect.exchange.envelope import SCHEMA
from recollect.model import validate
from recollect.model.validate import Json
from recollect.model.values import Diff

GRAPH_SCHEMA: Final = SCHEMA
MAIN: Final = "main"  # the path that all others start from: the memory itself

Compaction = Literal["none", "compacted"]
ActionKind = Literal["revise", "restore", "forget", "erase", "merge", "abandon", "compact"]


class _Plain(msgspec.Struct, frozen=True, kw_only=True):
    """A value of this API."""

    def to_dict(self) -> dict[str, Json]:
        """The value as a JSON object; a field that has its default is left out."""
        usual = {one.name: one.default for one in msgspec.structs.fields(self)}
        made: dict[str, Json] = msgspec.json.decode(msgspec.json.encode(self))
        extra = made.pop("extra", {})
        said = {name: value for name, value in made.items() if not _is(value, usual[name])}
        return {**said, **(extra if isinstance(extra, dict) else {}), **said}


class Node(_Plain, frozen=True, kw_only=True):
    """One statement. ``extra`` has its other fields, such as ``phase`` and ``metadata``."""

    id: str
    kind: str
    text: str
    extra: dict[str, Json] = {}


class Edge(_Plain, frozen=True, kw_only=True):
    """A typed, directed relation between two nodes. ``extra`` has its other fields."""

    id: str
    kind: str
    source: str
    target: str
    weight: float = 1.0
    extra: dict[str, Json] = {}


class Profile(_Plain, frozen=True, kw_only=True):
    """How a memory is meant to be used. ``extra`` has all fields but its id."""

    id: str
    extra: dict[str, Json] = {}


class MemoryPath(_Plain, frozen=True, kw_only=True):
    """One line of a conversation: the ids of its events, in order, and what became of it."""

    id: str
    parent: str | None = None
    events: tuple[str, ...] = ()
    is_active: bool = True
    merged_into: str | None = None
    abandoned_because: str | None = None
    compaction: Compaction = "none"
    summary: str | None = None  # the node that a compacted path became


class PathDiff(Diff, frozen=True, kw_only=True):
    """What merging a path would change: its nodes and its ``edges``, and where (``into``).

    ``digest`` is over all of it.
    """

    into: str
    edges: tuple[Edge, ...]
    of_nodes: str  # the digest over the nodes alone, as the branch has it


class Activation(_Plain, frozen=True, kw_only=True):
    """Which nodes were handed out for a prompt; the question and the texts are not kept."""

    id: str
    at: str
    nodes: tuple[str, ...]
    tokens: int
    max_tokens: int


class Action(_Plain, frozen=True, kw_only=True):
    """A change of a node or of a path. ``review`` asks for an approval where none is needed.

    ``text`` is a new text or a summary; ``digest`` is that of the diff that a merge was shown.
    """

    kind: ActionKind
    subject: str
    text: str | None = None
    reason: str | None = None
    digest: str | None = None
    review: bool = False


class Approval(_Plain, frozen=True, kw_only=True):
    """The marker that actions were reviewed: by a person, and exactly these."""

    by: str
    digest: str


class Applied(_Plain, frozen=True, kw_only=True):
    """What became of one action, and why."""

    action: Action
    outcome: Literal["applied", "denied", "failed"]
    detail: str


class Snapshot(_Plain, frozen=True, kw_only=True):
    """A graph that events lead to, and what could not be replayed."""

    graph: dict[str, Json]
    skipped: tuple[str, ...] = ()


def node_of(given: Mapping[str, Json]) -> Node:
    """A node from its object."""
    known = {name: _text(given, name, "a node") for name in ("id", "kind", "text")}
    return Node(**known, extra=_rest(given, known))


def edge_of(given: Mapping[str, Json]) -> Edge:
    """An edge from its object."""
    known = {name: _text(given, name, "an edge") for name in ("id", "kind", "source", "target")}
    weight = given.get("weight", 1.0)
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        raise InvalidInput(f"the weight of the edge {known['id']!r} is not a number")
    return Edge(**known, weight=weight, extra=_rest(given, {**known, "weight": ""}))


def profile_of(given: Mapping[str, Json]) -> Profile:
    """A profile from its object."""
    id = _text(given, "id", "a profile")
    return Profile(id=id, extra=_rest(given, {"id": id}))


def path_of(given: Mapping[str, Json]) -> MemoryPath:
    """A path from its object."""
    try:
        return msgspec.convert(dict(given), MemoryPath)
    except (msgspec.ValidationError, ValueError) as error:
        raise InvalidInput(f"{validate.shown(dict(given))} is not a path: {error}") from error


def action_of(given: Action | Mapping[str, Json]) -> Action:
    """An action from its object."""
    try:
        return msgspec.convert(
            given.to_dict() if isinstance(given, Action) else dict(given), Action
        )
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        raise InvalidInput(f"{validate.shown(given)} is not an action: {error}") from error


def _rest(given: Mapping[str, Json], known: Mapping[str, str]) -> dict[str, Json]:
    return {name: value for name, value in given.items() if name not in known}


def _text(given: Mapping[str, Json], name: str, what: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{what} needs {name!r}, a text: {validate.shown(dict(given))}")
    return value


def _is(value: Json, usual: object) -> bool:
    """True if a field has its default; an empty tuple is an empty list in JSON."""
    return value == usual or (usual == () and value == [])
