"""The episodes of stargraph's SQLite store.

Responsible for the rows of its one table, as ``contracts.episodic`` stores them. Leaves reading the
file to ``databases`` and storing to ``memory.exchange.imports``. Invariants: an episode keeps its
id and its scope, or is reported; a row that cannot be read is reported.

A row has ``id``, ``scope_key``, ``content`` (JSON with ``content``, ``agent``, ``user`` and
``session``), ``timestamp`` and ``metadata`` (JSON).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from recollect.exchange.importers import databases
from recollect.exchange.importers.databases import HEADER, Database, Row
from recollect.exchange.injected import storable
from recollect.exchange.items import (
    EpisodeItem,
    Found,
    Source,
    Trouble,
    data_of,
    kept,
    moment_of,
    name_of,
    named,
    object_of,
)
from recollect.model.validate import Json

FORMAT: Final = "stargraph"
KEY: Final = "episodic"  # of an episode's metadata: what it has no field for
_SCOPE: Final = ("user", "session", "agent")
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
    given = object_of(_bytes(content)) or {}
    text = given.get("content")
    if not isinstance(text, str) or not text.strip():
        return Trouble(where=where, why="an episode without content")
    user, session, agent = names = [name_of(given.get(part)) for part in _SCOPE]
    if names != [given.get(part) or None for part in _SCOPE]:  # it would be of another scope
        return Trouble(where=where, why="its user, session or agent is not a name as it stands")
    node = given.get("source_node")
    own: dict[str, Json] = {"source_node": storable(node)} if isinstance(node, str) else {}
    return EpisodeItem(
        id=kept(FORMAT, id) if isinstance(id, str) else named(FORMAT, scope, id),
        name=named(FORMAT, scope, id),
        text=storable(text),
        where=where,
        role="assistant",  # what a node of a graph tells
        said_at=moment_of(said_at),
        metadata=data_of(object_of(_bytes(metadata)), KEY) | ({KEY: own} if own else {}),
        user=user,
        session=session,
        agent=agent,
    )


def _bytes(value: object) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    return value if isinstance(value, bytes) else b""
