"""The index of one space, as the process that holds the lock sees it.

Responsible for opening it, for bringing it up to date, and for rebuilding one that does not work.
Leaves the lock, which the caller holds, to ``store.files.open_files``, building to
``store.files.build`` and the rows to ``index``. Invariants: events up to the index's committed
position are durable; an index that has seen events missing from the ledger stops every operation.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from recollect.errors import IntegrityError, RecollectError
from recollect.index.fold import Clock, Fold
from recollect.index.reads import Reads
from recollect.index.rows import PositionRow, Undecodable
from recollect.index.tables import Tables
from recollect.ledger.cipher import Ciphers
from recollect.ledger.codec import decode
from recollect.ledger.scan import Scanner
from recollect.model.events import Head, SpaceOpened, TailCut
from recollect.store.files.append import moved_to, note
from recollect.store.files.build import Ahead, build_index, known_head
from recollect.store.files.copies.foreign import is_foreign
from recollect.store.files.copies.leftovers import remove_leftovers, torn_name
from recollect.store.files.erased_bodies import finish_erasures
from recollect.store.files.ledger import backlog, segments
from recollect.store.files.ledger.resume_point import index_is_ahead, place_of
from recollect.store.files.ledger.stamp import keep_stamp, look_at_changes
from recollect.store.files.open_files import OpenFiles
from recollect.store.files.readers import INDEX_TRIES
from recollect.store.port import Progress
from recollect.store.sqlite import (
    FOREIGN,
    SqliteDb,
    file_id,
    is_busy,
    is_damage,
    is_of_this_release,
    open_index,
)

T = TypeVar("T")
_UNUSABLE: Final = "the index of %s could not be used (%s); rebuilding it from the ledger"


def warn_of_damage(folder: Path, error: Exception) -> None:
    """Logs that an index is rebuilt, and why."""
    import logging  # slow to load

    logging.getLogger(__name__).warning(_UNUSABLE, folder, error)


def position_of(reads: Reads) -> PositionRow:
    """The last event that an index has folded."""
    position = reads.position()
    if position is None:
        raise IntegrityError("the index lost its position", hint="delete index.db")
    return position


class SpaceIndex:
    """Every method is called under the lock."""

    def __init__(self, files: OpenFiles) -> None:
        self._files = files

    def attempt(self, work: Callable[[], T]) -> T:
        """Runs work that may find the index missing or broken; then repeats it with a new one.

        The index is changed before the ledger is written, so the work can be repeated.
        """
        for attempt in range(1, INDEX_TRIES + 1):
            try:
                return work()
            except (sqlite3.Error, Undecodable) as error:
                self.drop(build=attempt > 1 or is_damage(error))
                if is_busy(error) or attempt == INDEX_TRIES:
                    raise
        raise AssertionError  # the last attempt returns or raises

    def drop(self, *, build: bool) -> None:
        """Closes an index that does not work; after a second failure it is rebuilt."""
        files = self._files
        if files.index is not None:
            with suppress(sqlite3.Error):
                files.index.close()
            files.index = None
        files.distrusted = build

    def refresh(self, *, finish: bool = True, notes: bool = True) -> tuple[SqliteDb, PositionRow]:
        """Reopens replaced files and brings the index up to date.

        An interrupted erasure is finished first. Leaves a write transaction open. Without
        ``notes`` no event of the store itself is added, so that received events fit.
        """
        files = self._files
        files.check_working()
        active = files.current_active()
        db = self.current()
        db.run("begin_write")
        position = position_of(Reads(db))
        if files.left != files.stamp():
            seen = Head(position.seq, position.hash, position.at)
            noted = files.lock.note()
            files.left = look_at_changes(db, active, seen, whole=files.unchecked, noted=noted)
        if files.unchecked or position.offset != active.size:
            if db.one("is_position_whole") != (1,):
                raise Undecodable("its position was changed")
            position = self._catch_up(db, position, notes=notes)
            files.unchecked = False
        if files.left != files.stamp():
            files.left = keep_stamp(db, files.ledger_path)
        if notes:
            position = self._opened_with_its_name(db, position)
        if finish and db.one("has_unfinished_erasures", (position.purged,)) is not None:
            finish_erasures(files, self.current())
            return self.refresh(finish=False, notes=notes)
        return db, position

    def current(self) -> SqliteDb:
        """The index, reopened or rebuilt if its file was replaced."""
        files = self._files
        path = files.index_path
        if files.index is not None and files.index.file_id != file_id(path):
            files.index.close()
            files.index = None
        if files.index is None:
            files.index = self._open(path)
            files.unchecked = True
        return files.index

    def _open(self, path: Path) -> SqliteDb:
        """Opens an index of this release; any other index is rebuilt."""
        files = self._files
        remove_leftovers(files.seam, files.folder)
        if path.exists() and not files.distrusted and not is_foreign(path):
            try:
                db = open_index(path)
                if is_of_this_release(db):
                    return db
                db.close()
            except sqlite3.Error as error:
                warn_of_damage(files.folder, error)
        self.build(known_head(path))
        files.distrusted = False
        return open_index(path)

    def build(self, witness: Head | None, progress: Progress | None = None) -> None:
        """Builds a new index from the whole ledger."""
        files = self._files
        active = files.current_active()
        try:
            build_index(
                files.seam, files.index_path, files.name, active, witness, progress, files.subjects
            )
        except Ahead as ahead:
            raise index_is_ahead(ahead.seen) from ahead

    def _catch_up(self, db: SqliteDb, position: PositionRow, *, notes: bool) -> PositionRow:
        """Folds the events that the index lacks, and cuts a torn tail."""
        active = self._files.opened()
        start = place_of(active, position)
        if start == active.size:
            return position._replace(offset=start)
        active.settle(start or 0)
        behind = start is None  # the index stopped before the last seal
        pieces = (
            segments.pieces(active, after=position.seq) if behind else active.pieces(start or 0)
        )
        scanner, active_us = _folded(db, position, pieces, self._files.subjects)
        torn = segments.torn_in(active, scanner)
        moved = moved_to(position, scanner.head, active_us, active.size - len(torn))
        db.many("move_position", [(*moved[2:7],)])
        db.run("commit")
        db.run("begin_write")
        if torn:
            aside = torn_name(self._files.folder, moved.seq)
            count = active.cut(moved.offset, aside)
            if not notes:
                return moved
            moved = self._opened_with_its_name(db, moved)  # even after a cut, this comes first
            moved = note(self._files, db, moved, TailCut(bytes=count, kept_as=aside.name))
        return moved

    def fold_acknowledged(self, end: PositionRow) -> None:
        """After a failed write: folds the events before it, whose rows were in the backlog."""
        active, db = self._files.opened(), self._files.index
        if db is None:
            return
        with suppress(*FOREIGN, RecollectError):
            if db.in_transaction:
                db.run("rollback")
            db.run("begin_write")
            position = Reads(db).position()
            if position is not None and position.seq < end.seq:
                pieces = active.pieces(position.offset, end.offset)
                _folded(db, position, pieces, self._files.subjects)
                db.many("move_position", [(*end[2:7],)])
                db.run("commit")
            backlog.settle(active.file_id, end.seq)

    def _opened_with_its_name(self, db: SqliteDb, position: PositionRow) -> PositionRow:
        """Adds the event that names the space to an empty ledger."""
        if position.seq > 0:
            return position
        return note(self._files, db, position, SpaceOpened(space=self._files.name))


def _folded(
    db: SqliteDb, position: PositionRow, pieces: Iterable[bytes], ciphers: Ciphers
) -> tuple[Scanner, int]:
    """Folds the events in these bytes, which follow a position; the scanner and the active time."""
    scanner = Scanner(Head(position.seq, position.hash, position.at))
    tables = Tables(db)
    fold = Fold(tables, Clock(position.at, position.active_us))
    for piece in pieces:
        for append in scanner.feed(piece):
            fold.append([decode(line, ciphers) for line in append.lines])
        tables.flush()
    return scanner, fold.clock.active_us
