"""The episodes of stargraph's SQLite store.

Responsible for the rows of its one table. Leaves reading the file to ``databases`` and storing to
``memory.importing``. Invariant: a row that cannot be read is reported.

A row has ``id``, ``scope_key``, ``content`` (JSON with ``content``, ``agent``, ``user`` and
``session``), ``timestamp`` and ``metadata`` (JSON).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from recollect.exchange import databases
from recollect.exchange.databases import HEADER, Database, Row
from recollect.exchange.items import (
    EpisodeItem,
    Found,
    Source,
    Trouble,
    data_of,
    moment_of,
    name_of,
    named,
    object_of,
    text_of,
)

FORMAT: Final = "stargraph"
_TABLE: Final = "episodes"


def recognizes(name: str, head: bytes) -> bool:
    """True if a file is such a database."""
    return head.startswith(HEADER) and b"scope_key" in head


def read(sources: Sequence[Source]) -> Iterator[Found]:
    """The episodes of a database."""
    return databases.read(sources, _items)


def _items(name: str, database: Database) -> Iterator[Found]:
    if _TABLE not in map(str.lower, database.tables):
        yield Trouble(where=name, why="it has no table of episodes")
        return
    for row in database.rows(_TABLE, FORMAT):
        yield _item(name, row)


def _item(name: str, row: Row) -> Found:
    id, scope, content, said_at, metadata = row.values()
    where = f"{name}, {name_of(id)}"
    given = object_of(_bytes(content))
    text = text_of(given.get("content")) if given else ""
    if given is None or not text:
        return Trouble(where=where, why="an episode without content")
    kept = data_of(object_of(_bytes(metadata))) | data_of({"source_node": given.get("source_node")})
    return EpisodeItem(
        id=named(FORMAT, scope, id),
        text=text,
        where=where,
        role="assistant" if given.get("agent") else "user",
        said_at=moment_of(said_at),
        session=name_of(given.get("session")),
        metadata=kept,
        user=name_of(given.get("user")),
        agent=name_of(given.get("agent")),
    )


def _bytes(value: object) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    return value if isinstance(value, bytes) else b""
