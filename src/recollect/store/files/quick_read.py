"""Reading an index without what writing needs: no lock, no repair, few modules.

Responsible for checking cheaply that an index has folded all of its ledger, and for reading it.
Leaves every other index to ``store.files.space``, which can heal it. Invariants: nothing is
changed; an index is read only if its ledger ends with the event at its position.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Final

from recollect.index.reads import Reads
from recollect.index.rows import PositionRow
from recollect.index.statements import INDEX_VERSION
from recollect.store.disk.layout import INDEX, LEDGER, is_dropping, opened_folders
from recollect.store.disk.regular_files import check_regular, opener
from recollect.store.sqlite import SqliteDb, open_index

_LINE_END_BYTES: Final = 65_536  # a longer last line is left to ``store.files.space``


def quick_read(folder: Path) -> Reads | None:
    """Reads that all see the current state of the ledger; None if the index is not up to date.

    The connection ends with the process: this is for processes that read once and end.
    """
    if is_dropping(folder):
        return None
    try:
        check_regular(*opened_folders(folder))
        if not os.stat(folder / LEDGER).st_size:
            return None  # the index may be another program's, and opening it changes it
        db = open_index(folder / INDEX)
        db.run("begin_read")
        return Reads(db) if _is_up_to_date(db, folder / LEDGER) else None
    except (OSError, sqlite3.Error):
        return None


def _is_up_to_date(db: SqliteDb, ledger: Path) -> bool:
    row = db.one("get_position")
    if row is None or row[0] != INDEX_VERSION:
        return False
    position = PositionRow._make(row)
    if db.one("has_unfinished_erasures", (position.purged,)) is not None:
        return False
    return position.seq > 0 and _ends_with(ledger, position)


def _ends_with(ledger: Path, position: PositionRow) -> bool:
    """True if the ledger ends with the event at the index's position."""
    with open(ledger, "rb", opener=opener) as file:
        size = os.fstat(file.fileno()).st_size
        if size != position.offset:
            return False
        start = max(0, size - _LINE_END_BYTES)
        end = os.pread(file.fileno(), size - start, start)
    line = end[:-1].rpartition(b"\n")[2]
    return (
        end.endswith(b"}\n")
        and b'"seq":%d,' % position.seq in line[:40]
        and b',"hash":"%s",' % position.hash.encode() in line[:1_000]
    )
