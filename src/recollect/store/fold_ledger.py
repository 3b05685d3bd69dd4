"""Folding a whole ledger into an empty index.

Responsible for folding all events, or those up to a position. Leaves the source of the bytes and
the use of the index to its callers. Invariant: memory stays bounded for a ledger of any length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from recollect.index.fold import Clock, Fold
from recollect.index.statements import NOW
from recollect.index.tables import Db, Tables
from recollect.ledger.batches import Batch, batches
from recollect.ledger.cipher import Ciphers
from recollect.ledger.erasure import Erasures
from recollect.ledger.scan import Damage, Scanner
from recollect.model.events import GENESIS, Event, Head
from recollect.store.port import Progress

PIECE_BYTES: Final = 1 << 20
Look = Callable[[Batch, list[Event]], None]


class Folded(NamedTuple):
    """The result of folding a whole ledger."""

    head: Head
    active_us: int
    size_bytes: int
    erasures: Erasures


class ErasedSince(Exception):
    """An event lacks its body because of an erasure after the target position."""


def fold_whole(
    db: Db,
    found: Iterable[bytes],
    progress: Progress | None,
    total: int,
    *,
    ciphers: Ciphers | None = None,
) -> Folded:
    """Folds a whole ledger into an empty index; it must not have a torn tail."""
    scanner = Scanner()
    folded = fold_appends(db, scanner, found, progress, total, ciphers=ciphers)
    if scanner.torn():
        raise Damage(scanner.head.seq + 1, "an unfinished append")
    return folded


def fold_appends(
    db: Db,
    scanner: Scanner,
    found: Iterable[bytes],
    progress: Progress | None,
    total: int,
    *,
    through: int = NOW,
    look: Look | None = None,
    ciphers: Ciphers | None = None,
) -> Folded:
    """The same for whole appends up to a position; ``look`` sees each batch before it is folded."""
    tables = Tables(db, fresh=True)
    fold = Fold(tables, Clock(GENESIS.at, 0))
    erasures = Erasures()
    head, size, flushed = GENESIS, 0, 0
    for batch in batches(scanner, found, through, ciphers=ciphers):
        if any(by > through for by in batch.erased_by()):
            raise ErasedSince
        events = batch.decode()
        for event in events:
            erasures.note(event)
        if look is not None:
            look(batch, events)
        fold.append(events)
        head, size = batch.head, scanner.end
        if size - flushed >= PIECE_BYTES:
            tables.flush()
            flushed = size
        if progress is not None:
            progress(size, max(size, total))
    tables.flush()
    return Folded(head, fold.clock.active_us, size, erasures)
