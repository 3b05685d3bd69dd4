"""Graph envelopes: nodes, edges, events, and what the graph says about itself.

Responsible for taking an envelope apart, and for naming what of it cannot be kept. Leaves storing
the parts to ``store``. Invariant: an envelope that cannot be read is refused as a whole before
anything of it is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from recollect.contracts.graph.events import checked
from recollect.contracts.graph.values import (
    GRAPH_SCHEMA,
    Activation,
    Edge,
    MemoryPath,
    Node,
    Profile,
    edge_of,
    node_of,
)
from recollect.errors import InvalidInput, RecollectError, Unsupported
from recollect.model import validate
from recollect.model.validate import Json
from recollect.model.values import Finding

_PARTS: Final = ("schema_version", "nodes", "edges", "events")
T = TypeVar("T", Node, Edge)
K = TypeVar("K", Profile, Node, Edge, MemoryPath, Activation)


class Parts(NamedTuple):
    """What an envelope holds."""

    nodes: list[Node]
    edges: list[Edge]
    events: list[dict[str, Json]]
    about: dict[str, Json]  # its id, title, intent and whatever else it has


def parts_of(envelope: Mapping[str, Json]) -> Parts:
    """The parts of an envelope; ``InvalidInput`` names the first one that cannot be used."""
    found = envelope.get("schema_version")
    if found != GRAPH_SCHEMA:
        raise Unsupported(
            f"the graph says {validate.shown(found)}, and this release knows {GRAPH_SCHEMA!r}",
            hint="export it as that version",
        )
    about = {name: value for name, value in envelope.items() if name not in _PARTS}
    return Parts(
        nodes=_each_once(_objects(envelope, "nodes"), node_of),
        edges=_each_once(_objects(envelope, "edges"), edge_of),
        events=[checked(event) for event in _objects(envelope, "events")],
        about=validate.data(about, "a graph"),
    )


def kept(save: Callable[[Sequence[K]], object], things: Sequence[K]) -> list[Finding]:
    """Saves things together; if that fails in halves, so that only what cannot be saved is left."""
    if not things:
        return []
    try:
        save(things)
    except RecollectError as error:
        if len(things) > 1:
            half = len(things) // 2
            return kept(save, things[:half]) + kept(save, things[half:])
        what, id = type(things[0]).__name__.removeprefix("Memory").lower(), things[0].id
        named = f"the {what} {id!r}"
        detail = error.message if named in error.message else f"{named}: {error.message}"
        return [problem(f"{what}s", detail, error.hint or "correct it, then import it again")]
    return []


def in_turn(save: Callable[[K], None]) -> Callable[[Sequence[K]], None]:
    """Saves things one after the other."""

    def every(things: Sequence[K]) -> None:
        for one in things:
            save(one)

    return every


def problem(what: str, detail: str, fix: str) -> Finding:
    """Something that was not kept, and what to do."""
    return Finding(level="problem", what=what, detail=detail, fix=fix)


def _objects(envelope: Mapping[str, Json], name: str) -> list[dict[str, Json]]:
    given = envelope.get(name, [])
    if not isinstance(given, list):
        raise InvalidInput(f"{name} of a graph is a list, not {validate.shown(given)}")
    for each in given:
        if not isinstance(each, dict):
            raise InvalidInput(f"{name} of a graph has {validate.shown(each)}, not an object")
    return [each for each in given if isinstance(each, dict)]


def _each_once(
    given: Iterable[Mapping[str, Json]], parse: Callable[[Mapping[str, Json]], T]
) -> list[T]:
    made: dict[str, T] = {}
    for each in map(parse, given):
        if made.setdefault(each.id, each) != each:
            raise InvalidInput(f"a graph has two different things with the id {each.id!r}")
    return list(made.values())
