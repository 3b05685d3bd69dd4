"""SQLite as an engine for the index.

Responsible for connections, their settings and running named statements. Leaves what the
statements mean to ``index``. Invariant: the ledger is the durable one; the index gives up its own
fsync (``synchronous = NORMAL``) because it can always be folded again.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from recollect.errors import Unavailable
from recollect.index.rows import Row
from recollect.index.statements import INDEX_VERSION, lookups, schema, statements
from recollect.index.tables import Params
from recollect.index.text import made_with
from recollect.model.events import GENESIS

if TYPE_CHECKING:  # the filter is loaded only when somebody filters
    from recollect.index.filter import Filter

_BUSY_TIMEOUT_S: Final = 30.0
_NOTHING: Final[Params] = {}
_CHECK: Final = "check that the folder can be written and the disk has room, then try again"

FileId = tuple[int, int]  # device and inode


class SqliteDb:
    """One connection that knows statements by name."""

    def __init__(self, path: Path | str, *, pragmas: Sequence[str]) -> None:
        self.file_id = file_id(path)
        self._connection = sqlite3.connect(
            f"file:{quote(str(path))}?mode=rw" if self.file_id else path,
            uri=self.file_id is not None,
            timeout=_BUSY_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        self._statements = statements()
        try:
            for pragma in pragmas:
                self._connection.execute(f"PRAGMA {pragma}")
            if file_id(path) != self.file_id:
                raise sqlite3.OperationalError("the index was replaced while it was opened")
        except sqlite3.Error:
            self._connection.close()
            raise

    def rows(self, name: str, params: Params = _NOTHING, where: Filter | None = None) -> list[Row]:
        """All rows of a read; with a filter at least those that it matches."""
        if where is None or not isinstance(params, Mapping):
            return self._connection.execute(self._statements[name], params).fetchall()
        from recollect.index.filter_sql import narrowed

        text, more = narrowed(self._statements[name], where)
        return self._connection.execute(text, {**params, **more}).fetchall()

    def one(self, name: str, params: Params = _NOTHING) -> Row | None:
        """The first row of a read, or None."""
        row: Row | None = self._connection.execute(self._statements[name], params).fetchone()
        return row

    def stream(self, name: str, params: Params) -> Iterable[Row]:
        """The rows of a read, without holding them all."""
        return self._connection.execute(self._statements[name], params)

    def many(self, name: str, rows: Sequence[Row]) -> None:
        """One write for each of these rows, in order."""
        if len(rows) == 1:
            self._connection.execute(self._statements[name], rows[0])
        else:
            self._connection.executemany(self._statements[name], rows)

    def run(self, name: str) -> None:
        """A statement that stands for itself, such as the end of a transaction."""
        self._connection.execute(self._statements[name])

    def create(self, space: str) -> None:
        """Makes the tables of an empty index; ``complete`` makes its lookups."""
        self._connection.executescript(schema())
        row = (INDEX_VERSION, space, GENESIS.seq, GENESIS.hash, GENESIS.at, 0, 0, 0)
        self.many("put_position", [row])
        self.many("put_made_with", [(made_with(),)])

    def complete(self) -> None:
        """Makes the lookups, and of each shelf one piece, before the first decision or read.

        What a build leaves of full text in many pieces, the next writes would have to merge.
        """
        self._connection.executescript(lookups())
        for name in ("merge_recallable", "merge_rest"):
            self.run(name)

    @property
    def in_transaction(self) -> bool:
        """True between a begin and its end."""
        return self._connection.in_transaction

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()


def open_index(path: Path) -> SqliteDb:
    """An existing index, for writing or reading; a missing one is not made by looking."""
    if not path.exists():
        raise sqlite3.OperationalError("there is no index")
    return SqliteDb(
        path,
        pragmas=(
            "journal_mode = WAL",
            "synchronous = NORMAL",
            "temp_store = MEMORY",
            "cache_size = -16000",
        ),
    )


def new_index(path: Path, space: str) -> SqliteDb:
    """An index to be filled in one go, completed and moved into place: it needs no journal.

    The file is there already, empty, so that only its owner may read it.
    """
    db = SqliteDb(
        path,
        pragmas=(
            "journal_mode = OFF",
            "synchronous = OFF",
            "temp_store = MEMORY",
            "cache_size = -64000",
            "locking_mode = EXCLUSIVE",
        ),
    )
    db.create(space)
    return db


def memory_index(space: str) -> SqliteDb:
    """An index that lives as long as its connection."""
    db = SqliteDb(":memory:", pragmas=("temp_store = MEMORY",))
    db.create(space)
    db.complete()
    return db


def is_busy(error: sqlite3.Error) -> bool:
    """True if somebody else holds the index: waiting helps, building it anew does not."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def file_id(path: Path | str) -> FileId | None:
    """Which file stands at a path now; None if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def as_ours(error: Exception) -> Exception:
    """An error of a driver or the system as one of ours."""
    if isinstance(error, OSError | sqlite3.Error):
        return Unavailable(f"the workspace could not be used: {error}", hint=_CHECK)
    return error
