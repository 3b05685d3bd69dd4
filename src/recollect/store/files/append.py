"""An append: the ledger first, with its fsync, then the index.

Responsible for the order in which one append reaches the disk, and for which rows may wait in the
backlog. Leaves what is in an append to ``store.write_path``, and the lock, which the caller holds,
to ``store.files.open_files``. Invariants: the fsync of the ledger is the commit point; events up to
the index's committed position are durable, and a lagging index is healed before the next operation.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Final

from recollect.index.reads import Reads
from recollect.index.rows import PositionRow
from recollect.model.events import AnyBody, Head
from recollect.store import figures
from recollect.store.disk.disk import replace_file
from recollect.store.files.ledger import quiet
from recollect.store.files.ledger.backlog import Backlog, owe
from recollect.store.files.ledger.stamp import stamp_of
from recollect.store.files.open_files import OpenFiles
from recollect.store.sqlite import Moved, SqliteDb
from recollect.store.write_path import Writing

# Rows wait only while the disk has this much room: on a full one they might never be folded.
ROOM_MIN_BYTES: Final = 64 << 20


def append(files: OpenFiles, backlog: Backlog, writing: Writing) -> None:
    """Writes the ledger, with its fsync. The rows wait if they may, else the index commits.

    The caller has taken the backlog; it is put back when all is done.
    """
    data, head, active_us = writing.chained()
    before = backlog.position
    if not data:  # every command was refused, or had nothing to change
        files.backlog = backlog
        if backlog.is_sent:
            files.fold()
        return
    moved = moved_to(before, head, active_us, before.offset + len(data))
    waits = _may_wait(files, backlog, writing, data)
    if not waits:
        backlog.send(moved)
    write(files, data, before.offset)
    if waits:
        _hold(files, backlog, moved)
    else:
        _finish(files, backlog.db, moved)


def _may_wait(files: OpenFiles, backlog: Backlog, writing: Writing, data: bytes) -> bool:
    if backlog.is_sent or not writing.is_plain:
        return False
    if not backlog.has_room(writing.count, len(data)):
        return False
    return bool(backlog) or (files.pace.lets_wait() and _has_room(files.folder))


def _has_room(folder: Path) -> bool:
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize >= ROOM_MIN_BYTES


def _hold(files: OpenFiles, backlog: Backlog, moved: PositionRow) -> None:
    """Keeps the rows of an append that is durable."""
    owe(files.opened().file_id, moved.seq)
    try:
        left = files.stamp()
    except OSError:
        return  # changed from outside: the next operation looks at it
    backlog.add(moved, left)
    files.left, files.backlog = left, backlog
    figures.lagging(len(backlog))
    if not files.lock.leave_note(left) or not quiet.soon(files):
        files.fold()


def _finish(files: OpenFiles, db: SqliteDb, moved: PositionRow, *, fresh: bool = False) -> None:
    """Commits the index after the ledger; if it fails, it is healed before the next operation."""
    with suppress(sqlite3.Error, OSError):
        left = files.stamp()
        if fresh:
            db.many("leave_stamp", [stamp_of(files.ledger_path)])
        else:
            db.many("leave_active", [(left,)])
        db.run("commit")
        files.start_backlog(db, moved, left)


def moved_to(position: PositionRow, head: Head, active_us: int, offset: int) -> PositionRow:
    """The position of an index after more events."""
    version, space, purged = position.version, position.space, position.purged
    return PositionRow(version, space, head.seq, head.hash, head.at, active_us, offset, purged)


def commit(
    files: OpenFiles, db: SqliteDb, position: PositionRow, writing: Writing, *, fresh: bool = False
) -> PositionRow:
    """Writes the ledger, with its fsync, then the index, which may fail and be healed later.

    With ``fresh`` the append is the first of a new active file.
    """
    data, head, active_us = writing.finish()
    if not data:
        db.run("rollback")
        return position
    offset = len(data) if fresh else position.offset + len(data)
    moved = moved_to(position, head, active_us, offset)
    db.many("move_position", [(*moved[2:7],)])
    if fresh:
        _begin_file(files, data)
    else:
        write(files, data, position.offset)
    _finish(files, db, moved, fresh=fresh)
    return moved


def note(files: OpenFiles, db: SqliteDb, position: PositionRow, body: AnyBody) -> PositionRow:
    """Appends an event of the store itself and begins the next transaction."""
    writing = Writing(db, position, files.seam)
    writing.note("system", body)
    moved = commit(files, db, position, writing)
    db.run("begin_write")
    if Reads(db).position() != moved:
        # Going on would move the position past missing rows.
        raise Moved("the index refused an event that the store itself made")
    return moved


def write(files: OpenFiles, data: bytes, offset: int) -> None:
    """Writes and syncs an append; after a failure, nothing more is written."""
    try:
        files.opened().append(data, offset)
    except OSError as error:
        _fail(files, error)
        raise


def _begin_file(files: OpenFiles, data: bytes) -> None:
    """Writes the append as the first bytes of a new active file."""
    try:
        replace_file(files.seam, files.ledger_path, [data])
    except OSError as error:
        _fail(files, error)
        raise


def _fail(files: OpenFiles, error: OSError) -> None:
    # It is unknown how much reached the disk. The next process to open the file keeps or cuts it.
    files.failed = f"the ledger could not be written: {error}"
