"""The index of one space, as the process that holds the lock sees it.

Responsible for opening it, for bringing it up to its ledger, and for a new one where it does not
work. Leaves the lock, which the caller holds, to ``store.files.held``, building to
``store.files.build`` and the rows to ``index``. Invariants: the index's committed position is a
durable watermark; an index that has seen more than the ledger holds stops everything.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from recollect.errors import IntegrityError
from recollect.index.fold import Clock, Fold
from recollect.index.reads import Reads
from recollect.index.rows import PositionRow, Undecodable
from recollect.index.tables import Tables
from recollect.ledger.codec import decode
from recollect.ledger.scan import Scanner
from recollect.model.events import Head, SpaceOpened, TailCut
from recollect.store.files import segments
from recollect.store.files.append import note
from recollect.store.files.build import Ahead, build_index, is_of_this_release, known_head
from recollect.store.files.cleaning import finish_erasures
from recollect.store.files.held import Held
from recollect.store.files.leftovers import remove_leftovers, torn_name
from recollect.store.files.readers import INDEX_TRIES
from recollect.store.files.resume_point import index_is_ahead, place_of
from recollect.store.files.stamp import active_stamp, keep_stamp, look_at_changes
from recollect.store.port import Progress
from recollect.store.sqlite import SqliteDb, file_id, is_busy, is_damage, open_index

T = TypeVar("T")
_log: Final = logging.getLogger(__name__)
_DAMAGED: Final = "the index of %s is damaged (%s); it is built again from the ledger"


def warn_of_damage(folder: Path, error: Exception) -> None:
    """Says in the log that an index is built again, and why."""
    _log.warning(_DAMAGED, folder, error)


class SpaceIndex:
    """Every method is called under the lock."""

    def __init__(self, held: Held) -> None:
        self._held = held

    def attempt(self, work: Callable[[], T]) -> T:
        """Work that may find the index gone or broken, and then a new one.

        Nothing is in the ledger before the index is done with, so the work can begin anew.
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
        """Lets go of an index that does not work; after a second failure it is built anew."""
        held = self._held
        if held.index is not None:
            with suppress(sqlite3.Error):
                held.index.close()
            held.index = None
        held.distrusted = build

    def refresh(self, *, finish: bool = True, notes: bool = True) -> tuple[SqliteDb, PositionRow]:
        """Handles that are still the files' own, and an index up to date.

        An erasure that was interrupted is finished first. Leaves a writing transaction open.
        Without ``notes`` no event of the store's own is added: what is brought next must fit.
        """
        held = self._held
        held.check_working()
        active = held.current_active()
        db = self.current()
        db.run("begin_write")
        position = Reads(db).position()
        if position is None:
            raise IntegrityError("the index lost its position", hint="delete index.db")
        if held.left != active_stamp(held.ledger_path):
            seen = Head(position.seq, position.hash, position.at)
            held.left = look_at_changes(db, active, seen, whole=held.unchecked)
        if held.unchecked or position.offset != active.size:
            if db.one("is_position_whole") != (1,):
                raise Undecodable("the place where it stands was changed")
            position = self._catch_up(db, position, notes=notes)
            held.unchecked = False
        if held.left != active_stamp(held.ledger_path):
            held.left = keep_stamp(db, held.ledger_path)
        if notes:
            position = self._opened_with_its_name(db, position)
        if finish and db.one("has_unfinished_erasures", (position.purged,)) is not None:
            finish_erasures(held, self.current())
            return self.refresh(finish=False, notes=notes)
        return db, position

    def current(self) -> SqliteDb:
        """The index, opened again or rebuilt if it is not what it was."""
        held = self._held
        path = held.index_path
        if held.index is not None and held.index.file_id != file_id(path):
            held.index.close()
            held.index = None
        if held.index is None:
            held.index = self._open(path)
            held.unchecked = True
        return held.index

    def _open(self, path: Path) -> SqliteDb:
        """An index of this release that reads; anything else is built anew."""
        held = self._held
        remove_leftovers(held.seam, held.folder)
        if path.exists() and not held.distrusted:
            try:
                db = open_index(path)
                if is_of_this_release(db):
                    return db
                db.close()
            except sqlite3.Error as error:
                warn_of_damage(held.folder, error)
        self.build(known_head(path))
        held.distrusted = False
        return open_index(path)

    def build(self, witness: Head | None, progress: Progress | None = None) -> None:
        """A new index from the whole ledger."""
        held = self._held
        active = held.current_active()
        try:
            build_index(held.seam, held.index_path, held.name, active, witness, progress)
        except Ahead as ahead:
            raise index_is_ahead(ahead.seen) from ahead

    def _catch_up(self, db: SqliteDb, position: PositionRow, *, notes: bool) -> PositionRow:
        """Folds what the ledger holds beyond the index, and cuts a torn tail."""
        active = self._held.opened()
        start = place_of(active, position)
        if start == active.size:
            return position._replace(offset=start)
        active.settle(start or 0)
        scanner = Scanner(Head(position.seq, position.hash, position.at))
        tables = Tables(db)
        fold = Fold(tables, Clock(position.at, position.active_us))
        behind = start is None  # the index stopped before the last seal
        for piece in (
            segments.pieces(active, after=position.seq) if behind else active.pieces(start or 0)
        ):
            for append in scanner.feed(piece):
                fold.append([decode(line) for line in append.lines])
            tables.flush()
        torn = segments.torn_in(active, scanner)
        moved = position._replace(
            seq=scanner.head.seq,
            hash=scanner.head.hash,
            at=scanner.head.at,
            active_us=fold.clock.active_us,
            offset=active.size - len(torn),
        )
        db.many("move_position", [(*moved[2:7],)])
        db.run("commit")
        db.run("begin_write")
        if torn:
            aside = torn_name(self._held.folder, moved.seq)
            count = active.cut(moved.offset, aside)
            if not notes:
                return moved
            moved = self._opened_with_its_name(db, moved)  # whatever was cut, that comes first
            moved = note(self._held, db, moved, TailCut(bytes=count, kept_as=aside.name))
        return moved

    def _opened_with_its_name(self, db: SqliteDb, position: PositionRow) -> PositionRow:
        """An empty ledger begins with the event that names its space."""
        if position.seq > 0:
            return position
        return note(self._held, db, position, SpaceOpened(space=self._held.name))
