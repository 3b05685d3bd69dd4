"""Finishing erasures: removing bodies from the ledger and vectors from their table.

Responsible for reporting which places were cleaned and which were not. Leaves pages of tables and
indexes to ``store.postgres.vacuum``, and the transaction to ``store.postgres.index``. Invariant: an
erasure is marked as finished in the transaction that removes the bodies.
"""

from __future__ import annotations

from typing import NamedTuple

from recollect.index.erasures import unfinished_erasures
from recollect.index.reads import Reads
from recollect.model.counts import counted
from recollect.store.postgres import schema
from recollect.store.postgres.db import PostgresDb
from recollect.store.postgres.subjects import SpaceSubjects, orders_of
from recollect.store.postgres.vacuum import NOT_YET, not_reached


class Finished(NamedTuple):
    """What was done about erasures."""

    places: tuple[str, ...] = ()
    keys: bool = False  # some were destroyed


def finish_erasures(db: PostgresDb, subjects: SpaceSubjects) -> Finished:
    """Removes the bodies, in a write transaction; tells the places that it cleaned."""
    erased = unfinished_erasures(Reads(db))
    if not erased:
        return Finished()
    orders = orders_of(db, erased)
    told = [*subjects.finish(db, orders), *subjects.note_erased(db, erased)]
    db.ask("erase_bodies", {"seqs": list(erased), "by": list(erased.values())})
    db.many("set_purged", [(max(erased.values()),)])
    kept = schema.has_vectors(db.connection)
    if kept:
        db.ask("drop_vectors", {"seqs": list(erased)})
    places = (
        f"events: the bodies of {counted(len(erased), 'event')}",
        "index: rows and postings",
        *(["vectors: rows"] if kept else []),
        *told,
        NOT_YET,
        *not_reached(db.connection),
    )
    return Finished(places, keys=bool(orders))
