"""Connections that read the index of one space.

Responsible for keeping a few of them at hand, and for handing out one whose index is the present
one. Leaves bringing an index up to date to ``store.files.healing``. Invariant: everything read
inside one snapshot is of one state.
"""

from __future__ import annotations

import os
import sqlite3
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Protocol

from recollect.errors import RecollectError
from recollect.index.rows import PositionRow, Undecodable
from recollect.store.port import IndexHealed
from recollect.store.sqlite import (
    FOREIGN,
    FileId,
    SqliteDb,
    as_ours,
    file_id,
    is_busy,
    is_damage,
)

_READERS_MAX_COUNT: Final = 8
INDEX_TRIES: Final = 4  # how often an index may vanish under one call
# The packages that make answers of rows; a time limit, say, is raised in another one.
_READING: Final = frozenset("assistants finding index lifecycle memory model recall store".split())
_HEALED: Final = "the index was damaged and has been rebuilt from the ledger"


class Healer(Protocol):
    """What can bring an index up to date for those who read it."""

    @property
    def index_path(self) -> Path:
        """Where the index lies."""
        ...

    @property
    def ledger_path(self) -> Path:
        """Where the ledger's active file lies."""
        ...

    @property
    def is_opened(self) -> bool:
        """True once this process has compared the index with the ledger."""
        ...

    def is_stale(self, index: FileId | None) -> bool:
        """True if what this process has open for writing is not the file that is there now."""
        ...

    @property
    def is_lasting(self) -> bool:
        """True if an index is there that can be read as it is, whatever process holds the lock."""
        ...

    def open_index(self) -> SqliteDb:
        """A connection that reads: to the file, or to what stands in for it."""
        ...

    def check_usable(self) -> None:
        """Refuses a caller that may not read here."""
        ...

    def heal(self, *, wait: bool) -> None:
        """Brings the index up to date, unless a writer is at work and will do so."""
        ...

    def mend(self, damaged: FileId | None, error: Exception) -> None:
        """Builds a new index in the place of a damaged one, unless another did so since."""
        ...

    def index_problem(self) -> str | None:
        """How the index differs from a fresh fold of the ledger; None if it does not."""
        ...

    def heal_or_read_on(self, *, wait: bool) -> None:
        """The same; what cannot be healed but read is read as it is."""
        ...


class Pool:
    """Connections that nobody reads with just now."""

    def __init__(self) -> None:
        self._idle: deque[SqliteDb] = deque()
        self._closed = False

    def keep(self, db: SqliteDb) -> None:
        """Puts a connection back for the next who reads."""
        try:
            db.run("rollback")
        except sqlite3.Error:
            _let_go(db)
            return
        if len(self._idle) < _READERS_MAX_COUNT and not self._closed:
            self._idle.append(db)
        else:
            db.close()

    def take(self, present: FileId | None) -> SqliteDb | None:
        """A connection that was used before, if its file is still the index."""
        while self._idle:
            with suppress(IndexError):  # another thread may take the last one
                db = self._idle.pop()
                if db.file_id == present:
                    return db
                db.close()
        return None

    def drop(self) -> None:
        """Closes the connections that nobody uses."""
        while self._idle:
            with suppress(IndexError):  # another thread may take the last one
                self._idle.pop().close()

    def close(self) -> None:
        """Keeps none from now on."""
        self._closed = True
        self.drop()


class Readers:
    """The connections of one space that read."""

    def __init__(self, healer: Healer, pool: Pool) -> None:
        self._healer = healer
        self._pool = pool
        self._trusted: set[FileId | None] = set()  # compared with the ledger, and the same

    @contextmanager
    def snapshot(self) -> Iterator[SqliteDb]:
        """A connection inside a reading transaction; damage that shows in it is mended."""
        try:
            db = self._begun()
        except FOREIGN as error:
            raise as_ours(error) from error
        try:
            yield db
        except Exception as error:
            _let_go(db)
            if self._is_damaged(error, db):
                self._healer.mend(db.file_id, error)
                raise IndexHealed(_HEALED, hint="try again") from error
            if isinstance(error, FOREIGN):
                raise as_ours(error) from error
            raise
        except BaseException:
            _let_go(db)
            raise
        else:
            self._pool.keep(db)

    def _is_damaged(self, error: Exception, db: SqliteDb) -> bool:
        """True if an error comes from the index and not from the question.

        A row may decode and still be nonsense, which our own code stumbles over in its own way.
        That proves nothing: the index is compared with the ledger, once for each file, so that a
        mistake in a question costs that once.
        """
        if is_damage(error):
            return True
        if db.file_id in self._trusted or not is_suspicious(error):
            return False
        if self._healer.index_problem() is not None:
            return True
        self._trusted.add(db.file_id)
        return False

    def _begun(self) -> SqliteDb:
        """A connection whose transaction has begun; an index that vanishes is built again."""
        self._healer.check_usable()
        for attempt in range(1, INDEX_TRIES + 1):
            present = file_id(self._healer.index_path)
            try:
                db = self._reader()
                db.run("begin_read")
                return db
            except (sqlite3.Error, Undecodable) as error:
                if is_busy(error) or attempt == INDEX_TRIES:
                    raise
                if is_damage(error):
                    self._healer.mend(present, error)
                else:
                    self._healer.heal(wait=True)
        raise AssertionError  # the last attempt returns or raises

    def _reader(self) -> SqliteDb:
        """A connection to the index as it is now, healed if it lags."""
        path = self._healer.index_path
        present = file_id(path)
        db = self._pool.take(present)
        if db is None:
            if not self._healer.is_opened or present is None:
                # A stuck writer must not hold up readers of what is there.
                self._healer.heal_or_read_on(wait=not self._healer.is_lasting)
            db = self._healer.open_index()
        # Another process may have put new files here, after an erasure: let go of the old ones.
        if self._healer.is_stale(present) or not self._is_fresh(db):
            self._healer.heal_or_read_on(wait=False)
            if db.file_id != file_id(path):
                db.close()
                db = self._healer.open_index()
        return db

    def _is_fresh(self, db: SqliteDb) -> bool:
        """True if the index has folded all that the ledger holds."""
        try:
            size = os.stat(self._healer.ledger_path).st_size
            row = db.one("get_position")
        except FOREIGN:
            return False
        return row is not None and PositionRow._make(row).offset == size


def _let_go(db: SqliteDb) -> None:
    with suppress(sqlite3.Error):
        db.close()


def may_heal(error: Exception) -> bool:
    """True if opening the index for real, which heals it, may get rid of an error."""
    return isinstance(error, IndexHealed) or is_damage(error) or is_suspicious(error)


def is_suspicious(error: Exception) -> bool:
    """True for what our own code should never raise, unless a row of the index made it so.

    What was raised in a caller's own function, such as a counter of tokens, is the caller's.
    """
    if isinstance(error, RecollectError | OSError | sqlite3.ProgrammingError):
        return False
    if is_busy(error):
        return False
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    name = trace.tb_frame.f_globals.get("__name__", "") if trace else ""
    top, _, rest = str(name).partition(".")
    return top == "recollect" and rest.partition(".")[0] in _READING
