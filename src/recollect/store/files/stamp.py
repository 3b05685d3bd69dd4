"""What the ledger's files looked like when this engine last let go of them.

Responsible for a stamp that a change from outside alters (inode, size and time of change), and for
a walk over the ledger when it is not the one that was left. Leaves when to look to
``store.files.index``. Invariant: as long as nobody else changes the files, no file is read for it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from recollect.ledger.scan import Damage
from recollect.ledger.verify import verify
from recollect.model.events import Head
from recollect.store.files import segments
from recollect.store.files.active import ActiveFile
from recollect.store.sqlite import SqliteDb


class Stamp(NamedTuple):
    """The active file, and the closed segments, which a write need not look at."""

    active: str
    sealed: str


def active_stamp(ledger: Path) -> str:
    """The active file as it is now."""
    status = os.stat(ledger)
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns}"


def stamp_of(ledger: Path) -> Stamp:
    """All files of a ledger as they are now."""
    sealed = (segment.path for segment in segments.all_segments(ledger.parent))
    return Stamp(
        active_stamp(ledger), "; ".join(f"{path.name} {active_stamp(path)}" for path in sealed)
    )


def look_at_changes(db: SqliteDb, active: ActiveFile, seen: Head, *, whole: bool) -> str:
    """Walks a ledger once that is not as an index, of whatever process, says it was left.

    Another process's append leaves its stamp with the rows. What else is new is a crash, a copy or
    a hand: damage is named then, and anything else is caught up with as usual. With ``whole`` the
    segments count too. Returns the active file's stamp.
    """
    now, kept = stamp_of(active.path), db.one("get_stamp")
    same = kept == now if whole else kept is not None and kept[0] == now.active
    if same:
        return now.active
    check = verify(segments.pieces(active))
    if check.problem is not None and check.events < seen.seq:  # what looks torn was whole before
        check = verify(segments.pieces(active), seen=seen)
    if check.broken_at is not None:
        raise Damage(check.broken_at, f"{check.problem}; the file was changed from outside")
    return keep_stamp(db, active.path)


def keep_stamp(db: SqliteDb, ledger: Path) -> str:
    """What was looked at need not be looked at again; begins the next transaction."""
    now = stamp_of(ledger)
    if db.one("get_stamp") != now:
        db.many("leave_stamp", [now])
        db.run("commit")
        db.run("begin_write")
    return now.active
