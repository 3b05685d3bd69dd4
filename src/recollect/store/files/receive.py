"""Receiving the appends of another store's ledger, unchanged.

Responsible for the order in which they reach this ledger's files and its index. Leaves checking
them to ``store.received``, and the lock, which the caller holds, to ``store.files.open_files``.
Invariant: if stopped at any moment, the ledger has whole appends, and the next call continues.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from recollect.index.rows import PositionRow
from recollect.model.events import GENESIS, Head
from recollect.store.disk.disk import replace_file
from recollect.store.files.append import write
from recollect.store.files.build import drop_index
from recollect.store.files.index import SpaceIndex
from recollect.store.files.ledger.stamp import stamp_of
from recollect.store.files.open_files import OpenFiles
from recollect.store.port import Tick
from recollect.store.received import Parcel, first_hash, fold_parcel, parcels
from recollect.store.sqlite import SqliteDb

_SYNCS_MAX_COUNT: Final = 64  # of one parcel; more would cost more than copying


def receive(
    files: OpenFiles, index: SpaceIndex, pieces: Iterable[bytes], tick: Tick | None
) -> Head:
    """Appends the events that another store's ledger has beyond this one."""
    db, position = index.attempt(lambda: index.refresh(notes=False))
    first, pieces = first_hash(pieces)
    is_other = position.seq == 1 and first not in (None, position.hash)
    start = GENESIS if is_other else Head(position.seq, position.hash, position.at)
    found = parcels(pieces, start, files.name, now=files.seam.now())
    if is_other:
        found = chain([next(found)], found)  # raises here if it is damaged or of another space
    if is_other or position.seq == 0:
        files.subjects.begin(first)
    if is_other:
        db, position = begin_anew(files, index, db)
    for parcel in found:
        position = _take(files, db, position, chain([parcel], found), tick or (lambda done: None))
        db.many("leave_stamp", [stamp_of(files.ledger_path)])
        db.run("commit")
        db.run("begin_write")
    return Head(position.seq, position.hash, position.at)


def begin_anew(files: OpenFiles, index: SpaceIndex, db: SqliteDb) -> tuple[SqliteDb, PositionRow]:
    """Gives up a first event with nothing after it: the index first, which has seen it."""
    db.run("rollback")
    files.pool.drop()
    index.drop(build=False)
    drop_index(files.seam, files.index_path)
    files.opened().take_back(0)
    return index.attempt(lambda: index.refresh(notes=False))


def _take(
    files: OpenFiles, db: SqliteDb, position: PositionRow, found: Iterator[Parcel], tick: Tick
) -> PositionRow:
    """Writes one or more parcels; the caller commits the index.

    Bytes after an incomplete append are damage, so the order on the disk matters: a few appends are
    synced one by one, many are written with one rename. So are appends without bodies, together
    with the events that erased them. The amount copied for that doubles each time.
    """
    moved, first, before = position, next(found), files.opened().pieces(0, position.offset)
    if first.settled and len(first.appends) <= _SYNCS_MAX_COUNT:
        moved, offset = fold_parcel(db, position, first, files.subjects), position.offset
        for data in first.data:
            write(files, data, offset)
            offset += len(data)
        tick(first.end)
        return moved

    def stretch() -> Iterator[bytes]:
        nonlocal moved
        for parcel in chain([first], found):
            moved = fold_parcel(db, moved, parcel, files.subjects)
            yield b"".join(parcel.data)
            tick(parcel.end)
            if parcel.settled and moved.offset >= 2 * position.offset:
                return

    replace_file(files.seam, files.ledger_path, chain(before, stretch()))
    files.current_active()
    return moved
