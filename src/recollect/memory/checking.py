"""Checking a ledger, its clock and, if asked for, what its index makes of it.

Responsible for the order of the checks and for telling how far they are. Leaves the lines to
``ledger.verify`` and the comparison to the store. Invariant: a sound answer means the same on every
engine.
"""

from __future__ import annotations

from recollect.index.statements import INDEX_VERSION
from recollect.ledger import verify as lines
from recollect.model.events import LedgerSealed
from recollect.model.values import Finding, Verification
from recollect.store import clock
from recollect.store.port import Progress, Space


def verify(space: Space, progress: Progress | None, *, deep: bool) -> Verification:
    """Every line; with ``deep`` also every row of the index and every word of its full text."""
    size = space.size_bytes()
    total, done = (2 * size if deep else size), 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(min(done, size), total)

    def folded(now: int, _: int) -> None:
        if progress is not None:
            progress(min(size + now, total), total)

    def is_as_sealed(seal: LedgerSealed) -> bool:
        if seal.index_version != INDEX_VERSION or space.digest(seal.count) == seal.digest:
            return True
        with space.reading() as reads:  # something may have been erased since the walk began
            return reads.was_erased_since(seal.count)

    check = lines.verify(space.pieces(), advance, seen=space.seen(), state=is_as_sealed)
    if not deep or not check.ok:
        return check
    space.head()  # an index that is missing, old or behind is made good first
    problem = space.index_problem(folded)
    return check if problem is None else lines.as_misfolded(check, problem)


def findings(space: Space, now: str, progress: Progress | None) -> list[Finding]:
    """What a doctor sees: the store, and whether the clock fits the last event."""
    found = space.examine(progress)
    last = space.seen()
    return [*found, *(clock.findings(last.at, now) if last is not None and last.seq > 1 else ())]
