"""The embedded engine: a ledger in a file, an index in SQLite, a lock beside them.

    workspace/            the space "main"
      events.wal          the ledger's active file
      sealed/             its closed segments, if it was ever sealed
      index.db            the index; delete it at any time
      ledger.lock         held while writing; never deleted
      vectors/            what embedders made of its texts; delete it at any time
      backup/             copies of the ledger
      backups.json        where backups were written
      spaces/NAME/        further spaces, each with the same files

Responsible for the order of lock, write, fsync and commit, and for bringing an index up to its
ledger. Leaves the bytes to ``store.files.active`` and ``ledger``, the rows to ``index``.
Invariants: the fsync of the ledger is the commit point; the index's committed position is a durable
watermark; an index that has seen more than the ledger holds stops everything.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Final, TypeVar

from recollect.errors import IntegrityError, NotFound, RecollectError, Unavailable
from recollect.index.digest import state_digest
from recollect.index.fold import Clock, Fold
from recollect.index.reads import Reads
from recollect.index.rows import PositionRow, Undecodable
from recollect.index.statements import NOW
from recollect.index.tables import Tables
from recollect.ledger.codec import decode
from recollect.ledger.line import Line
from recollect.ledger.scan import Damage, Scanner
from recollect.ledger.verify import unordered, verify
from recollect.lifecycle.commands import Command
from recollect.model.events import (
    GENESIS,
    AnyBody,
    EventsErased,
    Head,
    LossAccepted,
    SpaceOpened,
    TailCut,
)
from recollect.model.values import Backup, Finding, Rebuilt, Sealed
from recollect.store import backup, clock
from recollect.store.disk import make_folder, replace_file
from recollect.store.files import copies, forks, holders, repair, segments, vector_file
from recollect.store.files.active import ActiveFile
from recollect.store.files.aside import index_aside, is_readable, is_up_to_date
from recollect.store.files.build import (
    Ahead,
    build_index,
    clean_index,
    drop_index,
    is_of_this_release,
    known_head,
)
from recollect.store.files.check import difference
from recollect.store.files.examine import examine
from recollect.store.files.lock import SHORT_WAIT_S, WAIT_S, Lock, ReadOnly
from recollect.store.files.readers import INDEX_TRIES, Readers
from recollect.store.files.stamp import active_stamp, keep_stamp, look_at_changes, stamp_of
from recollect.store.files.standing import index_is_ahead, place_of
from recollect.store.group import AnyRequest, Group
from recollect.store.layout import INDEX, LEDGER, LOCK
from recollect.store.port import Answer, Progress, Tick, Vectors
from recollect.store.receiving import Parcel, first_hash, fold_parcel, parcels
from recollect.store.regular import check_regular
from recollect.store.seam import REAL, Seam
from recollect.store.sqlite import (
    FOREIGN,
    FileId,
    Moved,
    SqliteDb,
    as_ours,
    file_id,
    is_busy,
    is_damage,
    open_index,
)
from recollect.store.writing import Writing, sealed_event, what_was_sealed

T = TypeVar("T")
_log: Final = logging.getLogger(__name__)

_SYNCS_MAX_COUNT: Final = 64  # of one parcel; more are dearer than copying
_ACCEPTED: Final = "their bodies were missing when a loss was accepted"
_DAMAGED: Final = "the index of %s is damaged (%s); it is built again from the ledger"
_REOPEN: Final = "close this memory and open it again; nothing acknowledged was lost"


class FileSpace:
    """One space in one folder. Safe to share between threads; processes share the folder."""

    widest = None  # the folder's rights are the system's business
    lock_name: str = LOCK  # a test's negative control takes the lock elsewhere

    def __init__(self, folder: Path, name: str, *, create: bool, seam: Seam = REAL) -> None:
        self._folder = folder
        self.ledger_path = folder / LEDGER
        self.index_path = folder / INDEX
        self._name = name
        self._create = create
        self._seam = seam
        self._pid = os.getpid()
        self._group = Group(self._lead)
        self._readers = Readers(self)
        self._lock = Lock(folder / self.lock_name, seam, self._make_folder)
        self._wait_s = WAIT_S
        self._left: str | None = None  # the active file as this process last saw it
        self._aside: SqliteDb | None = None  # an index in memory, where none can be written
        forks.watch(self)
        self._active: ActiveFile | None = None
        self._index: SqliteDb | None = None
        self._failed: str | None = None
        self._vectors: dict[tuple[str, int], Vectors] = {}
        self._closed = False
        self._distrusted = False  # the index on the disk did not work
        self._unchecked = True  # nobody has compared the index with this ledger's bytes yet

    @property
    def name(self) -> str:
        """The space's name."""
        return self._name

    @property
    def where(self) -> str:
        """The folder."""
        return str(self._folder)

    @property
    def is_opened(self) -> bool:
        """True once this process has compared the index with the ledger."""
        return self._active is not None

    def is_stale(self, index: FileId | None) -> bool:
        """True if the index that this process writes is another file than this one."""
        own = self._index
        return own is not None and own.file_id != index

    # Writing.

    def submit(self, command: Command, answer: Answer[T]) -> T:
        """Decides, appends, folds; returns what ``answer`` reads in the same transaction."""
        self.check_usable()
        return self._group.submit(command, answer)

    def later(self, command: Command) -> bool:
        """Lets a command ride on this process's next append, or on ``flush`` or ``close``."""
        self.check_usable()
        self._group.leave(command)
        return True

    def flush(self) -> None:
        """Writes what still waits to ride."""
        self.check_usable()
        self._group.flush()

    def _lead(self, taken: list[AnyRequest]) -> int:
        """Writes one append for as many waiting callers as fit."""
        self.check_usable()
        try:
            with self._locked():
                return self._with_index(lambda: self._append(*self._refresh(), taken))
        except FOREIGN as error:
            raise as_ours(error) from error

    def _with_index(self, work: Callable[[], T]) -> T:
        """Under the lock: work that may find the index gone or broken, and then a new one.

        Nothing is in the ledger before the index is done with, so the work can begin anew.
        """
        for attempt in range(1, INDEX_TRIES + 1):
            try:
                return work()
            except (sqlite3.Error, Undecodable) as error:
                self._drop_index(build=attempt > 1 or is_damage(error))
                if is_busy(error) or attempt == INDEX_TRIES:
                    raise
        raise AssertionError  # the last attempt returns or raises

    def _drop_index(self, *, build: bool) -> None:
        """Lets go of an index that does not work; after a second failure it is built anew."""
        if self._index is not None:
            with suppress(sqlite3.Error):
                self._index.close()
            self._index = None
        self._distrusted = build

    def _append(self, db: SqliteDb, position: PositionRow, taken: list[AnyRequest]) -> int:
        """One append for the first of these; returns for how many."""
        writing = Writing(db, position, self._seam)
        done = writing.serve(taken)
        self._commit(db, position, writing)
        return done

    def _commit(
        self, db: SqliteDb, position: PositionRow, writing: Writing, *, fresh: bool = False
    ) -> PositionRow:
        """Ledger first, with its fsync; then the index, which may fail and be healed later.

        With ``fresh`` the append is the first of a new active file.
        """
        data, head, active_us = writing.finish()
        if not data:
            db.run("rollback")
            return position
        moved = position._replace(
            seq=head.seq,
            hash=head.hash,
            at=head.at,
            active_us=active_us,
            offset=len(data) if fresh else position.offset + len(data),
        )
        db.many("move_position", [(*moved[2:7],)])
        try:
            if fresh:
                replace_file(self._seam, self.ledger_path, [data])
            else:
                self._opened().append(data, position.offset)
        except OSError as error:
            # What reached the disk is unknown. Whoever opens next finds out and cuts or keeps.
            self._failed = f"the ledger could not be written: {error}"
            raise
        # The append is durable: a lagging index is healed before the next operation.
        with suppress(sqlite3.Error, OSError):
            left = active_stamp(self.ledger_path)
            if fresh:
                db.many("leave_stamp", [stamp_of(self.ledger_path)])
            else:
                db.many("leave_active", [(left,)])
            db.run("commit")
            self._left = left
        return moved

    def _note(self, db: SqliteDb, position: PositionRow, body: AnyBody) -> PositionRow:
        """Appends an event of the store's own and begins the next transaction."""
        writing = Writing(db, position, self._seam)
        writing.note("system", body)
        moved = self._commit(db, position, writing)
        db.run("begin_write")
        if Reads(db).position() != moved:
            # What follows would move the position past rows that are not there.
            raise Moved("the index did not take an event of the store's own")
        return moved

    # The lock, and what is checked under it.

    @contextmanager
    def _locked(self, wait_s: float | None = None) -> Iterator[None]:
        """Holds the ledger's lock; an open index transaction ends with it."""
        with self._lock.held(self._wait_s if wait_s is None else wait_s):
            try:
                yield
            finally:
                if self._index is not None and self._index.in_transaction:
                    with suppress(sqlite3.Error):
                        self._index.run("rollback")

    def _make_folder(self) -> None:
        check_regular(self._folder)
        if self.ledger_path.exists() or self.index_path.exists():
            return
        if not self._create:
            what = f"there is no space {self._name!r} in {self._folder}"
            raise NotFound(what, hint="`recollect init` makes a workspace")
        make_folder(self._seam, self._folder)

    def _refresh(self, *, finish: bool = True, notes: bool = True) -> tuple[SqliteDb, PositionRow]:
        """Under the lock: handles that are still the files' own, and an index up to date.

        An erasure that was interrupted is finished first. Leaves a writing transaction open.
        Without ``notes`` no event of the store's own is added: what is brought next must fit.
        """
        if self._failed is not None:
            raise Unavailable(self._failed, hint=_REOPEN)
        active = self._current_active()
        db = self._current_index()
        db.run("begin_write")
        position = Reads(db).position()
        if position is None:
            raise IntegrityError("the index lost its position", hint="delete index.db")
        if self._left != active_stamp(self.ledger_path):
            seen = Head(position.seq, position.hash, position.at)
            self._left = look_at_changes(db, active, seen, whole=self._unchecked)
        if self._unchecked or position.offset != active.size:
            if db.one("is_position_whole") != (1,):
                raise Undecodable("the place where it stands was changed")
            position = self._catch_up(db, position, notes=notes)
            self._unchecked = False
        if self._left != active_stamp(self.ledger_path):
            self._left = keep_stamp(db, self.ledger_path)
        if notes:
            position = self._opened_with_its_name(db, position)
        if finish and db.one("has_unfinished_erasures", (position.purged,)) is not None:
            self._finish_erasures()
            return self._refresh(finish=False, notes=notes)
        return db, position

    def _current_active(self) -> ActiveFile:
        """The active file, opened again if another process put a new one in its place."""
        path = self.ledger_path
        if self._active is not None and self._active.file_id != file_id(path):
            self._active.close()
            self._active = None
        if self._active is None:
            seen = None if path.exists() else known_head(self.index_path)
            if seen is not None and seen.seq > 0:
                raise index_is_ahead(seen)
            if seen is None and not path.exists() and segments.all_segments(self._folder):
                raise IntegrityError(
                    f"{LEDGER} is missing, but sealed segments of its ledger are there",
                    hint=f"put {LEDGER} back from a backup, or run "
                    "`recollect doctor --accept-loss` to go on with the segments",
                )
            self._active = ActiveFile(path, self._seam)
            self._unchecked = True
        return self._active

    def _current_index(self) -> SqliteDb:
        """The index, opened again or rebuilt if it is not what it was."""
        path = self.index_path
        if self._index is not None and self._index.file_id != file_id(path):
            self._index.close()
            self._index = None
        if self._index is None:
            self._index = self._open_index(path)
            self._unchecked = True
        return self._index

    def _open_index(self, path: Path) -> SqliteDb:
        """An index of this release that reads; anything else is built anew."""
        repair.remove_leftovers(self._seam, self._folder)
        if path.exists() and not self._distrusted:
            try:
                db = open_index(path)
                if is_of_this_release(db):
                    return db
                db.close()
            except sqlite3.Error as error:
                _log.warning(_DAMAGED, self._folder, error)
        self._build(known_head(path))
        self._distrusted = False
        return open_index(path)

    def _build(self, witness: Head | None, progress: Progress | None = None) -> None:
        """A new index from the whole ledger."""
        active = self._current_active()
        try:
            build_index(self._seam, self.index_path, self._name, active, witness, progress)
        except Ahead as ahead:
            raise index_is_ahead(ahead.seen) from ahead

    def _catch_up(self, db: SqliteDb, position: PositionRow, *, notes: bool) -> PositionRow:
        """Folds what the ledger holds beyond the index, and cuts a torn tail."""
        active = self._opened()
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
            aside = repair.torn_name(self._folder, moved.seq)
            count = active.cut(moved.offset, aside)
            if not notes:
                return moved
            moved = self._opened_with_its_name(db, moved)  # whatever was cut, that comes first
            moved = self._note(db, moved, TailCut(bytes=count, kept_as=aside.name))
        return moved

    def _opened_with_its_name(self, db: SqliteDb, position: PositionRow) -> PositionRow:
        """An empty ledger begins with the event that names its space."""
        if position.seq > 0:
            return position
        return self._note(db, position, SpaceOpened(space=self._name))

    def _opened(self) -> ActiveFile:
        if self._active is None:
            raise Unavailable("the memory is closed", hint="open it again")
        return self._active

    # Reading.

    @contextmanager
    def reading(self, at: int = NOW) -> Iterator[Reads]:
        """Reads that all see one state."""
        with self._readers.snapshot() as db:
            yield Reads(db, at=at)

    def heal_or_read_on(self, *, wait: bool) -> None:
        """A disk that takes no writes must not keep an index that is there from being read."""
        try:
            self.heal(wait=wait)
        except ReadOnly:
            self._read_without_writing()
        except Unavailable:
            if known_head(self.index_path) is None:
                raise

    def _read_without_writing(self) -> None:
        """Where nothing can be written, an index that is missing or old is made in memory."""
        if self._aside is None and not is_up_to_date(self.index_path, self.ledger_path):
            self._build_aside()

    def _build_aside(self) -> None:
        if not self.ledger_path.exists():
            raise NotFound(f"there is no space {self._name!r} in {self._folder}")
        with closing(segments.OpenedLedger(self.ledger_path)) as opened:
            self._aside = index_aside(self._name, opened.pieces(), self.ledger_path)

    def open_index(self) -> SqliteDb:
        """A connection that reads: to the file, or to what stands in for it."""
        return open_index(self.index_path) if self._aside is None else self._aside.another()

    @property
    def is_lasting(self) -> bool:
        """True if an index is there that can be read as it is, whatever process holds the lock."""
        return self._aside is not None or is_readable(self.index_path)

    def heal(self, *, wait: bool) -> None:
        """Brings the index up to date, unless somebody is writing and will do so."""
        if self._failed is not None or self._group.is_mine:
            return  # a stopped writer changes nothing; what is indexed can still be read
        if not self._group.turn.acquire(blocking=wait):
            return
        try:
            with self._locked(None if wait else 0):
                self._with_index(self._refresh)
        except BlockingIOError:
            return
        except FOREIGN as error:
            raise as_ours(error) from error
        finally:
            self._group.turn.release()

    def digest(self, at: int = NOW) -> str:
        """The state digest at a position."""
        with self._readers.snapshot() as db:
            return state_digest(db, at)

    def head(self) -> Head:
        """Where the ledger ends."""
        with self.reading() as reads:
            position = reads.position()
        if position is None:
            raise IntegrityError("the index lost its position", hint="delete index.db")
        return Head(position.seq, position.hash, position.at)

    def seen(self) -> Head | None:
        """The last event that the index has folded, as far as it can be asked."""
        return known_head(self.index_path)

    def pieces(self) -> Iterator[bytes]:
        """The ledger's bytes, in pieces, as they lie on the disk when no writer is at work."""
        opened = self._opened_ledger()
        try:
            yield from opened.pieces()
        finally:
            opened.close()

    def _opened_ledger(self) -> segments.OpenedLedger:
        """The files as they are between two appends; where nobody can write, as they are."""
        try:
            with self._exclusive(SHORT_WAIT_S):
                return segments.OpenedLedger(self.ledger_path)
        except ReadOnly:
            try:
                return segments.OpenedLedger(self.ledger_path)
            except OSError as error:
                raise as_ours(error) from error

    def size_bytes(self) -> int:
        """How many bytes ``pieces`` gives, about."""
        with suppress(OSError):
            sealed = segments.all_segments(self._folder)
            return sum(
                os.stat(path).st_size for path in (self.ledger_path, *(s.path for s in sealed))
            )
        return 0

    def vectors(self, name: str, dimensions: int) -> Vectors:
        """The vectors of an embedder, in a file beside the index."""
        from recollect.store.files.vectors import FileVectors

        made = FileVectors(
            self._folder, name, dimensions, self._readers.snapshot, self.index_path, self._seam
        )
        return self._vectors.setdefault((name, dimensions), made)

    # Receiving.

    def begun(self) -> Head:
        """Where the ledger ends, without opening one; a first event alone does not count."""
        with self._exclusive():
            _, position = self._with_index(lambda: self._refresh(notes=False))
            return Head(position.seq, position.hash, position.at) if position.seq > 1 else GENESIS

    def admit(self, line: Line) -> None:
        """Whoever can write the folder can bring anything."""

    def receive(self, pieces: Iterable[bytes], tick: Tick | None = None) -> Head:
        """Appends what a whole ledger of another store holds beyond this one, as it is."""
        with self._exclusive():
            db, position = self._with_index(lambda: self._refresh(notes=False))
            first, pieces = first_hash(pieces)
            is_other = position.seq == 1 and first not in (None, position.hash)
            held = GENESIS if is_other else Head(position.seq, position.hash, position.at)
            found = parcels(pieces, held, self._name)
            if is_other:
                found = chain([next(found)], found)  # it is sound, and this space's: only then
                db, position = self._begin_anew(db)
            for parcel in found:
                position = self._receive(
                    db, position, chain([parcel], found), tick or (lambda done: None)
                )
                db.many("leave_stamp", [stamp_of(self.ledger_path)])
                db.run("commit")
                db.run("begin_write")
            return Head(position.seq, position.hash, position.at)

    def _begin_anew(self, db: SqliteDb) -> tuple[SqliteDb, PositionRow]:
        """Gives up a first event with nothing after it: the index first, which has seen it."""
        db.run("rollback")
        self._readers.drop()
        self._drop_index(build=False)
        drop_index(self._seam, self.index_path)
        self._opened().take_back(0)
        return self._with_index(lambda: self._refresh(notes=False))

    def _receive(
        self, db: SqliteDb, position: PositionRow, found: Iterator[Parcel], tick: Tick
    ) -> PositionRow:
        """One parcel or some; whoever called commits the index.

        What follows an append that is not whole is damage, so of several none may be on the disk
        before the other: a few are synced one by one, many come under one rename. So do those that
        lack bodies, with the events that erased them. What is copied for that doubles each time.
        """
        moved, first, before = position, next(found), self._opened().pieces(0, position.offset)
        if first.settled and len(first.appends) <= _SYNCS_MAX_COUNT:
            moved, offset = fold_parcel(db, position, first), position.offset
            for data in first.data:
                self._write(data, offset)
                offset += len(data)
            tick(first.end)
            return moved

        def stretch() -> Iterator[bytes]:
            nonlocal moved
            for parcel in chain([first], found):
                moved = fold_parcel(db, moved, parcel)
                yield b"".join(parcel.data)
                tick(parcel.end)
                if parcel.settled and moved.offset >= 2 * position.offset:
                    return

        replace_file(self._seam, self.ledger_path, chain(before, stretch()))
        self._current_active()
        return moved

    def _write(self, data: bytes, offset: int) -> None:
        try:
            self._opened().append(data, offset)
        except OSError as error:
            self._failed = f"the ledger could not be written: {error}"
            raise

    # Upkeep.

    def index_problem(self, progress: Progress | None = None) -> str | None:
        """How the index differs from a fresh fold of the ledger; None if it does not."""
        if self._aside is not None:
            return None  # folded from the ledger by this very process
        try:
            return difference(self.index_path, self.ledger_path, self._name, progress)
        except FOREIGN as error:
            raise as_ours(error) from error

    def mend(self, damaged: FileId | None, error: Exception) -> None:
        """Builds a new index in the place of a damaged one, unless another did so since."""
        _log.warning(_DAMAGED, self._folder, error)
        try:
            with self._exclusive():
                if file_id(self.index_path) == damaged:
                    self._drop_index(build=True)
                self._with_index(self._refresh)
        except ReadOnly:
            self._build_aside()

    def rebuild(self, progress: Progress | None = None) -> Rebuilt:
        """Throws the index away and folds the whole ledger again."""
        path = self.index_path
        with self._exclusive():
            if self._failed is not None:
                raise Unavailable(self._failed, hint=_REOPEN)
            self._build(known_head(path), progress)
            self._with_index(self._refresh)
        return Rebuilt(events=self.head().seq, digest=self.digest())

    def purge(self) -> tuple[str, ...]:
        """Finishes every erasure that is on record; names the places it cleaned."""
        with self._exclusive():
            self._with_index(lambda: self._refresh(finish=False))
            return self._finish_erasures()

    def _finish_erasures(self) -> tuple[str, ...]:
        """Under the lock: takes the bodies out of every file; ends the open transaction."""
        db = self._current_index()
        erased = Reads(db).unfinished_erasures()
        db.run("rollback")
        if not erased:
            return ()
        self._readers.drop()
        # Copies first: whoever rebuilds the index takes a ledger without the bodies for proof
        # that the erasure was finished.
        repair.remove_leftovers(self._seam, self._folder)
        space, old = (self._folder, self._name), holders.files_of(self._folder)
        copied = copies.erase_copies(self._seam, *space, self._opened(), erased)
        cleaned, stuck = vector_file.blank(self._seam, self._folder, erased)
        segments.erase_bodies(self._seam, self._opened(), erased)
        db.many("move_offset", [(self._current_active().size,)])
        db.many("leave_stamp", [stamp_of(self.ledger_path)])
        self._index = None
        clean_index(self._seam, self.index_path, db, max(erased.values()))
        return (
            f"{LEDGER}: the bodies of {len(erased)} events",
            f"{INDEX}: rows, full text, free pages and write-ahead log",
            *([f"{vector_file.FOLDER}/: the rows in {cleaned} files"] if cleaned else []),
            *copied,
            *(f"NOT cleaned, could not be written: {path}" for path in stuck),
            *holders.told(old),
        )

    def backup(self, target: str | None, progress: Progress | None = None) -> Backup:
        """Copies the ledger to a new folder; two in one second get two folders.

        Writers wait meanwhile: an erasure must find the copy finished or not begun. Every line is
        checked first: a copy of damage would be found out only when it is needed.
        """
        with self._exclusive():
            _, position = self._with_index(self._refresh)
            head = Head(position.seq, position.hash, position.at)
            check = verify(segments.pieces(self._opened()), seen=head)
            if check.broken_at is not None:
                raise Damage(check.broken_at, f"{check.problem}; no backup was made")
            folder = backup.backup_folder(self._seam, self._folder, target)
            copies.note_backup(self._seam, self._folder, self._name, folder, head)
            active = self._opened()
            pieces, size = segments.pieces(active), segments.size_bytes(active)
            return backup.write_backup(
                self._seam,
                folder,
                self._name,
                head,
                backup.counted(pieces, size, progress),
            )

    def seal(self) -> Sealed:
        """Closes the active file into a segment; the one line of the next says what it came to."""
        with self._exclusive():
            db, position = self._with_index(self._refresh)
            active = self._opened()
            first = active.first_seq() or 1
            head = Head(position.seq, position.hash, position.at)
            digest = state_digest(db, position.seq)
            name = None
            if head.seq > first or clock.is_jump(head.at, self._seam.now()):
                # Otherwise one line says it all already.
                name = segments.close_segment(self._seam, active, head.seq).name
                writing = Writing(db, position, self._seam, is_confirmed=True)
                writing.note("system", sealed_event(first, head, digest))
                self._commit(db, position, writing, fresh=True)
        return what_was_sealed(first, head, digest, name)

    def examine(self, progress: Progress | None = None) -> list[Finding]:
        """What a doctor sees, without changing anything; the index is compared with the ledger."""
        return examine(self._folder, self._name, progress)

    def accept_loss(self, reason: str | None) -> None:
        """Goes on from what the ledger still holds, and leaves an event that says so."""
        with self._exclusive():
            vector_file.clear(self._seam, self._folder)  # numbers will stand for other texts
            seen = known_head(self.index_path)
            lost = not self.ledger_path.exists() and bool(segments.all_segments(self._folder))
            if self._active is not None:
                self._active.close()
            self._active = ActiveFile(self.ledger_path, self._seam)
            number = seen.seq if seen else 0
            lost |= repair.salvage(
                self._seam, self._active, lambda: repair.torn_name(self._folder, number)
            )
            try:
                self._build(seen)
            except IntegrityError:
                lost = True
                self._build(None)
            self._drop_index(build=False)
            db, position = self._with_index(self._refresh)
            missing = unordered(segments.pieces(self._opened()))
            if lost or missing:
                body = LossAccepted(
                    seen_seq=seen.seq if seen else 0,
                    seen_hash=seen.hash if seen else "",
                    reason=reason,
                )
                position = self._note(db, position, body)
            if missing:
                self._order_erasures(db, position, missing)

    def _order_erasures(
        self, db: SqliteDb, position: PositionRow, missing: Mapping[int, int | None]
    ) -> None:
        """Missing bodies get the event that says so; where it was lost, another takes its place.

        The bodies are gone already, so what was set aside stays.
        """
        targets = tuple(seq for seq, by in missing.items() if by is None)
        if targets:
            position = self._note(db, position, EventsErased(targets=targets, reason=_ACCEPTED))
        marks = {seq: position.seq if by is None else by for seq, by in missing.items()}
        segments.erase_bodies(self._seam, self._opened(), marks)
        db.many("move_offset", [(self._current_active().size,)])
        db.many("leave_stamp", [stamp_of(self.ledger_path)])
        db.many("set_purged", [(position.seq,)])
        db.run("commit")

    @contextmanager
    def _exclusive(self, wait_s: float | None = None) -> Iterator[None]:
        """The in-process turn and the lock between processes, both."""
        self.check_usable()
        with self._group.alone():
            try:
                with self._locked(wait_s):
                    yield
            except FOREIGN as error:
                raise as_ours(error) from error

    def check_usable(self) -> None:
        """Neither closed nor inherited: a child must not use its parent's locks."""
        if self._closed:
            raise Unavailable("this memory is closed", hint="open it again")
        if os.getpid() != self._pid:
            what = "this memory was opened before a fork"
            raise Unavailable(what, hint="open it again in the child")

    def close(self) -> None:
        """Writes what waits to ride, lets go of files and connections; twice is fine."""
        self._wait_s = SHORT_WAIT_S
        with suppress(RecollectError):  # a receipt that cannot be written holds up nobody
            self.flush()
        with self._group.turn:
            self._closed = True
            self._readers.close()
            if self._index is not None:
                self._index.close()
                self._index = None
            if self._active is not None:
                self._active.close()
                self._active = None
            self._lock.close()
            if self._aside is not None:
                self._aside.close()
                self._aside = None

    def let_go(self) -> object:
        """In a forked child: nothing inherited keeps the parent's lock, or a turn of its own."""
        self._lock.forget()
        self._group = Group(self._lead)
        inherited = (self._readers, self._index, self._aside)
        self._readers = Readers(self)
        self._index = self._active = self._aside = None
        return inherited
