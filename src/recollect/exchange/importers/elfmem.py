"""What elfmem leaves: its database, and its ledger of JSON lines.

Responsible for these lines, one for each event in the life of a block, and for telling both apart.
Leaves the tables of a database to ``elfmem_database`` and storing to ``memory.exchange.imports``.
Invariant: a line gives the same item whenever it is read. A line has ``t``, ``s``, ``k`` (the kind
of event) and ``id``; most have no text, and are kept as what happened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from recollect.exchange.importers import databases
from recollect.exchange.importers.databases import BESIDE, HEADER, is_database
from recollect.exchange.importers.elfmem_database import items_of
from recollect.exchange.items import (
    EpisodeItem,
    Found,
    RecordItem,
    Source,
    Trouble,
    data_of,
    fraction_of,
    moment_of,
    name_of,
    named,
    names_of,
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
            yield found if isinstance(found, Trouble) else _item(*found)


def _item(where: str, line: dict[str, object]) -> Found:
    kind, block = name_of(line.get("k")), name_of(line.get("id"))
    if kind is None:
        return Trouble(where=where, why="an event without a kind")
    text = next((found for name in _TEXTS if (found := text_of(line.get(name)))), "")
    said_at = moment_of(line.get("t"))
    if text:
        return RecordItem(
            id=named(FORMAT, block or text),
            text=text,
            where=where,
            tags=names_of(line.get("tags") or []),
            confidence=fraction_of(line.get("confidence")),
            data=data_of(line, *_TEXTS, "t", "tags", "confidence"),
            said_at=said_at,
        )
    return EpisodeItem(
        id=named(FORMAT, line.get("t"), line.get("s"), kind, block),
        text=f"{kind} of block {block}" if block else kind,
        where=where,
        role="tool",
        said_at=said_at,
        metadata=data_of(line, "t"),
    )
