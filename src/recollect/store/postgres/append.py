"""An append: lines for the ledger, and the position of the index after them.

Responsible for sending both in one statement. Leaves what is in an append to ``store.writing`` and
the transaction, which holds the space's lock, to ``store.postgres.index``. Invariant: ledger and
index are committed together, at the end of the transaction.
"""

from __future__ import annotations

from recollect.index.rows import PositionRow
from recollect.model.events import AnyBody
from recollect.store.postgres.db import PostgresDb
from recollect.store.seam import Seam
from recollect.store.writing import Writing


def put(db: PostgresDb, position: PositionRow, writing: Writing) -> PositionRow:
    """Adds the append to the ledger and moves the index; the caller commits both."""
    data, head, active_us = writing.finish()
    if not data:
        return position
    moved = position._replace(
        seq=head.seq,
        hash=head.hash,
        at=head.at,
        active_us=active_us,
        offset=position.offset + len(data),
    )
    params = {"lines": data.split(b"\n")[:-1], "active_us": active_us, "offset": moved.offset}
    db.ask("append_and_move", params)
    return moved


def note(db: PostgresDb, position: PositionRow, seam: Seam, body: AnyBody) -> PositionRow:
    """Appends an event of the store itself."""
    writing = Writing(db, position, seam, is_confirmed=True)
    writing.note("system", body)
    return put(db, position, writing)
