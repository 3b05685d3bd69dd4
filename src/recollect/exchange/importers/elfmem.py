"""What elfmem leaves: its database, and its ledger of JSON lines.

Responsible for these lines, one for each event in the life of a block, and for telling both apart.
Leaves the tables of a database to ``elfmem_database`` and storing to ``memory.exchange.imports``.
Invariant: a line gives the same item whenever it is read. A line has ``t``, ``s``, ``k`` (the kind
of event) and ``id``; most have no text, and are kept as what happened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from recollect.exchange.given import Given
from recollect.exchange.importers import databases
from recollect.exchange.importers.databases import BESIDE, HEADER, is_database
from recollect.exchange.importers.elfmem_database import items_of
from recollect.exchange.items import (
    EpisodeItem,
    Found,
    RecordItem,
    Source,
    Trouble,
    named,
    objects_of,
    text_of,
)

FORMAT: Final = "elfmem"
_TABLES: Final = (b"block_tags", b"system_config")
_TEXTS: Final = ("content", "text", "summary")


def recognizes(name: str, head: bytes) -> bool:
    """True if a file begins like one of these."""
    if head.startswith(HEADER):
        return all(table in head for table in _TABLES)
    first = head.lstrip()[:200].replace(b" ", b"")
    return first.startswith(b'{"t":') and b'"k":' in first and b'"s":' in first


def read(sources: Sequence[Source]) -> Iterator[Found]:
    """The blocks of a database, and the events of a ledger."""
    yield from databases.read(sources, items_of)
    for source in sources:
        if is_database(source) or source.name.endswith(BESIDE):
            continue
        for found in objects_of(source):
            yield from [found] if isinstance(found, Trouble) else _items(*found)


def _items(where: str, line: dict[str, object]) -> Iterator[Found]:
    given = Given(where, line)
    kind, block = given.name("k"), given.name("id")
    if kind is None:
        yield Trouble(where=where, why="an event without a kind")
        return
    of_text = next((name for name in _TEXTS if text_of(line.get(name))), None)
    if of_text is not None:
        yield from _record(given, block, of_text)
        return
    item = EpisodeItem(
        id=named(FORMAT, line.get("t"), line.get("s"), kind, block),
        text=f"{kind} of block {block}" if block else kind,
        where=where,
        role="tool",
        said_at=given.moment("t"),
        metadata=given.rest("t"),
    )
    yield from given.changes()
    yield item


def _record(given: Given, block: str | None, of_text: str) -> Iterator[Found]:
    text = given.text(of_text)
    item = RecordItem(
        id=named(FORMAT, block or text),
        text=text,
        where=given.where,
        tags=given.names("tags"),
        confidence=given.fraction("confidence"),
        data=given.rest(of_text, "t", "tags", "confidence"),
        said_at=given.moment("t"),
    )
    yield from given.changes()
    yield item
