"""An append: the ledger first, with its fsync, then the index.

Responsible for the order in which one append reaches the disk. Leaves what is in it to
``store.writing``, and the lock, which the caller holds, to ``store.files.open_files``. Invariants:
the fsync of the ledger is the commit point; events up to the index's committed position are
durable, and a lagging index is healed before the next operation.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress

from recollect.index.reads import Reads
from recollect.index.rows import PositionRow
from recollect.model.events import AnyBody
from recollect.store.disk import replace_file
from recollect.store.files.open_files import OpenFiles
from recollect.store.files.stamp import active_stamp, stamp_of
from recollect.store.sqlite import Moved, SqliteDb
from recollect.store.writing import Writing


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
    moved = position._replace(
        seq=head.seq,
        hash=head.hash,
        at=head.at,
        active_us=active_us,
        offset=len(data) if fresh else position.offset + len(data),
    )
    db.many("move_position", [(*moved[2:7],)])
    if fresh:
        _begin_file(files, data)
    else:
        write(files, data, position.offset)
    # The append is durable: a lagging index is healed before the next operation.
    with suppress(sqlite3.Error, OSError):
        left = active_stamp(files.ledger_path)
        if fresh:
            db.many("leave_stamp", [stamp_of(files.ledger_path)])
        else:
            db.many("leave_active", [(left,)])
        db.run("commit")
        files.left = left
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
