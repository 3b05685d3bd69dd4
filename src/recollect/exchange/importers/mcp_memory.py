"""The knowledge graph of MCP's memory server: ``memory.json``, one JSON object on each line.

Responsible for entities, their observations and the relations between them. Leaves storing to
``memory.exchange.imports``. Invariant: an entity, an observation and a relation have the same id
in every file that has them.

A line is ``{"type": "entity", "name", "entityType", "observations": [...]}`` or
``{"type": "relation", "from", "to", "relationType"}``. Relations become links, which join records,
so each entity is a record too, with its name as its text. They also become sentences, because
recall reads texts. A file is read twice: the relations of an entity stand anywhere in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from recollect.exchange.given import Given
from recollect.exchange.items import (
    Altered,
    Entity,
    Found,
    LeftOut,
    LinkItem,
    RecordItem,
    Source,
    Trouble,
    listed,
    name_of,
    named,
    objects_of,
    text_of,
)
from recollect.model.validate import Json

FORMAT: Final = "mcp-memory"
IS_WHOLE: Final = True
_UNSTORABLE: Final = "an observation has characters that cannot be stored: \ufffd stands for them"
_KNOWN_MAX_COUNT: Final = 1_000_000  # lines that are held at once
_FIELDS: Final = frozenset(
    ("type", "name", "entityType", "observations", "from", "to", "relationType")
)


def recognizes(name: str, head: bytes) -> bool:
    """True if a file begins like one of these."""
    first = head.lstrip()[:200]
    return first.startswith(b"{") and (b'"type":"entity"' in first or b'"type": "entity"' in first)


def read(sources: Sequence[Source]) -> Iterator[Found]:
    """The entities, observations and relations of a graph."""
    graph = _Graph(sources)
    for source in sources:
        for found in objects_of(source):
            if isinstance(found, Trouble):
                yield found
            else:
                yield from graph.items(*found)


class _Graph:
    """What has to be known before the first entity: how often it occurs, and its relations."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._entities: Counter[str] = Counter()
        self._relations: dict[str, list[_Relation]] = {}
        known = 0
        for found in (one for source in sources for one in objects_of(source)):
            if not isinstance(found, Trouble) and known < _KNOWN_MAX_COUNT:
                self._note(*found)
                known += 1
        if known == _KNOWN_MAX_COUNT:  # nothing is known whole
            self._entities.clear()
            self._relations.clear()

    def _note(self, where: str, line: dict[str, object]) -> None:
        if line.get("type") == "entity" and (name := name_of(line.get("name"))) is not None:
            self._entities[name] += 1
        relation = _relation(where, line) if line.get("type") == "relation" else None
        if relation is not None:
            self._relations.setdefault(relation.source, []).append(relation)

    def items(self, where: str, line: dict[str, object]) -> Iterator[Found]:
        """What a line says. An entity has its relations with it, wherever they stand."""
        if line.get("type") == "entity":
            yield from self._entity(where, line)
        elif line.get("type") == "relation":
            relation = _relation(where, line)
            yield from _cut(where, line, "from", "to", "relationType")
            if relation is None:
                yield Trouble(where=where, why="a relation without both ends and a type")
            elif self._entities[relation.source] != 1:
                yield _sentence(relation)
                yield from _links([relation])
        else:
            yield Trouble(where=where, why="neither an entity nor a relation")
        unknown = line.keys() - _FIELDS
        if unknown:
            yield LeftOut(what="fields that this format does not have", count=len(unknown))

    def _entity(self, where: str, line: dict[str, object]) -> Iterator[Found]:
        name, kind = name_of(line.get("name")), name_of(line.get("entityType"))
        if name is None:
            yield Trouble(where=where, why="an entity without a name")
            return
        yield from _cut(where, line, "name", "entityType")
        tags = () if kind is None else (kind,)
        data: dict[str, Json] = {"entity": name, "type": kind or ""}
        id = _entity_id(name)
        node = RecordItem(
            id=id, text=name, where=where, kind="entity", about=name, tags=tags, data=data
        )
        says: dict[str, RecordItem] = {}
        for observation in listed(line.get("observations")):
            text = text_of(observation)
            if text and isinstance(observation, str) and text != observation.strip():
                yield Altered(where=where, why=_UNSTORABLE)
            if text:
                id = named(FORMAT, "observation", name, text)
                says[id] = RecordItem(id=id, text=text, where=where, about=name, tags=tags)
            else:
                yield Trouble(where=where, why="an observation that is not a text")
        if self._entities[name] == 1:
            relations = self._relations.get(name, [])
            says |= {said.id: said for said in map(_sentence, relations)}
            links = tuple(_links(dict.fromkeys(relations)))
            yield Entity(record=node, says=tuple(says.values()), links=links)
        else:  # it stands in more than one place, so no line says all of it
            yield node
            yield from says.values()


def _cut(where: str, line: dict[str, object], *fields: str) -> Iterator[Altered]:
    """The names that are not kept as they stand."""
    return Given(where, line).altered(*fields)


class _Relation(NamedTuple):
    where: str
    source: str
    kind: str
    target: str


def _relation(where: str, line: dict[str, object]) -> _Relation | None:
    source, target = name_of(line.get("from")), name_of(line.get("to"))
    kind = name_of(line.get("relationType"))
    if source is None or target is None or kind is None:
        return None
    return _Relation(where, source, kind, target)


def _sentence(relation: _Relation) -> RecordItem:
    where, source, kind, target = relation
    return RecordItem(
        id=named(FORMAT, "relation", source, kind, target),
        text=f"{source} {kind.replace('_', ' ')} {target}",
        where=where,
        kind="relation",
        about=source,
        data={"from": source, "relation": kind, "to": target},
    )


def _links(relations: Iterable[_Relation]) -> Iterator[LinkItem]:
    for where, source, kind, target in relations:
        if source != target:
            ends = _entity_id(source), _entity_id(target)
            yield LinkItem(source=ends[0], target=ends[1], kind=kind, where=where)


def _entity_id(name: str) -> str:
    return named(FORMAT, "entity", name)
