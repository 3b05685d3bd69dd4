"""SQLite as an engine for the index.

Responsible for connections, their settings and running named statements. Leaves what the
statements mean to ``index``. Invariant: the ledger is the durable one; the index gives up its own
fsync (``synchronous = NORMAL``) because it can always be folded again.
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar
from urllib.parse import quote

from recollect.errors import IntegrityError, Unavailable
from recollect.index.rows import Row, Undecodable
from recollect.index.statements import INDEX_VERSION, lookups, schema, statements
from recollect.index.tables import Params
from recollect.index.text import made_with
from recollect.model.events import GENESIS

if TYPE_CHECKING:  # the filter is loaded only when somebody filters
    from recollect.index.filter import Filter

P = ParamSpec("P")
T = TypeVar("T")

_BUSY_TIMEOUT_S: Final = 30.0
_NOTHING: Final[Params] = {}
_CHECK: Final = "check that the folder can be written and the disk has room, then try again"

_ASIDE: Final = ("journal_mode = OFF", "synchronous = OFF", "cache_size = -16000")
# An error of the disk is among them: a new index lies elsewhere on it.
_DAMAGE_CODES: Final = (0, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR)

_DENIED_CODES: Final = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM)
_NUMBERS: Final = count()

FOREIGN: Final = (OSError, sqlite3.Error, Undecodable)  # what ``as_ours`` makes an error of ours
FileId = tuple[int, int]  # device and inode


def _decoding(work: Callable[P, T]) -> Callable[P, T]:
    """Reports damage that Python's driver could not decode as SQLite reports other damage.

    It is a text that is not UTF-8, or a message that quotes a damaged schema.
    """

    @wraps(work)
    def decoding(*args: P.args, **named: P.kwargs) -> T:
        try:
            return work(*args, **named)
        except UnicodeDecodeError as error:
            found = sqlite3.DatabaseError(f"the index holds text that is not UTF-8: {error}")
            found.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise found from error

    return decoding


class Moved(sqlite3.OperationalError):
    """The index is not there, or no longer the one that was looked at; it is not damaged."""


class SqliteDb:
    """One connection that knows statements by name."""

    def __init__(self, path: Path | str, *, pragmas: Sequence[str], how: str = "mode=rw") -> None:
        self.file_id = file_id(path)
        self._path = path
        self._connection = sqlite3.connect(
            f"file:{quote(str(path))}?{how}" if self.file_id else path,
            uri=self.file_id is not None or str(path).startswith("file:"),
            timeout=_BUSY_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        self._statements = statements()
        self._connection.create_function("position_mark", 4, _position_mark, deterministic=True)
        try:
            self._set(pragmas)
            if file_id(path) != self.file_id:
                raise Moved("the index was replaced while it was opened")
        except sqlite3.Error:
            self._connection.close()
            raise

    @_decoding
    def _set(self, pragmas: Sequence[str]) -> None:
        """The settings of this connection."""
        for pragma in pragmas:
            self._connection.execute(f"PRAGMA {pragma}")

    @_decoding
    def rows(self, name: str, params: Params = _NOTHING, where: Filter | None = None) -> list[Row]:
        """All rows of a read; with a filter at least those that it matches."""
        text = self._statements[name]
        if where is not None and isinstance(params, Mapping):
            from recollect.index.filter.sql import narrowed

            text, more = narrowed(text, where)
            params = {**params, **more}
        return self._connection.execute(text, params).fetchall()

    @_decoding
    def one(self, name: str, params: Params = _NOTHING) -> Row | None:
        """The first row of a read, or None."""
        row: Row | None = self._connection.execute(self._statements[name], params).fetchone()
        return row

    @_decoding
    def stream(self, name: str, params: Params) -> Iterable[Row]:
        """The rows of a read, without holding them all."""
        return self._connection.execute(self._statements[name], params)

    @_decoding
    def many(self, name: str, rows: Sequence[Row]) -> None:
        """One write for each of these rows, in order."""
        if len(rows) == 1:
            self._connection.execute(self._statements[name], rows[0])
        else:
            self._connection.executemany(self._statements[name], rows)

    @_decoding
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

    def another(self) -> SqliteDb:
        """A further connection to an index in memory."""
        return SqliteDb(self._path, pragmas=("temp_store = MEMORY",))

    def copy(self) -> SqliteDb:
        """Every page as it lies there, in a file of SQLite's own that has no name."""
        copy = SqliteDb("", pragmas=_ASIDE)
        try:
            self._connection.backup(copy._connection)
        except BaseException:
            copy.close()
            raise
        return copy

    def own_check(self) -> str | None:
        """What SQLite and its full text find wrong with their own pages; None if nothing."""
        try:
            (found,) = self._connection.execute("PRAGMA integrity_check(1)").fetchone()
            if found == "ok":
                for name in ("check_recallable", "check_rest"):
                    self.run(name)
                return None
        except (sqlite3.Error, UnicodeDecodeError) as error:
            return str(error)
        return str(found)

    @property
    def in_transaction(self) -> bool:
        """True between a begin and its end."""
        return self._connection.in_transaction

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()


def open_index(path: Path) -> SqliteDb:
    """An existing index, for writing or reading; a missing one is not made by looking."""
    return _existing(
        path,
        (
            "journal_mode = WAL",
            "synchronous = NORMAL",
            "temp_store = MEMORY",
            "cache_size = -16000",
        ),
    )


def look_into(path: Path) -> SqliteDb:
    """An index of whatever release, to be asked where it stands; no setting of it is changed."""
    return _existing(path, ("schema_version",))


def _existing(path: Path, pragmas: Sequence[str]) -> SqliteDb:
    """Where nothing can be written, SQLite reads a file that has no log beside it as it is."""
    if file_id(path) is None:
        raise Moved("there is no index")
    try:
        return SqliteDb(path, pragmas=pragmas)
    except sqlite3.OperationalError as error:
        if _code(error) not in _DENIED_CODES or _has_log(path):
            raise
    return SqliteDb(path, pragmas=("temp_store = MEMORY",), how="mode=ro&immutable=1")


def _has_log(path: Path) -> bool:
    """True if writes are there that are not in the index's own file yet."""
    try:
        return os.stat(f"{path}-wal").st_size > 0
    except OSError:
        return False


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


def scratch_index(space: str) -> SqliteDb:
    """An index for one comparison, in a file of SQLite's own that has no name."""
    db = SqliteDb("", pragmas=_ASIDE)
    db.create(space)
    return db


def shared_index(space: str) -> SqliteDb:
    """An index in memory that several connections read; it goes with the first one."""
    name = f"file:recollect-{os.getpid()}-{next(_NUMBERS)}?mode=memory&cache=shared"
    db = SqliteDb(name, pragmas=("temp_store = MEMORY",))
    db.create(space)
    return db


def is_damage(error: Exception) -> bool:
    """True if the index itself cannot be used; building it again helps."""
    if isinstance(error, Undecodable):
        return True
    if not isinstance(error, sqlite3.DatabaseError):
        return False
    if isinstance(error, Moved | sqlite3.ProgrammingError):
        return False
    return _code(error) in _DAMAGE_CODES


def _code(error: sqlite3.Error) -> int:
    """What SQLite says it is; 0 for what its driver noticed, such as text that is not UTF-8."""
    code: int = getattr(error, "sqlite_errorcode", None) or 0
    return code & 0xFF


def is_busy(error: Exception) -> bool:
    """True if another process holds the index: waiting helps, building it again does not."""
    return isinstance(error, sqlite3.Error) and _code(error) in (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
    )


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
    if isinstance(error, Undecodable):
        return IntegrityError(
            f"the index is still damaged after a rebuild: {error}",
            hint="check the disk, then run `recollect doctor`",
        )
    return error


def _position_mark(*cells: str | int) -> int:
    """A check over where an index stands, so that a changed byte is not taken for a lost event."""
    return zlib.crc32(repr(cells).encode())
