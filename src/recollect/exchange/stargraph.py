"""The episodes of stargraph's SQLite store.

Responsible for the rows of its one table, as ``contracts.episodic`` stores them. Leaves storing to
``memory.importing``. Invariants: an episode keeps its id and its scope, or is reported; the
database is read from a copy in memory, for a limited time; nothing that it computes is read, such
as a view, and no more than the file can hold; a row that cannot be read is reported.

A row has ``id``, ``scope_key``, ``content`` (JSON with ``content``, ``agent``, ``user`` and
``session``), ``timestamp`` and ``metadata`` (JSON).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from importlib.resources import files
from typing import Final

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
    whole,
)
from recollect.model.validate import Json

FORMAT: Final = "stargraph"
KEY: Final = "episodic"  # of an episode's metadata: what it has no field for
_SCOPE: Final = ("user", "session", "agent")
_HEADER: Final = b"SQLite format 3\x00"
_NO_LOG: Final = b"\x01\x01"  # in a header: no log beside the file, which a copy has not
_MAX_BYTES: Final = 134_217_728
_STEPS: Final = 100_000
_STEPS_MAX_COUNT: Final = 10_000  # of so many steps each: a damaged table may have no end


def recognizes(name: str, head: bytes) -> bool:
    """True if a file is such a database."""
    return head.startswith(_HEADER) and b"scope_key" in head


def read(sources: Sequence[Source]) -> Iterator[Found]:
    """The episodes of a database."""
    for source in sources:
        data = whole(source, _MAX_BYTES)
        if data is None:
            yield Trouble(where=source.name, why="the file is too large")
        elif data.startswith(_HEADER):
            yield from _rows(source.name, data)


def _rows(name: str, data: bytes) -> Iterator[Found]:
    left, room = _STEPS_MAX_COUNT, len(data)

    def stop() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    with closing(sqlite3.connect(":memory:")) as database:
        database.set_progress_handler(stop, _STEPS)
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 2 * len(data))  # UTF-16 may grow
        database.text_factory = lambda text: text.decode("utf-8", "replace")
        try:
            database.deserialize(data[:18] + _NO_LOG + data[20:])
            if not database.execute(_statement("stargraph_table")).fetchone()[0]:
                yield Trouble(where=name, why="it has no table of episodes")
                return
            for row in database.execute(_statement("stargraph")):
                room -= sum(len(cell) for cell in row if isinstance(cell, str | bytes))
                if room < 0:
                    yield Trouble(where=name, why="the database is damaged: it repeats its rows")
                    return
                yield _item(name, row)
        except (sqlite3.Error, MemoryError, OverflowError, UnicodeError) as error:
            yield Trouble(where=name, why=f"the database could not be read: {error}")


def _statement(name: str) -> str:
    return files("recollect.exchange").joinpath(f"sql/{name}.sql").read_text("utf-8")


def _item(name: str, row: tuple[object, ...]) -> Found:
    id, scope, content, said_at, metadata = row
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
