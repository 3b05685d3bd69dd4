"""Finishing erasures: the bodies leave every file of a space.

Responsible for the order of the places, and for saying which were cleaned and which were not.
Leaves each place to its own module, and the lock, which the caller holds, to ``store.files.held``.
Invariant: copies are cleaned before the ledger, since a ledger without the bodies is taken for
proof that the erasure was finished.
"""

from __future__ import annotations

from recollect.index.reads import Reads
from recollect.store.files import copies, holders, segments, vector_file
from recollect.store.files.build import clean_index
from recollect.store.files.held import Held
from recollect.store.files.leftovers import remove_leftovers
from recollect.store.files.stamp import stamp_of
from recollect.store.layout import INDEX, LEDGER
from recollect.store.sqlite import SqliteDb


def finish_erasures(held: Held, db: SqliteDb) -> tuple[str, ...]:
    """Under the lock: takes the bodies out of every file; ends the open transaction."""
    erased = Reads(db).unfinished_erasures()
    db.run("rollback")
    if not erased:
        return ()
    held.pool.drop()
    # Copies first: whoever rebuilds the index takes a ledger without the bodies for proof
    # that the erasure was finished.
    remove_leftovers(held.seam, held.folder)
    space, old = (held.folder, held.name), holders.files_of(held.folder)
    copied = copies.erase_copies(held.seam, *space, held.opened(), erased)
    cleaned, stuck = vector_file.blank(held.seam, held.folder, erased)
    segments.erase_bodies(held.seam, held.opened(), erased)
    db.many("move_offset", [(held.current_active().size,)])
    db.many("leave_stamp", [stamp_of(held.ledger_path)])
    held.index = None
    clean_index(held.seam, held.index_path, db, max(erased.values()))
    return (
        f"{LEDGER}: the bodies of {len(erased)} events",
        f"{INDEX}: rows, full text, free pages and write-ahead log",
        *([f"{vector_file.FOLDER}/: the rows in {cleaned} files"] if cleaned else []),
        *copied,
        *(f"NOT cleaned, could not be written: {path}" for path in stuck),
        *holders.told(old),
    )
