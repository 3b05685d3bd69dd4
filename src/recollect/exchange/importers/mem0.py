"""Memories of mem0: what ``Memory.get_all`` and the platform's export give, as JSON.

Responsible for the fields of a memory and for the triples of its graph. Leaves storing to
``memory.exchange.imports``. Invariants: a memory has the id that it has there; its user, agent
and run stay its user, agent and session.

The document is a list of memories, or an object with the list under ``results`` or ``memories``,
and triples under ``relations``; or one memory on each line. A memory has ``id``, ``memory`` (or
``text`` or ``data``), ``user_id``, ``agent_id``, ``run_id``, ``metadata``, ``categories``,
``created_at``, ``updated_at``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from recollect.exchange.given import Given
from recollect.exchange.items import (
    Digits,
    Found,
    LeftOut,
    RecordItem,
    Source,
    Trouble,
    moment_of,
    name_of,
    named,
    names_of,
    objects_of,
    text_of,
)
from recollect.exchange.json_stream import BrokenJsonError, elements
from recollect.model.validate import Json

FORMAT: Final = "mem0"
IS_WHOLE: Final = True
_MEMORIES: Final = (None, "results", "memories", "data")
_SIGNS: Final = re.compile(
    rb'"(?:memory|relations)"\s*:.*"(?:user_id|agent_id|run_id|created_at|relationship)"'
    rb'|"(?:user_id|agent_id|run_id|created_at|id)"\s*:.*"memory"\s*:',
    re.DOTALL,
)
_TEXTS: Final = ("memory", "text", "data")
_OWN: Final = ("id", "memory", "text", "metadata", "user_id", "agent_id", "run_id", "hash", "score")


def recognizes(name: str, head: bytes) -> bool:
    """True if a file begins like one of these."""
    first = head.lstrip()[:4000]
    return first[:1] in (b"[", b"{") and _SIGNS.search(first) is not None


def read(sources: Sequence[Source]) -> Iterator[Found]:
    """The memories and triples of an export."""
    seen: dict[int, int] = {}  # hashes of ids, each with that of what it said first
    for found in _all(sources):
        if isinstance(found, RecordItem):
            said = hash((found.text, found.user))
            if seen.setdefault(hash(found.id), said) != said:
                yield Trouble(where=found.where, why="its id stands in it twice; the first counts")
                continue
        yield found


def _all(sources: Sequence[Source]) -> Iterator[Found]:
    for source in sources:
        if source.name.endswith((".jsonl", ".ndjson")):
            for found in objects_of(source):
                yield from [found] if isinstance(found, Trouble) else _memory(*found)
            continue
        number = 0
        try:
            for key, element in elements(source.chunks()):
                number += 1
                where = f"{source.name}, element {number}"
                if key == "next" and element is not None:
                    yield LeftOut(what="further pages of the export, which are other files")
                elif key == "relations" and isinstance(element, Mapping):
                    yield from _triple(where, element)
                elif key in _MEMORIES and isinstance(element, Mapping):
                    yield from _memory(where, element)
                elif key in _MEMORIES or isinstance(element, Mapping):
                    yield Trouble(where=where, why="neither a memory nor a relation")
        except BrokenJsonError as error:
            yield Trouble(where=source.name, why=str(error))


def _memory(where: str, fields: Mapping[str, object]) -> Iterator[Found]:
    of_text = next((name for name in _TEXTS if text_of(fields.get(name))), None)
    if of_text is None:
        yield Trouble(where=where, why="a memory without a text")
        return
    given = Given(where, fields)
    text = given.text(of_text)
    others = {name for name in _OWN if name not in _TEXTS}
    said = given.rest(*others, of_text).items()
    own: dict[str, Json] = {name: value for name, value in said if value not in (None, [], {}, "")}
    metadata = given.data("metadata")
    for name in metadata.keys() & own.keys():
        date = moment_of(metadata[name])
        if metadata[name] != own[name] and (date is None or date != moment_of(own[name])):
            given.note(f"metadata.{name}", "the memory has a field of this name, which is kept")
    item = RecordItem(
        id=named(FORMAT, _id(fields.get("id")) or text),
        text=text,
        where=where,
        tags=names_of(fields.get("categories") or []),
        data=metadata | own,
        said_at=moment_of(fields.get("updated_at")) or moment_of(fields.get("created_at")),
        user=given.name("user_id"),
        agent=given.name("agent_id"),
        session=given.name("run_id"),
    )
    yield from given.changes()
    yield item


def _id(given: object) -> object:
    return given.text if isinstance(given, Digits) else given


def _triple(where: str, given: Mapping[str, object]) -> Iterator[Found]:
    """A relation of mem0's graph, as a sentence about its source."""
    source, target = name_of(given.get("source")), name_of(given.get("target"))
    target = target or name_of(given.get("destination"))
    kind = name_of(given.get("relationship")) or name_of(given.get("relation"))
    if source is None or target is None or kind is None:
        yield Trouble(where=where, why="a relation without both ends and a type")
        return
    yield from Given(where, given).altered(
        "source", "target", "destination", "relationship", "relation", "user_id"
    )
    yield RecordItem(
        id=named(FORMAT, "relation", source, kind, target),
        text=f"{source} {kind.replace('_', ' ')} {target}".lower().replace("_", " "),
        where=where,
        kind="relation",
        about=source,
        data={"from": source, "relation": kind, "to": target},
        user=name_of(given.get("user_id")),
    )
