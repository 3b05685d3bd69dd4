"""Receiving the appends of another store's ledger, unchanged.

Responsible for how many of them share a transaction. Leaves checking them to ``store.receiving``
and what the token may write to ``store.grants``. Invariant: if stopped at any moment, the
ledger has whole appends, and the next call continues after them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import AbstractContextManager

from recollect.index.rows import PositionRow
from recollect.ledger.cipher import Ciphers
from recollect.ledger.codec import decode
from recollect.model.events import EventsErased, Head
from recollect.store.port import Tick
from recollect.store.postgres.db import PostgresDb
from recollect.store.postgres.entry import Entry
from recollect.store.postgres.index import SpaceIndex
from recollect.store.postgres.subjects import SpaceSubjects
from recollect.store.receiving import Parcel, first_hash, fold_parcel, parcels
from recollect.store.wrapped_keys import Wrapped


def receive(
    entry: Entry,
    index: SpaceIndex,
    subjects: SpaceSubjects,
    pieces: Iterable[bytes],
    tick: Tick | None,
    keys: Collection[Wrapped],
) -> Head:
    """Appends the events that another store's ledger has beyond this one, after their keys."""
    head = entry.existing_head()
    first, pieces = first_hash(pieces)
    found = parcels(pieces, head)
    while (parcel := next(found, None)) is not None:
        with _receiving(index, head) as (db, held):
            ciphers = subjects.within(db, first)
            if keys:
                ciphers.keys.take(keys)
                keys = ()
            orders = _orders(parcel)
            position = _take(entry, db, held, parcel, ciphers)
            while not parcel.settled:  # erasing events come later: one transaction for all
                parcel = next(found)
                orders |= _orders(parcel)
                position = _take(entry, db, position, parcel, ciphers)
            subjects.destroy(db, orders)  # with the order itself: no writer comes between
        head = parcel.head
        if tick is not None:
            tick(parcel.end)
    return head


def _receiving(
    index: SpaceIndex, head: Head
) -> AbstractContextManager[tuple[PostgresDb, PositionRow]]:
    """A transaction for the next appends; the first received event creates the space."""
    return index.writing(piped=True) if head.seq > 0 else index.folded_anew()


def _orders(parcel: Parcel) -> dict[str, int]:
    """The subjects whose keys these events order destroyed, each with the event that does."""
    lines = [line for append in parcel.appends for line in append.lines]
    bodies = [(decode(line).body, line.seq) for line in lines if line.is_erasure and line.data]
    return {
        subject: seq
        for body, seq in bodies
        if isinstance(body, EventsErased)
        for subject in body.subjects
    }


def _take(
    entry: Entry, db: PostgresDb, position: PositionRow, parcel: Parcel, ciphers: Ciphers
) -> PositionRow:
    """Writes appends unchanged; the end of the transaction commits them with their rows."""
    for append in parcel.appends:
        for line in append.lines:
            entry.granted().check_line(line)
    moved = fold_parcel(db, position, parcel, ciphers)
    for data in parcel.data:
        db.ask("append", {"lines": data.split(b"\n")[:-1]})
    return moved
