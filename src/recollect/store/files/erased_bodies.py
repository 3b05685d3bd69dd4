"""Finishing erasures: removing the bodies from every file of a space.

Responsible for the order of the places, and for reporting which were cleaned and which were not.
Leaves each place to its own module, and the lock, which the caller holds, to
``store.files.open_files``. Invariant: copies are cleaned before the ledger, since a ledger without
the bodies is proof that the erasure was finished.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from functools import partial

from recollect.errors import RecollectError
from recollect.index.erasures import unfinished_erasures
from recollect.index.reads import Reads
from recollect.ledger.codec import decode
from recollect.ledger.erasure import lines_of, orders_in
from recollect.ledger.line import claimed, parse, seq_of, subject_of
from recollect.model.counts import counted
from recollect.model.events import RecordAdded, RecordRevised
from recollect.store.disk.layout import BACKUPS, INDEX, LEDGER, SNAPSHOT, VECTORS, half_made
from recollect.store.exports import remove_exports
from recollect.store.files import vector_file
from recollect.store.files.build import clean_index
from recollect.store.files.copies import copies, holders, leftovers
from recollect.store.files.copies.own_files import is_snapshot
from recollect.store.files.copies.projections import remove_projections
from recollect.store.files.ledger import segments
from recollect.store.files.ledger.stamp import stamp_of
from recollect.store.files.open_files import OpenFiles
from recollect.store.pages.page_entries import Gone
from recollect.store.pages.page_notes import is_of
from recollect.store.pages.pages import erase_pages, own_folders
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
    leftovers.remove_leftovers(files.seam, files.folder)
    space, old = (files.folder, files.name), holders.files_of(files.folder)
    lines = _lines(files, {*erased, *erased.values()})
    orders, noted = orders_in(lines, erased), _noted(files, lines, erased)
    named = (one for one in map(subject_of, lines) if one is not None)
    locked = {seq for seq, subject in named if subject in orders}
    copied = copies.erase_copies(files.seam, *space, erased, locked)
    pages = own_folders(files.folder)
    gone, is_ours = partial(_erased_records, files, lines, erased), partial(is_of, Reads(db))
    rendered = [
        line for one in pages for line in erase_pages(files.seam, one, erased, is_ours, gone)
    ]
    projected = remove_projections(files.seam, files.folder)
    snapshot = _remove_snapshot(files)
    exported = remove_exports(files.seam, *space, min(erased))
    cleaned, stuck = vector_file.blank(files.seam, files.folder, erased)
    # Keys before bodies: a ledger without the bodies is proof. After what needs them to be read.
    destroyed = files.subjects.destroy(orders, max(orders.values(), default=0))
    segments.erase_bodies(files.seam, files.opened(), erased)
    db.many("move_offset", [(files.current_active().size,)])
    db.many("leave_stamp", [stamp_of(files.ledger_path)])
    files.index = None
    clean_index(files.seam, files.index_path, db, max(erased.values()))
    return (
        f"{LEDGER}: the bodies of {counted(len(erased), 'event')}",
        f"{INDEX}: rows, full text, free pages and write-ahead log",
        *destroyed,
        *noted,
        *([f"{VECTORS}/: the rows in {counted(cleaned, 'file')}"] if cleaned else []),
        *copied,
        *rendered,
        *projected,
        *snapshot,
        *exported,
        *(f"NOT cleaned, could not be written: {path}" for path in stuck),
        *_others(files),
        *holders.told(old),
    )


def _remove_snapshot(files: OpenFiles) -> list[str]:
    """Removes the snapshot, which shows every record; it can be written again."""
    told = []
    for path in (files.folder / SNAPSHOT, half_made(files.folder / SNAPSHOT)):
        if path.is_symlink() or is_snapshot(path, segments.pieces(files.opened())):
            files.seam.unlink(path)
            told.append(f"{path.name}: removed")
        elif os.path.lexists(path):
            told.append(f"NOT removed, not a snapshot of this memory: {path}")
    return told


def _others(files: OpenFiles) -> list[str]:
    """Files with names that a memory gives, which a memory did not make."""
    found = (*vector_file.others(files.folder), *leftovers.others(files.folder))
    return [f"NOT checked, not a file of Recollect: {path}" for path in found]


def _lines(files: OpenFiles, wanted: Collection[int]) -> list[bytes]:
    """The lines of these events."""
    return [raw for raw in lines_of(segments.pieces(files.opened())) if seq_of(raw) in wanted]


def _noted(files: OpenFiles, lines: list[bytes], erased: Collection[int]) -> list[str]:
    """Notes numbers and hashes outside the workspace; returns why that was not possible.

    Only for a memory of which a backup was made: nothing else is restored.
    """
    if not (files.folder / BACKUPS).exists():
        return []
    claims = (claimed(raw) for raw in lines)
    heads = (claim.head for claim in claims if claim is not None)
    try:
        files.subjects.note_erased({head.seq: head.hash for head in heads if head.seq in erased})
    except RecollectError as error:
        return [f"NOT noted outside of the workspace, for backups of before: {error}"]
    return []


def _erased_records(files: OpenFiles, lines: list[bytes], erased: Collection[int]) -> Gone:
    """The ids and the texts of erased records, from bodies that are still in the ledger."""
    found = (parse(raw.removesuffix(b"\n")) for raw in lines if seq_of(raw) in erased)
    bodies = [decode(line, files.subjects).body for line in found]
    texts = (body.text for body in bodies if isinstance(body, RecordAdded | RecordRevised))
    return Gone(
        {body.id for body in bodies if isinstance(body, RecordAdded)},
        {text for text in texts if isinstance(text, str) and text},
    )
