"""Folding a whole ledger into an empty index.

Responsible for folding all events, or those up to a position. Leaves the source of the bytes and
the use of the index to its callers. Invariant: memory stays bounded for a ledger of any length.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from recollect.index.fold import Clock, Fold
from recollect.index.statements import NOW
from recollect.index.tables import Db, Tables
from recollect.ledger.codec import decode
from recollect.ledger.erasure import Erasures
from recollect.ledger.line import Line
from recollect.ledger.scan import scan
from recollect.model.events import GENESIS, Head
from recollect.store.port import Progress

PIECE_BYTES: Final = 1 << 20


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
    through: int = NOW,
) -> Folded:
    """Folds a ledger from its first event, up to a position, into an empty index."""
    tables = Tables(db)
    fold = Fold(tables, Clock(GENESIS.at, 0))
    erasures = Erasures()
    head, size, flushed = GENESIS, 0, 0
    for append in scan(found):
        if append.head.seq > through:
            break
        _check_bodies(append.lines, through)
        events = [decode(line) for line in append.lines]
        for event in events:
            erasures.note(event)
        fold.append(events)
        head, size = append.head, append.end
        if size - flushed >= PIECE_BYTES:
            tables.flush()
            flushed = size
        if progress is not None:
            progress(size, max(size, total))
    tables.flush()
    return Folded(head, fold.clock.active_us, size, erasures)


def _check_bodies(lines: Iterable[Line], through: int) -> None:
    for line in lines:
        if line.data is None and (line.erased_by or 0) > through:
            raise ErasedSince(line.seq)
