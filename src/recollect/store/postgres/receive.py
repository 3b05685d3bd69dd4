"""Receiving the appends of another store's ledger, unchanged.

Responsible for how many of them share a transaction. Leaves checking them to ``store.receiving``
and what the token may write to ``store.grants``. Invariant: if stopped at any moment, the
ledger has whole appends, and the next call continues after them.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager

from recollect.index.rows import PositionRow
from recollect.model.events import Head
from recollect.store.port import Tick
from recollect.store.postgres.db import PostgresDb
from recollect.store.postgres.entry import Entry
from recollect.store.postgres.index import SpaceIndex
from recollect.store.postgres.limited import check_line
from recollect.store.receiving import Parcel, fold_parcel, parcels


def receive(entry: Entry, index: SpaceIndex, pieces: Iterable[bytes], tick: Tick | None) -> Head:
    """Appends the events that another store's ledger has beyond this one."""
    head = entry.existing_head()
    found = parcels(pieces, head)
    while (parcel := next(found, None)) is not None:
        with _receiving(index, head) as (db, held):
            position = _take(entry, db, held, parcel)
            while not parcel.settled:  # erasing events come later: one transaction for all
                parcel = next(found)
                position = _take(entry, db, position, parcel)
        head = parcel.head
        if tick is not None:
            tick(parcel.end)
    return head


def _receiving(
    index: SpaceIndex, head: Head
) -> AbstractContextManager[tuple[PostgresDb, PositionRow]]:
    """A transaction for the next appends; the first received event creates the space."""
    return index.writing(piped=True) if head.seq > 0 else index.folded_anew()


def _take(entry: Entry, db: PostgresDb, position: PositionRow, parcel: Parcel) -> PositionRow:
    """Writes appends unchanged; the end of the transaction commits them with their rows."""
    for append in parcel.appends:
        for line in append.lines:
            check_line(entry.granted(), line)
    moved = fold_parcel(db, position, parcel)
    for data in parcel.data:
        db.ask("append", {"lines": data.split(b"\n")[:-1]})
    return moved
