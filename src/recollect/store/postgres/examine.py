"""The findings of ``doctor`` about a space on a server.

Responsible for the list of findings, for a token for the whole space and for one user. Leaves the
checks to ``store.postgres.check`` and those of the server to ``store.postgres.pool``. Invariant:
nothing is changed.
"""

from __future__ import annotations

from recollect.errors import ConfigError
from recollect.index.reads import Reads
from recollect.model.counts import counted
from recollect.model.values import Finding
from recollect.store.port import Progress
from recollect.store.postgres.build import head_of, pieces
from recollect.store.postgres.check import (
    difference,
    difference_found,
    unreadable,
    unreadable_found,
)
from recollect.store.postgres.entry import Entry
from recollect.store.postgres.index import SpaceIndex
from recollect.store.postgres.subjects import SpaceSubjects


def examine(
    entry: Entry, index: SpaceIndex, subjects: SpaceSubjects, progress: Progress | None
) -> list[Finding]:
    """The findings about the ledger, the index and the server."""
    try:
        found = _findings(entry, index, subjects, progress)
    except ConfigError as error:  # a key that is not here, or the master key
        found = [Finding(level="problem", what="keys", detail=error.message, fix=error.hint)]
    return [*found, *entry.pool.findings()]


def _findings(
    entry: Entry, index: SpaceIndex, subjects: SpaceSubjects, progress: Progress | None
) -> list[Finding]:
    if entry.granted().user is not None:
        return [entry.granted().not_looked_at()]
    with index.snapshot() as db:
        ciphers = subjects.within(db)
        count, bad = head_of(Reads(db).position()).seq, unreadable(pieces(db), ciphers)
        problem = None if bad else difference(db, entry.name, ciphers, progress)
    if bad:
        return [unreadable_found(bad)]
    detail = f"{counted(count, 'event')} on {entry.pool.where}"
    ledger = Finding(level="ok", what="ledger", detail=detail)
    return [ledger] if problem is None else [ledger, difference_found(problem)]
