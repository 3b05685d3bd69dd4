"""SQLite files of other programs, read from a copy in memory.

Responsible for reading the plain tables of such a file and nothing else in it. Leaves what a row
means to the format. Invariants: the file is never opened, so nothing beside it is made or followed;
no view, trigger, virtual table or computed column is run; what is read is limited by the size of
the file and by a number of steps.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from importlib.resources import files
from shlex import quote
from typing import Final

from recollect.exchange.items import Found, Source, Trouble, whole

HEADER: Final = b"SQLite format 3\x00"
_LOGS: Final = ("-wal", "-journal")  # after the name of a file: what is not settled in it yet
BESIDE: Final = (*_LOGS, "-shm")
_MAX_BYTES: Final = 536_870_912
_VERSIONS: Final = slice(18, 20)  # in a header: whether there is a log
_NO_LOG: Final = b"\x01\x01"  # a copy has none beside it
_UNFINISHED: Final = (
    "its last changes are still in the log beside it, {log}: end the program that uses it, run "
    "`sqlite3 {name} 'pragma wal_checkpoint(truncate); pragma integrity_check'`, then import it "
    "again"
)
_STEPS: Final = 100_000
_STEPS_MAX_COUNT: Final = 10_000  # of so many steps each: a damaged table may have no end

Row = dict[str, object]


class UnreadableError(Exception):
    """The database is damaged, or holds more rows than its file can."""


class Database:
    """The copy of one file."""

    def __init__(self, connection: sqlite3.Connection, size: int) -> None:
        self._connection = connection
        self._room = size
        self.not_utf8 = 0  # texts that were read with signs for what could not be
        connection.text_factory = self._text
        self._tables = [str(name) for (name,) in self._run("tables")]

    @property
    def tables(self) -> Sequence[str]:
        """The names of what is stored as it is read: no views, and nothing that is computed."""
        return self._tables

    def rows(self, table: str, statement: str) -> Iterator[Row]:
        """The rows of a table, read by a named statement; none if it is not a plain table."""
        if table.lower() not in (name.lower() for name in self._tables):
            return
        for row, names in self._read(statement):
            self._room -= sum(len(cell) for cell in row if isinstance(cell, str | bytes))
            if self._room < 0:
                raise UnreadableError("the database is damaged: it repeats its rows")
            yield dict(zip(names, row, strict=True))

    def _text(self, raw: bytes) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            self.not_utf8 += 1
            return raw.decode("utf-8", "replace")

    def _run(self, statement: str) -> list[tuple[object, ...]]:
        return [row for row, _ in self._read(statement)]

    def _read(self, statement: str) -> Iterator[tuple[tuple[object, ...], list[str]]]:
        try:
            cursor = self._connection.execute(_statements()[statement])
            names = [str(column[0]).lower() for column in cursor.description or ()]
            for row in cursor:
                yield row, names
        except (sqlite3.Error, MemoryError, OverflowError, UnicodeError) as error:
            raise UnreadableError(f"the database could not be read: {error}") from error


def read(
    sources: Sequence[Source], items: Callable[[str, Database], Iterator[Found]]
) -> Iterator[Found]:
    """What ``items`` finds in those of the files that are databases."""
    logs = {one.name for one in sources if one.name.endswith(_LOGS) and any(one.chunks())}
    for source in sources:
        if not is_database(source):
            continue
        log = next((source.name + end for end in _LOGS if source.name + end in logs), None)
        if log is not None:
            yield Trouble(
                where=source.name, why=_UNFINISHED.format(name=quote(source.name), log=log)
            )
            continue
        data = whole(source, _MAX_BYTES)
        if data is None:
            yield Trouble(where=source.name, why="the file is too large")
            continue
        try:
            with opened(data) as database:
                yield from items(source.name, database)
        except UnreadableError as error:
            yield Trouble(where=source.name, why=str(error))


def is_database(source: Source) -> bool:
    """True if a file begins like a database."""
    head = b""
    for chunk in source.chunks():
        head += chunk
        if len(head) >= len(HEADER):
            break
    return head.startswith(HEADER)


@contextmanager
def opened(data: bytes) -> Iterator[Database]:
    """A copy of a database; raises ``UnreadableError`` if it cannot be read as one."""
    left = _STEPS_MAX_COUNT

    def stop() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    copy = bytearray(data)
    copy[_VERSIONS] = _NO_LOG
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.set_progress_handler(stop, _STEPS)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 2 * len(data))  # UTF-16 may grow
        try:
            connection.deserialize(copy)
            connection.execute(_statements()["distrust"])
        except (sqlite3.Error, MemoryError, OverflowError) as error:
            raise UnreadableError(f"the database could not be read: {error}") from error
        yield Database(connection, len(data))


@cache
def _statements() -> dict[str, str]:
    """The statements by their names, each after a line ``-- name``."""
    text = files("recollect.exchange").joinpath("sql/databases.sql").read_text("utf-8")
    parts = (part.split("\n", 1) for part in text.split("-- ")[1:])
    return {name.strip(): statement.strip().rstrip(";") for name, statement in parts}
