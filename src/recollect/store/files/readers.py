"""Connections that read the index of one space.

Responsible for keeping a few of them open, and for returning one to the current index. Leaves
bringing an index up to date to ``store.files.catch_up``. Invariant: everything read inside one
snapshot is from one state.
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
INDEX_TRIES: Final = 4  # how often an index may be replaced during one call
# The packages that turn rows into answers; a time limit, for example, is raised elsewhere.
_READING: Final = frozenset("assistants finding index lifecycle memory model recall store".split())
_HEALED: Final = "the index was damaged and has been rebuilt from the ledger"


class Healer(Protocol):
    """Brings an index up to date for readers."""

    @property
    def index_path(self) -> Path:
        """The path of the index."""
        ...

    @property
    def ledger_path(self) -> Path:
        """The path of the ledger's active file."""
        ...

    @property
    def is_opened(self) -> bool:
        """True once this process has compared the index with the ledger."""
        ...

    def is_stale(self, index: FileId | None) -> bool:
        """True if the index that this process has open for writing is another file."""
        ...

    @property
    def is_lasting(self) -> bool:
        """True if there is an index that can be read as it is, whichever process holds the lock."""
        ...

    def open_index(self) -> SqliteDb:
        """A connection for reading: to the file, or to its replacement in memory."""
        ...

    def check_usable(self) -> None:
        """Refuses a caller that may not read here."""
        ...

    def check_same(self) -> None:
        """Refuses a caller whose space was dropped; a drop always removes the index."""
        ...

    def heal(self, *, wait: bool) -> None:
        """Brings the index up to date, unless a writer is at work and will do so."""
        ...

    def mend(self, damaged: FileId | None, error: Exception) -> None:
        """Rebuilds a damaged index, unless another process has already done so."""
        ...

    def index_problem(self) -> str | None:
        """How the index differs from a fresh fold of the ledger; None if it is equal."""
        ...

    def heal_or_read_on(self, *, wait: bool) -> None:
        """Brings the index up to date; if that is not possible, reads it as it is."""
        ...

    def await_acknowledged(self) -> None:
        """Waits until the index has what was acknowledged before; an error if it cannot be had."""
        ...


class Pool:
    """Idle connections."""

    def __init__(self) -> None:
        self._idle: deque[SqliteDb] = deque()
        self._closed = False

    def keep(self, db: SqliteDb) -> None:
        """Returns a connection for the next reader."""
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
        """An idle connection, if its file is still the index."""
        while self._idle:
            with suppress(IndexError):  # another thread may take the last one
                db = self._idle.pop()
                if db.file_id == present:
                    return db
                db.close()
        return None

    def drop(self) -> None:
        """Closes the idle connections."""
        while self._idle:
            with suppress(IndexError):  # another thread may take the last one
                self._idle.pop().close()

    def close(self) -> None:
        """Closes the idle connections and keeps none from now on."""
        self._closed = True
        self.drop()


class Readers:
    """The reading connections of one space."""

    def __init__(self, healer: Healer, pool: Pool) -> None:
        self._healer = healer
        self._pool = pool
        self._trusted: set[FileId | None] = set()  # compared with the ledger and equal

    @contextmanager
    def snapshot(self) -> Iterator[SqliteDb]:
        """A connection inside a read transaction; damage that it meets is repaired."""
        try:
            db = self._begin()
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

        A row may decode and still be wrong, so that our own code fails on it with any error. Such
        an error proves nothing, so the index is compared with the ledger, once for each file.
        """
        if is_damage(error):
            return True
        if db.file_id in self._trusted or not is_suspicious(error):
            return False
        if self._healer.index_problem() is not None:
            return True
        self._trusted.add(db.file_id)
        return False

    def _begin(self) -> SqliteDb:
        """Begins a transaction; an index that is missing is rebuilt."""
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
        """A connection to the current index, healed if it lags."""
        path = self._healer.index_path
        present = file_id(path)
        db = self._pool.take(present)
        if db is None:
            self._healer.check_same()  # the index may be that of a new space
            if not self._healer.is_opened or present is None:
                # A stuck writer must not block readers.
                self._healer.heal_or_read_on(wait=not self._healer.is_lasting)
            db = self._healer.open_index()
        # Another process may have replaced the files after an erasure: close the old ones.
        if self._healer.is_stale(present) or not self._is_fresh(db):
            self._healer.heal_or_read_on(wait=False)
            if not self._is_fresh(db):
                self._healer.await_acknowledged()
            if db.file_id != file_id(path):
                db.close()
                db = self._healer.open_index()
        return db

    def _is_fresh(self, db: SqliteDb) -> bool:
        """True if the index has folded all of the ledger."""
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
    """True if opening the index for writing, which heals it, may fix an error."""
    return isinstance(error, IndexHealed) or is_damage(error) or is_suspicious(error)


def is_suspicious(error: Exception) -> bool:
    """True for an error that our own code should only raise for a damaged row.

    An error from a caller's function, such as a token counter, does not count.
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
