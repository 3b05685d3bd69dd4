"""The files of one space as this process has them open, with the turn and the lock for them.

Responsible for exclusive use (one thread of this process, one process of all that share the folder)
and for the handles to ledger and index. Leaves their use to the modules that take an
``OpenFiles``: ``append``, ``index``, ``erased_bodies``, ``receive``, ``repair`` and ``space``.
Invariants: handles for writing are used only under the lock; an open index transaction ends with
the lock; after a failed write of the ledger, nothing more is written.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from recollect.errors import IntegrityError, NotFound, RecollectError, Unavailable
from recollect.index.rows import PositionRow
from recollect.model.values import Dropped
from recollect.store import figures
from recollect.store.disk.disk import make_folder
from recollect.store.disk.layout import (
    DROPPING,
    INDEX,
    LEDGER,
    LOCK,
    is_dropping,
    is_moved,
    opened_folders,
)
from recollect.store.disk.regular_files import check_regular
from recollect.store.files import drop
from recollect.store.files.build import known_head
from recollect.store.files.copies.foreign import refuse_foreign
from recollect.store.files.ledger import backlog, segments
from recollect.store.files.ledger.active import ActiveFile, moved
from recollect.store.files.ledger.backlog import Backlog, Pace
from recollect.store.files.ledger.resume_point import index_is_ahead
from recollect.store.files.ledger.stamp import stamped
from recollect.store.files.lock import SHORT_WAIT_S, WAIT_S, Lock, ReadOnly
from recollect.store.files.readers import Pool
from recollect.store.group import Group, Lead
from recollect.store.keys.subjects import SubjectKeys, Subjects
from recollect.store.seam import Seam
from recollect.store.sqlite import FOREIGN, SqliteDb, as_ours, file_id

_REOPEN: Final = "close this memory and open it again; nothing acknowledged was lost"


class OpenFiles:
    """The open files of one space in one process; shared by the modules of this package."""

    def __init__(
        self,
        folder: Path,
        name: str,
        seam: Seam,
        lead: Lead,
        *,
        create: bool,
        lock_name: str,
        keys: Callable[[str], SubjectKeys] | None = None,
        note_erased: Callable[[str, Mapping[int, str]], None] | None = None,
    ) -> None:
        self.folder = folder
        self.name = name
        self.seam = seam
        self.ledger_path = folder / LEDGER
        self._ledger = str(self.ledger_path)  # converting a path takes longer than a look at it
        self.index_path = folder / INDEX
        self.subjects = Subjects(keys, lambda: segments.first_hash(folder), seam, note_erased)
        self.group = Group(lead)
        self.pool = Pool()
        self.active: ActiveFile | None = None
        self.index: SqliteDb | None = None
        self.aside: SqliteDb | None = None  # an index in memory, for a read-only disk
        self.backlog: Backlog | None = None  # used under the lock; dropped when anything goes wrong
        self.pace = Pace()
        self.left: str | None = None  # the active file as this process last saw it
        self.failed: str | None = None
        self.distrusted = False  # the index on the disk did not work
        self.unchecked = True  # the index has not been compared with the ledger yet
        self._lead = lead
        self._create = create
        self.lock = Lock(folder / lock_name, seam, self._make_folder, self._gone)
        self._dropping = str(folder / DROPPING)
        self.is_dropped = False  # this process has noticed that the space was dropped
        self.wait_s = WAIT_S
        self._pid = os.getpid()
        self._closed = False

    # The turn and the lock.

    @contextmanager
    def exclusive(self, wait_s: float | None = None) -> Iterator[None]:
        """Holds both the in-process turn and the lock between processes."""
        self.check_usable()
        with self.group.alone():
            try:
                with self.locked(wait_s):
                    yield
            except FOREIGN as error:
                raise as_ours(error) from error

    @contextmanager
    def locked(self, wait_s: float | None = None, *, folds: bool = True) -> Iterator[None]:
        """Holds the lock; an open index transaction ends with it.

        The backlog is folded first, unless the caller goes on with it.
        """
        fd = self.enter(wait_s)
        try:
            if folds:
                self.fold()
                self.backlog = None
            yield
        finally:
            self.leave(fd)

    def enter(self, wait_s: float | None = None) -> int:
        """Takes the lock; the caller gives what it returns to ``leave``."""
        fd = self.lock.take(self.wait_s if wait_s is None else wait_s)
        if self._is_dropping():  # the process that dropped it was interrupted
            try:
                drop.finish(self.seam, self.folder, self.name)
                raise self._gone()
            finally:
                self.lock.release(fd)
        return fd

    def leave(self, fd: int) -> None:
        """Releases the lock; ends an open transaction of the index."""
        try:
            if self.index is not None and self.index.in_transaction:
                with suppress(sqlite3.Error):
                    self.index.run("rollback")
        finally:
            self.lock.release(fd)

    def is_writable(self) -> bool:
        """False on a read-only disk, and in a folder of another account."""
        return self.lock.may_be_taken()

    @property
    def is_closed(self) -> bool:
        """True after ``close``, and in a forked child."""
        return self._closed or os.getpid() != self._pid

    def check_usable(self) -> None:
        """Raises an error if the space is closed, or was opened before a fork."""
        if self._closed:
            raise Unavailable("this memory is closed", hint="open it again")
        if os.getpid() != self._pid:
            what = "this memory was opened before a fork"
            raise Unavailable(what, hint="open it again in the child")

    def check_same(self) -> None:
        """Raises an error if this is not the space that this process opened any more."""
        if self.lock.is_lost or (self.lock.was_held and self._is_dropping()):
            raise self._gone()

    def _is_dropping(self) -> bool:
        return os.path.lexists(self._dropping)

    def check_working(self) -> None:
        """Raises an error after a failed write: it is unknown how much of it reached the disk."""
        if self.failed is not None:
            raise Unavailable(self.failed, hint=_REOPEN)

    def _gone(self) -> RecollectError:
        """The error for a space that is not the one that this process opened any more."""
        if is_moved(self.folder):
            return moved(self.folder)
        self.is_dropped = True
        return NotFound(
            f"the space {self.name!r} in {self.folder} was dropped, or its folder was moved or "
            "replaced, while it was open",
            hint="open it again; `recollect admin dropped` lists what was dropped",
        )

    def _make_folder(self) -> None:
        check_regular(*opened_folders(self.folder))
        if is_dropping(self.folder):
            finish_interrupted(self.seam, self.folder, self.name)
        if self.ledger_path.exists() or self.index_path.exists():
            refuse_foreign(self.folder)
            return
        if not self._create:
            what = f"the space {self.name!r} does not exist in {self.folder}"
            raise NotFound(what, hint="run `recollect init` to create a workspace")
        make_folder(self.seam, self.folder)

    # The backlog.

    def take_backlog(self) -> Backlog | None:
        """The backlog if nothing else has written since, or None; the caller puts it back.

        Rows that are dropped here are in the ledger, and are folded from there.
        """
        taken, self.backlog = self.backlog, None
        if taken is None or self.failed is not None or taken.db is not self.index:
            return None
        active = self.active
        if active is None or self.unchecked:
            return None
        try:
            status = os.stat(self._ledger)
        except OSError:
            return None
        same = (status.st_dev, status.st_ino) == active.file_id and stamped(status) == taken.left
        return taken if same else None

    def fold(self) -> bool:
        """Sends the rows that wait; False if there were none, or if that was not possible."""
        taken = self.take_backlog()
        if not taken:  # none, or an empty one
            self.backlog = taken
            return False
        with suppress(*FOREIGN):  # it is healed before the next operation
            with figures.timed("fold"):
                taken.fold()
            figures.lagging(0)
            self.start_backlog(taken.db, taken.position, taken.left)
            return True
        return False

    def start_backlog(self, db: SqliteDb, position: PositionRow, left: str) -> None:
        """Starts an empty backlog: the index was committed at the ledger's last event."""
        self.left = left
        self.backlog = Backlog(db, position, left)
        if self.active is not None:
            backlog.settle(self.active.file_id, position.seq)

    def fold_if_free(self, min_age_s: float = 0.0) -> bool:
        """Folds what waits; False if it still waits: the memory is in use, or it began just now."""
        with self.group.borrowed(0) as is_mine:
            if not is_mine:
                return False
            try:
                if self.backlog:
                    if time.monotonic() - self.backlog.since_s < min_age_s:
                        return False  # the rows before them were folded by something else
                    with self.locked(0, folds=False):
                        self.fold()
            except BlockingIOError:
                return False
            except (RecollectError, OSError):
                self.backlog = None  # folded from the ledger by the next operation
            return True

    # The ledger's files.

    def stamp(self) -> str:
        """The current stamp of the active file."""
        return stamped(os.stat(self._ledger))

    def current_active(self) -> ActiveFile:
        """The active file, reopened if another process replaced it."""
        path = self.ledger_path
        if self.active is not None and self.active.file_id != file_id(path):
            self.active.close()
            self.active = None
        if self.active is None:
            seen = None if path.exists() else known_head(self.index_path)
            if seen is not None and seen.seq > 0:
                raise index_is_ahead(seen)
            if seen is None and not path.exists() and segments.all_segments(self.folder):
                raise IntegrityError(
                    f"{LEDGER} is missing, but sealed segments of its ledger are there",
                    hint=f"put {LEDGER} back from a backup, or run "
                    "`recollect admin doctor --accept-loss` to go on with the segments",
                )
            self.active = ActiveFile(path, self.seam)
            self.unchecked = True
        return self.active

    def reopen_active(self) -> ActiveFile:
        """Reopens the active file, or creates it if it is missing."""
        if self.active is not None:
            self.active.close()
        self.active = ActiveFile(self.ledger_path, self.seam)
        return self.active

    def opened(self) -> ActiveFile:
        """The active file as it was opened last."""
        if self.active is None:
            raise Unavailable("the memory is closed", hint="open it again")
        return self.active

    @property
    def is_new(self) -> bool:
        """True if nothing was ever written here."""
        with suppress(OSError):  # who opens the file is told why it cannot be read
            is_begun = self.ledger_path.exists() or self.index_path.exists()
            return not is_begun and not segments.all_segments(self.folder)
        return False

    def opened_ledger(self) -> segments.OpenedLedger:
        """The files, opened between two appends; on a read-only disk, as they are."""
        try:
            with self.exclusive(SHORT_WAIT_S):
                return segments.OpenedLedger(self.ledger_path)
        except ReadOnly:
            try:
                return segments.OpenedLedger(self.ledger_path)
            except OSError as error:
                raise as_ours(error) from error

    # The end.

    def hurry(self) -> None:
        """From now on, waits only briefly for the lock."""
        self.wait_s = SHORT_WAIT_S

    def close(self) -> None:
        """Closes files and connections; may be called twice."""
        with self.group.turn:
            self._fold_at_the_end()
            self._closed = True
            self.release()
            self.lock.close()
            if self.aside is not None:
                self.aside.close()
                self.aside = None

    def _fold_at_the_end(self) -> None:
        """Folds what waits, unless another process has the lock: it brings the index up to date."""
        if self.backlog:
            with suppress(RecollectError, OSError), self.locked(0):
                pass
            self.backlog = None
        if self.active is not None and backlog.owed(self.active.file_id):
            head = known_head(self.index_path)  # another process may have folded them
            backlog.settle(self.active.file_id, 0 if head is None else head.seq)

    def release(self) -> None:
        """Closes files and connections before they are deleted, under the lock."""
        self.pool.close()
        if self.index is not None:
            self.index.close()
        if self.active is not None:
            self.active.close()
        self.index = self.active = self.backlog = None

    def forget(self) -> object:
        """Called in a forked child: gives up lock and handles; returns what must not be closed."""
        self.lock.forget()
        self.group = Group(self._lead)
        inherited = (self.pool, self.index, self.aside, self.backlog)
        self.pool = Pool()
        self.index = self.active = self.aside = self.backlog = None
        return inherited


def finish_interrupted(seam: Seam, folder: Path, name: str) -> Dropped | None:
    """Finishes a drop that was interrupted; None if another process has done so."""

    def never() -> None:
        """Creates no folder: there is one."""

    def gone() -> NotFound:
        return NotFound(f"the space {name!r} was dropped")

    lock = Lock(folder / LOCK, seam, never, gone)
    try:
        with lock.held():
            return drop.finish(seam, folder, name)[0] if is_dropping(folder) else None
    except ReadOnly as error:
        raise NotFound(
            f"the space {name!r} was dropped, and {folder} is read-only: its files are still there",
            hint="make the folder writable and open it again, which removes them",
        ) from error
    except Unavailable:
        if folder.exists():
            raise
        return None
    finally:
        lock.close()
