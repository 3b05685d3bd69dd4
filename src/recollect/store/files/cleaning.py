"""Finishing erasures: removing the bodies from every file of a space.

Responsible for the order of the places, and for reporting which were cleaned and which were not.
Leaves each place to its own module, and the lock, which the caller holds, to
``store.files.open_files``. Invariant: copies are cleaned before the ledger, since a ledger without
the bodies is proof that the erasure was finished.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from recollect.index.erasures import unfinished_erasures
from recollect.index.reads import Reads
from recollect.ledger.codec import decode
from recollect.ledger.erasure import lines_of
from recollect.ledger.line import parse, seq_of
from recollect.model.counts import counted
from recollect.model.events import RecordAdded
from recollect.store.files import copies, holders, segments, vector_file
from recollect.store.files.build import clean_index
from recollect.store.files.leftovers import remove_leftovers
from recollect.store.files.open_files import OpenFiles
from recollect.store.files.stamp import stamp_of
from recollect.store.layout import INDEX, LEDGER, VECTORS
from recollect.store.pages import erase_pages, own_folders
from recollect.store.sqlite import SqliteDb


def finish_erasures(files: OpenFiles, db: SqliteDb) -> tuple[str, ...]:
    """Removes the bodies from every file, under the lock; ends the open transaction."""
    erased = unfinished_erasures(Reads(db))
    db.run("rollback")
    if not erased:
        return ()
    files.pool.drop()
    # Copies first: a rebuild of the index takes a ledger without the bodies as proof
    # that the erasure was finished.
    remove_leftovers(files.seam, files.folder)
    space, old = (files.folder, files.name), holders.files_of(files.folder)
    copied = copies.erase_copies(files.seam, *space, erased)
    pages = own_folders(files.folder)
    ids = partial(_erased_records, files, erased)
    rendered = [line for one in pages for line in erase_pages(files.seam, one, erased, ids)]
    cleaned, stuck = vector_file.blank(files.seam, files.folder, erased)
    segments.erase_bodies(files.seam, files.opened(), erased)
    db.many("move_offset", [(files.current_active().size,)])
    db.many("leave_stamp", [stamp_of(files.ledger_path)])
    files.index = None
    clean_index(files.seam, files.index_path, db, max(erased.values()))
    return (
        f"{LEDGER}: the bodies of {counted(len(erased), 'event')}",
        f"{INDEX}: rows, full text, free pages and write-ahead log",
        *([f"{VECTORS}/: the rows in {counted(cleaned, 'file')}"] if cleaned else []),
        *copied,
        *rendered,
        *(f"NOT cleaned, could not be written: {path}" for path in stuck),
        *holders.told(old),
    )


def _erased_records(files: OpenFiles, erased: Collection[int]) -> set[str]:
    """The ids of erased records, from bodies that are still in the ledger."""
    found = (line for line in lines_of(segments.pieces(files.opened())) if seq_of(line) in erased)
    bodies = (decode(parse(line.removesuffix(b"\n"))).body for line in found)
    return {body.id for body in bodies if isinstance(body, RecordAdded)}
