"""Graphs and profiles of Markitect: ``markitect.memory.graph.v1`` and ``….profile.v1``.

Responsible for nodes, edges, events, profiles and what a graph says about itself. Leaves storing to
``memory.exchange.imports``. Invariants: a node, an edge, an event and a profile keep their ids;
every field is kept, and what cannot be is named; a document of another version is not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from recollect.exchange.envelope import ABOUT, EVENT, PROFILE, PROFILE_SCHEMA, SCHEMA, unnamed
from recollect.exchange.items import (
    Altered,
    Found,
    LinkItem,
    RecordItem,
    SettingItem,
    Source,
    Trouble,
    data_of,
    moment_of,
    name_of,
    named,
    names_of,
    short,
    text_of,
)
from recollect.exchange.json_stream import BrokenJsonError, elements
from recollect.exchange.workspace import EVENT_SCHEMA
from recollect.model.validate import Json

FORMAT: Final = "markitect"
_PARTS: Final = ("nodes", "edges", "events")
_OF_EDGES: Final = ("id", "kind", "source", "target", "weight")
_HEAD: Final = ("id", "schema_version")
_LIMITS: Final = "it is too deep, or has numbers or characters that cannot be stored"
Given = Mapping[str, object]


class _Document(NamedTuple):
    """One file: what it says about itself, and its parts, each element with where it stands."""

    name: str
    about: dict[str, object]
    parts: dict[str, list[tuple[str, Given]]]

    @property
    def id(self) -> object:
        return self.about.get("id") or "graph"


def recognizes(name: str, head: bytes) -> bool:
    """True if a file begins like one of these."""
    return b"markitect.memory." in head[:4000]


def read(sources: Sequence[Source]) -> Iterator[Found]:
    """Nodes first, so that the edges of any file find them; then what stands beside them."""
    documents: list[_Document] = []
    for source in sources:
        if source.name.endswith(".json"):
            try:
                yield from _taken(source, documents)
            except BrokenJsonError as error:
                yield Trouble(where=source.name, why=str(error))
    for part in (_nodes, _edges, _settings):
        for document in documents:
            yield from part(document)


def _taken(source: Source, documents: list[_Document]) -> Iterator[Trouble]:
    """Adds a document, if its version is known; what is not an object is left out of it."""
    made = _Document(source.name, {}, {part: [] for part in _PARTS})
    for number, (key, element) in enumerate(elements(source.chunks(), _PARTS), start=1):
        where = f"{source.name}, element {number}"
        if key is not None and key not in _PARTS:
            made.about[key] = element
        elif key is None or not isinstance(element, Mapping):
            yield Trouble(where=where, why="not an object")
        else:
            made.parts[key].append((where, element))
    version = made.about.get("schema_version")
    if version in (SCHEMA, PROFILE_SCHEMA):
        documents.append(made)
        yield from _without_repeats(made)
    else:
        yield Trouble(where=source.name, why=f"it says {version!r}, which this release cannot read")


def _nodes(document: _Document) -> Iterator[Found]:
    said_at = _dates(document)
    for where, given in document.parts["nodes"]:
        id, text, kind = _usable_id(given), text_of(given.get("text")), name_of(given.get("kind"))
        if not text or not given.get("id"):
            yield Trouble(where=where, why="a node without an id or a text")
            continue
        kept = data_of(given, "id", "kind", "text")
        yield from _changes(where, given, {**kept, "id": id, "kind": kind, "text": text})
        policy = given.get("policy")
        yield RecordItem(
            id=id,
            command=short(_earlier(document, given.get("id"))),
            text=text,
            where=where,
            kind=kind,
            tags=names_of(policy.get("labels") or [] if isinstance(policy, Mapping) else []),
            data=kept,
            said_at=said_at.get(str(given.get("id"))),
        )


def _usable_id(given: Given) -> str:
    return _usable(given.get("id"))


def _usable(id: object) -> str:
    """An id as it is, if it can be one here."""
    text = str(id)
    return text if short(text) == text else short(named(FORMAT, text))


def _earlier(document: _Document, id: object) -> str:
    """The id of a node in what an earlier release imported: that of its graph stood before it."""
    return named(FORMAT, document.id, id)


def _dates(document: _Document) -> dict[str, str]:
    """When each node was last changed, by an event."""
    found: dict[str, str] = {}
    for _, event in document.parts["events"]:
        said_at, updates = moment_of(event.get("timestamp")), event.get("node_updates")
        if said_at is not None and isinstance(updates, list):
            found |= {str(one.get("node_id")): said_at for one in updates if _is_object(one)}
    return found


def _is_object(value: object) -> bool:
    return isinstance(value, Mapping)


def _edges(document: _Document) -> Iterator[Found]:
    for where, given in document.parts["edges"]:
        kind, weight = name_of(given.get("kind")), given.get("weight", 1.0)
        if kind is None or not given.get("source") or not given.get("target"):
            yield Trouble(where=where, why="an edge without both ends and a kind")
        elif isinstance(weight, bool) or not isinstance(weight, int | float):
            yield Trouble(where=where, why="an edge whose weight is not a number")
        else:
            ends = given["source"], given["target"]
            source, target = map(_usable, ends)
            kept = data_of(given, *_OF_EDGES)
            said: dict[str, Json] = {"kind": kind, "source": source, "target": target}
            said["id"] = id = _edge_id(given)
            yield from _changes(where, given, {"weight": weight, **kept, **said})
            before, after = (short(_earlier(document, end)) for end in ends)
            yield LinkItem(
                source=source,
                target=target,
                kind=kind,
                weight=weight,
                where=where,
                edge=id,
                data=kept,
                earlier=(before, after),
            )


def _edge_id(given: Given) -> str:
    """The id of an edge; one without an id, and without other fields, is named by its ends."""
    source, target = (_usable(given.get(end)) for end in ("source", "target"))
    plain = unnamed(source, str(given.get("kind")), target)
    id = str(given.get("id") or plain)
    return id if id == plain and not data_of(given, *_OF_EDGES) else _usable(id)


def _settings(document: _Document) -> Iterator[Found]:
    """The events, and the profile or what the graph says about itself."""
    for where, given in document.parts["events"]:
        id, kind = given.get("id"), given.get("kind")
        is_known = given.get("schema_version", EVENT_SCHEMA) == EVENT_SCHEMA
        if not isinstance(id, str) or kind is None or name_of(kind) != kind or not is_known:
            yield Trouble(where=where, why="an event without an id and a kind, or of a later form")
            continue
        kept = data_of(given)
        yield from _changes(where, given, kept)
        yield SettingItem(id=f"{EVENT}/{id}", data=kept, where=where)
    given, where = document.about, document.name
    is_profile = given.get("schema_version") == PROFILE_SCHEMA
    kept = data_of(given, "id" if is_profile else "schema_version")
    if is_profile and not isinstance(given.get("id"), str):
        yield Trouble(where=where, why="a profile without an id")
    elif kept:
        yield from _changes(where, given, {**kept, **{name: given.get(name) for name in _HEAD}})
        id = f"{PROFILE}/{given['id']}" if is_profile else "/".join(ABOUT)
        command = short(named(FORMAT, "document", document.id, id))
        yield SettingItem(id=id, data=kept, where=where, command=command)


def _without_repeats(document: _Document) -> Iterator[Trouble]:
    """Keeps the first of the elements with one id; another that says the same is not named."""
    ids: dict[str, Callable[[Given], str]] = {"edges": _edge_id}
    for part, found in document.parts.items():
        known: dict[str, Given] = {}
        kept = []
        for where, given in found:
            if part != "edges" and not given.get("id"):
                kept.append((where, given))
                continue
            id = ids.get(part, _usable_id)(given)
            if known.setdefault(id, given) is given:
                kept.append((where, given))
            elif known[id] != given:
                yield Trouble(where=where, why=f"{id!r} is there twice; the first one counts")
        found[:] = kept


def _changes(where: str, given: Given, kept: Mapping[str, object]) -> Iterator[Altered]:
    """The fields that cannot be kept as they are."""
    for name, value in given.items():
        if name in kept and kept[name] == value:
            continue
        now = f"it is {kept[name]!r}" if name in ("id", "kind", "source", "target") else _LIMITS
        yield Altered(where=where, why=f"its {name!r} was not kept as it is: {now}")
