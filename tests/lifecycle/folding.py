"""An index that some events lead to, without a ledger."""

from __future__ import annotations

from collections.abc import Iterable

from recollect.index.fold import Clock, Fold
from recollect.index.tables import Tables
from recollect.model import events as e
from recollect.store.sqlite import SqliteDb, memory_index
from tests.bodies import AT

Event = tuple[e.Origin, e.AnyBody]


def index_of(events: Iterable[Event]) -> SqliteDb:
    """The index after these events; the caller closes it."""
    db = memory_index("main")
    tables = Tables(db)
    fold = Fold(tables, Clock(e.GENESIS.at, 0))
    for seq, (origin, body) in enumerate(events, 1):
        fold.event(seq, AT, origin, body)
    tables.flush()
    return db
