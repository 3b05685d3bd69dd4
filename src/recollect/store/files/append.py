"""An append: the ledger first, with its fsync, then the index.

Responsible for the order in which one append reaches the disk. Leaves what is in it to
``store.writing``, and the lock, which the caller holds, to ``store.files.held``. Invariants: the
fsync of the ledger is the commit point; the index's committed position is a durable watermark, and
an index that lags behind is healed before the next operation.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress

from recollect.index.reads import Reads
from recollect.index.rows import PositionRow
from recollect.model.events import AnyBody
from recollect.store.disk import replace_file
from recollect.store.files.held import Held
from recollect.store.files.stamp import active_stamp, stamp_of
from recollect.store.sqlite import Moved, SqliteDb
from recollect.store.writing import Writing


def commit(
    held: Held, db: SqliteDb, position: PositionRow, writing: Writing, *, fresh: bool = False
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
    if fresh:
        _begin_file(held, data)
    else:
        write(held, data, position.offset)
    # The append is durable: a lagging index is healed before the next operation.
    with suppress(sqlite3.Error, OSError):
        left = active_stamp(held.ledger_path)
        if fresh:
            db.many("leave_stamp", [stamp_of(held.ledger_path)])
        else:
            db.many("leave_active", [(left,)])
        db.run("commit")
        held.left = left
    return moved


def note(held: Held, db: SqliteDb, position: PositionRow, body: AnyBody) -> PositionRow:
    """Appends an event of the store's own and begins the next transaction."""
    writing = Writing(db, position, held.seam)
    writing.note("system", body)
    moved = commit(held, db, position, writing)
    db.run("begin_write")
    if Reads(db).position() != moved:
        # What follows would move the position past rows that are not there.
        raise Moved("the index did not take an event of the store's own")
    return moved


def write(held: Held, data: bytes, offset: int) -> None:
    """The bytes of an append, synced; nothing is written after one that failed."""
    try:
        held.opened().append(data, offset)
    except OSError as error:
        _fail(held, error)
        raise


def _begin_file(held: Held, data: bytes) -> None:
    """The same as the first bytes of a new active file."""
    try:
        replace_file(held.seam, held.ledger_path, [data])
    except OSError as error:
        _fail(held, error)
        raise


def _fail(held: Held, error: OSError) -> None:
    # What reached the disk is unknown. The next process to open it finds out and cuts or keeps.
    held.failed = f"the ledger could not be written: {error}"
