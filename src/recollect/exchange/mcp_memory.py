"""The knowledge graph of MCP's memory server: ``memory.json``, one JSON object on each line.

Responsible for entities, their observations and the relations between them. Leaves storing to
``memory.importing``. Invariant: an entity, an observation and a relation have the same id in every
file that has them.

A line is ``{"type": "entity", "name", "entityType", "observations": [...]}`` or
``{"type": "relation", "from", "to", "relationType"}``. Relations become links, which join records,
so each entity is a record too. They also become sentences, because recall reads texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from recollect.exchange.items import (
    Found,
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

FORMAT: Final = "mcp-memory"


def recognizes(name: str, head: bytes) -> bool:
    """True if a file begins like one of these."""
    first = head.lstrip()[:200]
    return first.startswith(b"{") and (b'"type":"entity"' in first or b'"type": "entity"' in first)


def read(sources: Sequence[Source]) -> Iterator[Found]:
    """The entities, observations and relations of a graph."""
    for source in sources:
        for found in objects_of(source):
            if isinstance(found, Trouble):
                yield found
            else:
                yield from _items(*found)


def _items(where: str, line: dict[str, object]) -> Iterator[Found]:
    if line.get("type") == "entity":
        yield from _entity(where, line)
    elif line.get("type") == "relation":
        yield from _relation(where, line)
    else:
        yield Trouble(where=where, why="neither an entity nor a relation")


def _entity(where: str, line: dict[str, object]) -> Iterator[Found]:
    name, kind = name_of(line.get("name")), name_of(line.get("entityType"))
    if name is None:
        yield Trouble(where=where, why="an entity without a name")
        return
    tags = () if kind is None else (kind,)
    yield RecordItem(
        id=_entity_id(name),
        text=f"{name} ({kind})" if kind else name,
        where=where,
        kind="entity",
        about=name,
        tags=tags,
        data={"entity": name, "type": kind or ""},
    )
    for observation in listed(line.get("observations")):
        text = text_of(observation)
        if not text:
            yield Trouble(where=where, why="an observation that is not a text")
            continue
        id = named(FORMAT, "observation", name, text)
        yield RecordItem(id=id, text=text, where=where, about=name, tags=tags)


def _relation(where: str, line: dict[str, object]) -> Iterator[Found]:
    source, target = name_of(line.get("from")), name_of(line.get("to"))
    kind = name_of(line.get("relationType"))
    if source is None or target is None or kind is None:
        yield Trouble(where=where, why="a relation without both ends and a type")
        return
    yield RecordItem(
        id=named(FORMAT, "relation", source, kind, target),
        text=f"{source} {kind.replace('_', ' ')} {target}",
        where=where,
        kind="relation",
        about=source,
        data={"from": source, "relation": kind, "to": target},
    )
    if source != target:
        ends = _entity_id(source), _entity_id(target)
        yield LinkItem(source=ends[0], target=ends[1], kind=kind, where=where)


def _entity_id(name: str) -> str:
    return named(FORMAT, "entity", name)
