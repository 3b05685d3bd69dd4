"""SQLite as an engine for the index.

Responsible for connections, their settings and running named statements. Leaves what the
statements mean to ``index``. Invariant: durability comes from the ledger; the index skips its own
fsync (``synchronous = NORMAL``) because it can always be folded again.
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from itertools import count
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar
from urllib.parse import quote

from recollect.errors import IntegrityError, LimitExceeded, Unavailable
from recollect.index.reads import Reads
from recollect.index.rows import Row, Undecodable
from recollect.index.statements import INDEX_VERSION, lookups, schema, statements
from recollect.index.tables import Params
from recollect.index.words.text import made_with
from recollect.model.events import GENESIS

if TYPE_CHECKING:  # loaded only when a filter is used
    from recollect.index.filter import Filter

P = ParamSpec("P")
T = TypeVar("T")

_BUSY_TIMEOUT_S: Final = 30.0
_NOTHING: Final[Params] = {}
_CHECK: Final = "check that the folder can be written and the disk has room, then try again"
_NOT_YOURS: Final = "use the account that owns it, or a copy that you may read"

_SMALL_PAGE_BYTES: Final = 512
_PAGE_BYTES: Final = 4_096
_SMALL_MAX_BYTES: Final = 1 << 20  # of a ledger
CACHE_BYTES: Final = 16_000 << 10  # of the pages of an index in a file
_WRITABLE_ASIDE: Final = ("journal_mode = MEMORY", "synchronous = OFF", "cache_size = -16000")
_ASIDE: Final = ("journal_mode = OFF", "synchronous = OFF", "cache_size = -16000")
# Disk errors are included: a new index uses other parts of the disk.
_DAMAGE_CODES: Final = (0, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR)

_DENIED_CODES: Final = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM)
_NUMBERS: Final = count()
_STEPS_COUNT: Final = 100_000  # of SQLite's machine, between two looks at the time

FOREIGN: Final = (OSError, sqlite3.Error, Undecodable)  # errors that ``as_ours`` converts
FileId = tuple[int, int]  # device and inode


def _decoding(work: Callable[P, T]) -> Callable[P, T]:
    """Raises decoding errors of Python's driver as the error that SQLite raises for damage.

    They come from text that is not UTF-8, or from a message that quotes a damaged schema.
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


def _too_long() -> LimitExceeded:
    return LimitExceeded(
        "the answer took too long to find",
        hint="ask for less: a smaller limit, fewer words, a narrower filter",
    )


class Moved(sqlite3.OperationalError):
    """The index is missing, or was replaced since it was checked; it is not damaged."""


class SqliteDb:
    """One connection; statements are called by name."""

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
        self._ends: float | None = None
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
        """Applies settings to this connection."""
        for pragma in pragmas:
            self._connection.execute(f"PRAGMA {pragma}")

    @contextmanager
    def ending(self, at: float) -> Iterator[None]:
        """Statements in this block are refused or stopped after an instant of ``monotonic``."""
        before = self._ends
        self._end_at(at)
        try:
            yield
        except sqlite3.OperationalError as error:
            if _code(error) == sqlite3.SQLITE_INTERRUPT:
                raise _too_long() from error
            raise
        finally:
            self._end_at(before)

    def _end_at(self, at: float | None) -> None:
        self._ends = at
        is_late = None if at is None else lambda: monotonic() > at
        self._connection.set_progress_handler(is_late, _STEPS_COUNT)

    def _check_time(self) -> None:
        """Refuses the next statement of a read that took too long."""
        if self._ends is not None and monotonic() > self._ends:
            raise _too_long()

    @_decoding
    def rows(self, name: str, params: Params = _NOTHING, where: Filter | None = None) -> list[Row]:
        """All rows of a read; with a filter, at least those that it matches."""
        self._check_time()
        text = self._statements[name]
        if where is not None and isinstance(params, Mapping):
            from recollect.index.filter.sql import narrowed

            text, more = narrowed(text, where)
            params = {**params, **more}
        return self._connection.execute(text, params).fetchall()

    @_decoding
    def one(self, name: str, params: Params = _NOTHING) -> Row | None:
        """The first row of a read, or None."""
        self._check_time()
        row: Row | None = self._connection.execute(self._statements[name], params).fetchone()
        return row

    @_decoding
    def ones(self, name: str, params: Sequence[Params]) -> list[Row | None]:
        """The first row of the same read for each of these parameters."""
        self._check_time()
        text, execute = self._statements[name], self._connection.execute
        return [execute(text, each).fetchone() for each in params]

    @_decoding
    def stream(self, name: str, params: Params) -> Iterable[Row]:
        """The rows of a read, without holding them all."""
        self._check_time()
        return self._connection.execute(self._statements[name], params)

    @_decoding
    def many(self, name: str, rows: Sequence[Row]) -> None:
        """Runs one write for each of these rows, in order."""
        if len(rows) == 1:
            self._connection.execute(self._statements[name], rows[0])
        else:
            self._connection.executemany(self._statements[name], rows)

    @_decoding
    def run(self, name: str) -> None:
        """Runs a statement without rows, such as the end of a transaction."""
        self._connection.execute(self._statements[name])

    def create(self, space: str) -> None:
        """Creates the tables of an empty index; ``complete`` creates its lookups."""
        self._connection.executescript(schema())
        row = (INDEX_VERSION, space, GENESIS.seq, GENESIS.hash, GENESIS.at, 0, 0, 0)
        self.many("put_position", [row])
        self.many("put_made_with", [(made_with(),)])

    def complete(self) -> None:
        """Creates the lookups and merges each shelf, before the first decision or read.

        Otherwise the next writes would have to merge the many pieces that a build leaves.
        """
        self._connection.executescript(lookups())
        for name in ("merge_recallable", "merge_rest"):
            self.run(name)

    def another(self) -> SqliteDb:
        """Another connection to an index in memory."""
        return SqliteDb(self._path, pragmas=("temp_store = MEMORY",))

    @classmethod
    def of_image(cls, image: bytes) -> SqliteDb:
        """An index in memory with these pages."""
        db = cls(":memory:", pragmas=())
        db._connection.deserialize(image)
        db._set(("temp_store = MEMORY",))
        return db

    def image(self) -> bytes:
        """Every page of an index, in the order in which a file has them."""
        return self._connection.serialize()

    @_decoding
    def size_bytes(self) -> int:
        """How many bytes the pages have."""
        (size,) = self._connection.execute(
            "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
        ).fetchone()
        return int(size)

    def aside(self) -> SqliteDb:
        """The same index in an unnamed temporary file of SQLite, for further writes."""
        return self.copy(pragmas=_WRITABLE_ASIDE)

    def copy(self, pragmas: Sequence[str] = _ASIDE) -> SqliteDb:
        """Copies every page to an unnamed temporary file of SQLite."""
        copy = SqliteDb("", pragmas=pragmas)
        try:
            self._connection.backup(copy._connection)
        except BaseException:
            copy.close()
            raise
        return copy

    def own_check(self) -> str | None:
        """The problem that SQLite's own integrity checks find; None if there is none."""
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
    def is_in_place(self) -> bool:
        """True if the file at its path is still the one that was opened."""
        return file_id(self._path) == self.file_id

    @property
    def in_transaction(self) -> bool:
        """True between a begin and its end."""
        return self._connection.in_transaction

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()


def open_index(path: Path) -> SqliteDb:
    """Opens an existing index, for writing or reading; never creates one."""
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
    """Opens an index of any release to read its position; changes none of its settings."""
    return _existing(path, ("schema_version",))


def _existing(path: Path, pragmas: Sequence[str]) -> SqliteDb:
    """The address of the file; on a read-only disk, a file without a log is opened as is."""
    if file_id(path) is None:
        raise Moved("there is no index")
    try:
        return SqliteDb(path, pragmas=pragmas)
    except sqlite3.OperationalError as error:
        if _code(error) not in _DENIED_CODES or _has_log(path):
            raise
    return SqliteDb(path, pragmas=("temp_store = MEMORY",), how="mode=ro&immutable=1")


def _has_log(path: Path) -> bool:
    """True if there are writes that are not in the index file yet."""
    try:
        return os.stat(f"{path}-wal").st_size > 0
    except OSError:
        return False


def new_index(path: Path, space: str) -> SqliteDb:
    """An index to be filled in one pass, completed and moved into place: it needs no journal.

    The empty file must exist, so that only its owner may read it.
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
    db = SqliteDb(":memory:", pragmas=in_memory(0))
    db.create(space)
    db.complete()
    return db


def in_memory(size: int) -> Sequence[str]:
    """The settings of an index in memory, for a ledger of so many bytes.

    Each of the hundred tables and lookups begins with a page of its own.
    """
    page = _SMALL_PAGE_BYTES if size < _SMALL_MAX_BYTES else _PAGE_BYTES
    return (f"page_size = {page}", "temp_store = MEMORY")


def scratch_index(space: str) -> SqliteDb:
    """An index for one comparison, in an unnamed temporary file of SQLite."""
    db = SqliteDb("", pragmas=_ASIDE)
    db.create(space)
    return db


def shared_index(space: str) -> SqliteDb:
    """An index in memory for several connections; closing the first one removes it."""
    name = f"file:recollect-{os.getpid()}-{next(_NUMBERS)}?mode=memory&cache=shared"
    db = SqliteDb(name, pragmas=("temp_store = MEMORY",))
    db.create(space)
    return db


def is_of_this_release(db: SqliteDb) -> bool:
    """True if the index can be read and has this release's schema and this process's tokens.

    Any other index is rebuilt. Tokens matter because full text removes exactly the tokens that it
    is given: with others than were added, it would keep words of erased texts.
    """
    with suppress(sqlite3.Error, Undecodable):
        position = Reads(db).position()
        if position is None or position.version != INDEX_VERSION:
            return False
        return db.one("get_made_with") == (made_with(),)
    return False


def is_damage(error: Exception) -> bool:
    """True if the index itself is unusable and a rebuild helps."""
    if isinstance(error, Undecodable):
        return True
    if not isinstance(error, sqlite3.DatabaseError):
        return False
    if isinstance(error, Moved | sqlite3.ProgrammingError):
        return False
    return _code(error) in _DAMAGE_CODES


def _code(error: sqlite3.Error) -> int:
    """SQLite's error code; 0 for an error of the driver, such as text that is not UTF-8."""
    code: int = getattr(error, "sqlite_errorcode", None) or 0
    return code & 0xFF


def is_busy(error: Exception) -> bool:
    """True if another process holds the index: waiting helps, a rebuild does not."""
    return isinstance(error, sqlite3.Error) and _code(error) in (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
    )


def file_id(path: Path | str | int) -> FileId | None:
    """The identity of the file at a path, or of an open one; None if there is no file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def as_ours(error: Exception) -> Exception:
    """An error of a driver or the system, converted to one of Recollect's."""
    if isinstance(error, OSError | sqlite3.Error):
        hint = _NOT_YOURS if isinstance(error, PermissionError) else _CHECK
        return Unavailable(f"the workspace could not be used: {error}", hint=hint)
    if isinstance(error, Undecodable):
        return IntegrityError(
            f"the index is still damaged after a rebuild: {error}",
            hint="check the disk, then run `recollect admin doctor`",
        )
    return error


def _position_mark(*cells: str | int) -> int:
    """A checksum of the position of an index, so that a bit flip is not mistaken for a loss."""
    return zlib.crc32(repr(cells).encode())
