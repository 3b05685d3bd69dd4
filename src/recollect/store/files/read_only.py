"""Reading where nothing can be written: a disk mounted read-only, a folder of another account.

Responsible for deciding whether an index can be read as it is, and for building one in memory if
not. Leaves when to do so to ``store.files.catch_up``. Invariant: nothing is written, not even
outside of the folder.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path

from recollect.index.reads import Reads
from recollect.index.rows import Undecodable
from recollect.ledger.cipher import Ciphers
from recollect.store.fold_ledger import fold_whole
from recollect.store.sqlite import SqliteDb, is_of_this_release, look_into, shared_index


def is_readable(index: Path) -> bool:
    """True if there is an index of this release."""
    with suppress(sqlite3.Error, Undecodable), closing(look_into(index)) as db:
        return is_of_this_release(db)
    return False


def is_up_to_date(index: Path, ledger: Path) -> bool:
    """True if there is an index of this release that has folded all of its ledger."""
    with suppress(sqlite3.Error, Undecodable, OSError), closing(look_into(index)) as db:
        position = Reads(db).position()
        is_there = position is not None and position.offset == os.stat(ledger).st_size
        return is_there and is_of_this_release(db)
    return False


def index_aside(
    space: str, pieces: Iterable[bytes], ledger: Path, ciphers: Ciphers | None = None
) -> SqliteDb:
    """An index of a whole ledger in memory; it lives as long as this connection."""
    db = shared_index(space)
    db.run("begin_write")
    folded = fold_whole(db, pieces, None, 0, ciphers=ciphers)
    head, size = folded.head, os.stat(ledger).st_size
    db.many("move_position", [(head.seq, head.hash, head.at, folded.active_us, size)])
    db.many("set_purged", [(folded.erasures.purged,)])
    db.run("commit")
    db.complete()
    return db
