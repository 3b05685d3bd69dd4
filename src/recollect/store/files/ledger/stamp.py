"""The state of the ledger's files when this engine last closed or wrote them.

Responsible for a stamp that any change from outside alters (inode, size and time of change), and
for checking the ledger when the stamp differs. Leaves when to check to ``store.files.index``.
Invariant: as long as nothing else changes the files, no file is read for it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from recollect.ledger.scan import Damage
from recollect.ledger.verify import verify
from recollect.model.events import Head
from recollect.store.checkpoints.walk import walk_for
from recollect.store.files.ledger import segments
from recollect.store.files.ledger.active import ActiveFile
from recollect.store.sqlite import SqliteDb


class Stamp(NamedTuple):
    """The stamps of the active file and of the closed segments, which a write need not check."""

    active: str
    sealed: str


def active_stamp(ledger: Path) -> str:
    """The current stamp of the active file."""
    return stamped(os.stat(ledger))


def stamped(status: os.stat_result) -> str:
    """The stamp of a file."""
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns}"


def noted_offset(note: str, ledger: os.stat_result) -> int:
    """The length of the active file in a stamp that was noted; 0 if it is of another file."""
    found = re.fullmatch(r"(\d+) (\d+) \d+", note, re.ASCII)
    if found is None or int(found[1]) != ledger.st_ino or int(found[2]) > ledger.st_size:
        return 0
    return int(found[2])


def stamp_of(ledger: Path) -> Stamp:
    """The current stamp of all files of a ledger."""
    sealed = (segment.path for segment in segments.all_segments(ledger.parent))
    return Stamp(
        active_stamp(ledger), "; ".join(f"{path.name} {active_stamp(path)}" for path in sealed)
    )


def look_at_changes(
    db: SqliteDb, active: ActiveFile, seen: Head, *, whole: bool, noted: str
) -> str:
    """Checks a ledger once if its stamp differs from the one stored in the index.

    An append of another process stores its stamp with the rows; while these wait in its memory, the
    stamp is ``noted`` in the lock. Any other change is from a crash, a copy or a person: damage
    raises an error, and new events are folded as usual. With ``whole`` the segments are checked
    too. Returns the stamp of the active file.
    """
    now, kept = stamp_of(active.path), db.one("get_stamp")
    if kept is not None and now.active in (kept[0], noted) and (not whole or kept[1] == now.sealed):
        return now.active
    walk = walk_for(segments.size_bytes(active))
    check = verify(segments.pieces(active), walk=walk)
    if check.problem is not None and check.events < seen.seq:  # a torn tail that was whole before
        check = verify(segments.pieces(active), seen=seen, walk=walk)
    if check.broken_at is not None:
        raise Damage(check.broken_at, f"{check.problem}; the file was changed from outside")
    return keep_stamp(db, active.path)


def keep_stamp(db: SqliteDb, ledger: Path) -> str:
    """Stores the stamp, so that the check is not repeated; begins the next transaction."""
    now = stamp_of(ledger)
    if db.one("get_stamp") != now:
        db.many("leave_stamp", [now])
        db.run("commit")
        db.run("begin_write")
    return now.active
