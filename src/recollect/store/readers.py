"""Connections that read the index of one space.

Responsible for keeping a few of them at hand, and for handing out one whose index is the present
one. Leaves bringing an index up to date to ``store.files``. Invariant: everything read inside one
snapshot is of one state.
"""

from __future__ import annotations

import os
import sqlite3
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Protocol

from recollect.index.rows import PositionRow
from recollect.store.sqlite import FileId, SqliteDb, as_ours, file_id, is_busy, open_index

_READERS_MAX_COUNT: Final = 8
INDEX_TRIES: Final = 4  # how often an index may vanish under one call


class Healer(Protocol):
    """What can bring an index up to date: the space that the readers belong to."""

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

    def check_usable(self) -> None:
        """Refuses whoever may not read here."""
        ...

    def heal(self, *, wait: bool) -> None:
        """Brings the index up to date, unless somebody is writing and will do so."""
        ...

    def heal_or_read_on(self, *, wait: bool) -> None:
        """The same; what cannot be healed but read is read as it is."""
        ...


class Readers:
    """The connections of one space that read."""

    def __init__(self, healer: Healer) -> None:
        self._healer = healer
        self._pool: deque[SqliteDb] = deque()
        self._closed = False

    @contextmanager
    def snapshot(self) -> Iterator[SqliteDb]:
        """A connection inside a reading transaction."""
        try:
            db = self._begun()
            try:
                yield db
            finally:
                if db.in_transaction:
                    db.run("rollback")
                if len(self._pool) < _READERS_MAX_COUNT and not self._closed:
                    self._pool.append(db)
                else:
                    db.close()
        except sqlite3.Error as error:
            raise as_ours(error) from error

    def _begun(self) -> SqliteDb:
        """A connection whose transaction has begun; an index that vanishes is made anew."""
        self._healer.check_usable()
        for attempt in range(1, INDEX_TRIES + 1):
            try:
                db = self._reader()
                db.run("begin_read")
                return db
            except sqlite3.Error as error:
                if is_busy(error) or attempt == INDEX_TRIES:
                    raise
                self._healer.heal(wait=True)
        raise AssertionError  # the last attempt returns or raises

    def _reader(self) -> SqliteDb:
        """A connection to the index as it is now, healed if it lags."""
        path = self._healer.index_path
        present = file_id(path)
        db = self._pooled(present)
        if db is None:
            if not self._healer.is_opened or present is None:
                self._healer.heal_or_read_on(wait=True)
            db = open_index(path)
        if not self._is_fresh(db):
            self._healer.heal_or_read_on(wait=False)
            if db.file_id != file_id(path):
                db.close()
                db = open_index(path)
        return db

    def _pooled(self, present: FileId | None) -> SqliteDb | None:
        """A connection that was used before, if its file is still the index."""
        while self._pool:
            with suppress(IndexError):  # another thread may take the last one
                db = self._pool.pop()
                if db.file_id == present:
                    return db
                db.close()
        return None

    def _is_fresh(self, db: SqliteDb) -> bool:
        """True if the index has folded all that the ledger holds."""
        try:
            size = os.stat(self._healer.ledger_path).st_size
            row = db.one("get_position")
        except (OSError, sqlite3.Error):
            return False
        return row is not None and PositionRow._make(row).offset == size

    def drop(self) -> None:
        """Closes the connections that nobody uses."""
        while self._pool:
            with suppress(IndexError):  # another thread may take the last one
                self._pool.pop().close()

    def close(self) -> None:
        """Keeps none from now on."""
        self._closed = True
        self.drop()
