"""Bringing an index up to date for its readers, or reading it as it is.

Responsible for taking the turn and the lock for it, and for an index in memory where nothing can be
written. Leaves the connections to ``store.files.readers`` and the index itself to
``store.files.index``. Invariant: an existing index can be read while a writer is at work and on a
read-only disk.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from recollect.errors import NotFound, Unavailable
from recollect.index.reads import Reads
from recollect.index.rows import PositionRow, Undecodable
from recollect.ledger.cipher import Ciphers
from recollect.store.files.build import known_head
from recollect.store.files.index import SpaceIndex, warn_of_damage
from recollect.store.files.ledger.backlog import owed
from recollect.store.files.ledger.check import difference
from recollect.store.files.ledger.segments import OpenedLedger
from recollect.store.files.ledger.stamp import noted_offset
from recollect.store.files.lock import ReadOnly
from recollect.store.files.open_files import OpenFiles
from recollect.store.fold_ledger import fold_whole
from recollect.store.port import Progress
from recollect.store.sqlite import (
    FOREIGN,
    FileId,
    SqliteDb,
    as_ours,
    file_id,
    is_of_this_release,
    look_into,
    open_index,
    shared_index,
)

_NAP_S: Final = 0.002
_OTHERS_S: Final = 1.0
_FOLDED_S: Final = 0.1
_NOT_FOLDED: Final = (
    "wait until it is done, or end it; the last writes of this process are safe in the ledger, but "
    "cannot be read before that"
)


class Healing:
    """The ``Healer`` of one space."""

    def __init__(self, files: OpenFiles, index: SpaceIndex) -> None:
        self._files = files
        self._index = index
        self.ledger_path = files.ledger_path
        self.index_path = files.index_path

    @property
    def is_opened(self) -> bool:
        """True once this process has compared the index with the ledger."""
        return self._files.active is not None

    def is_stale(self, index: FileId | None) -> bool:
        """True if the index that this process has open for writing is another file."""
        own = self._files.index
        return own is not None and own.file_id != index

    @property
    def is_lasting(self) -> bool:
        """True if there is an index that can be read as it is, whichever process holds the lock."""
        return self._files.aside is not None or is_readable(self.index_path)

    def open_index(self) -> SqliteDb:
        """A connection for reading: to the file, or to its replacement in memory."""
        aside = self._files.aside
        return open_index(self.index_path) if aside is None else aside.another()

    def check_usable(self) -> None:
        """Raises an error if the space is closed, or was opened before a fork."""
        self._files.check_usable()

    def check_same(self) -> None:
        """Raises an error if this is not the space that this process opened any more."""
        self._files.check_same()

    def heal(self, *, wait: bool) -> None:
        """Brings the index up to date, unless a writer is at work and will do so."""
        if self._files.failed is None and not self._files.group.is_mine:
            self._healed(None if wait else 0)

    def _healed(self, wait_s: float | None) -> bool:
        """Brings the index up to date; False if the turn or the lock was not free in time."""
        files = self._files
        with files.group.borrowed(wait_s) as is_mine:
            if not is_mine:
                return False
            try:
                with files.locked(wait_s, folds=False):
                    waiting = len(files.backlog or ())
                    if files.fold():
                        files.pace.was_read(waiting)
                    else:
                        self._index.attempt(self._index.refresh)
            except BlockingIOError:
                return False
            except FOREIGN as error:
                raise as_ours(error) from error
            return True

    def await_acknowledged(self) -> None:
        """Waits until the index has what was acknowledged before this call.

        For writes of this process as long as for the lock, then an error is raised. For those of
        another only briefly: a process that is stuck must not block readers. A process that has the
        lock folds too, so the index is looked at again and again.
        """
        files, started = self._files, time.monotonic()
        own, others = owed(file_id(self.ledger_path)), self._noted_offset()
        while (own or others) and not files.group.is_mine:
            position = self._folded_to()
            if position is not None and position.seq >= own and position.offset >= others:
                return
            is_own = position is None or position.seq < own
            if is_own:
                files.check_working()
            if files.failed is None and self._healed(0):
                return
            waited_s = time.monotonic() - started
            if is_own and waited_s > files.wait_s:
                raise files.lock.locked(files.wait_s, hint=_NOT_FOLDED)
            if not is_own and waited_s > _OTHERS_S:
                return
            time.sleep(_NAP_S)

    def _noted_offset(self) -> int:
        """The end of what was acknowledged with rows that wait; 0 if that is unknown."""
        with suppress(OSError):
            return noted_offset(self._files.lock.note(), os.stat(self.ledger_path))
        return 0

    def _folded_to(self) -> PositionRow | None:
        """The position of the index; None if it cannot be read."""
        with suppress(sqlite3.Error, Undecodable), closing(self.open_index()) as db:
            return Reads(db).position()
        return None

    def heal_or_read_on(self, *, wait: bool) -> None:
        """Brings the index up to date; if that is not possible, reads it as it is."""
        try:
            self.heal(wait=wait)
        except ReadOnly:
            self._read_without_writing()
        except Unavailable:
            if known_head(self.index_path) is None:
                raise

    def mend(self, damaged: FileId | None, error: Exception) -> None:
        """Rebuilds a damaged index, unless another process has already done so."""
        warn_of_damage(self._files.folder, error)
        try:
            with self._files.exclusive():
                if file_id(self.index_path) == damaged:
                    self._index.drop(build=True)
                self._index.attempt(self._index.refresh)
        except ReadOnly:
            self._build_aside()

    def index_problem(self, progress: Progress | None = None) -> str | None:
        """How the index differs from a fresh fold of the ledger; None if it is equal."""
        if self._files.aside is not None:
            return None  # this process has just folded it from the ledger
        try:
            files = self._files
            found = (self.index_path, self.ledger_path, files.name)
            return difference(*found, progress, files.subjects)
        except FOREIGN as error:
            raise as_ours(error) from error

    def _read_without_writing(self) -> None:
        """On a read-only disk, builds a missing or outdated index in memory.

        A process that may write folds what it wrote in a moment: that is cheaper.
        """
        if self._files.aside is None:
            limit_s = time.monotonic() + _FOLDED_S
            while not is_up_to_date(self.index_path, self.ledger_path):
                if time.monotonic() > limit_s:
                    self._build_aside()
                    return
                time.sleep(_NAP_S)

    def _build_aside(self) -> None:
        files = self._files
        if not files.ledger_path.exists():
            raise NotFound(f"the space {files.name!r} does not exist in {files.folder}")
        with closing(OpenedLedger(files.ledger_path)) as opened:
            pieces = opened.pieces()
            files.aside = index_aside(files.name, pieces, files.ledger_path, files.subjects)


def is_readable(index: Path) -> bool:
    """True if there is an index of this release."""
    with suppress(sqlite3.Error, Undecodable), closing(look_into(index)) as db:
        return is_of_this_release(db)
    return False


def is_up_to_date(index: Path, ledger: Path) -> bool:
    """True if there is an index of this release that has folded all of its ledger."""
    with suppress(sqlite3.Error, Undecodable, OSError), closing(look_into(index)) as db:
        position = Reads(db).position()
        is_there = position is not None and position.offset == os.stat(ledger).st_size
        return is_there and is_of_this_release(db)
    return False


def index_aside(
    space: str, pieces: Iterable[bytes], ledger: Path, ciphers: Ciphers | None = None
) -> SqliteDb:
    """An index of a whole ledger in memory; it lives as long as this connection."""
    db = shared_index(space)
    db.run("begin_write")
    folded = fold_whole(db, pieces, None, 0, ciphers=ciphers)
    head, size = folded.head, os.stat(ledger).st_size
    db.many("move_position", [(head.seq, head.hash, head.at, folded.active_us, size)])
    db.many("set_purged", [(folded.erasures.purged,)])
    db.run("commit")
    db.complete()
    return db
