"""The point in a ledger's files at which an index continues.

Responsible for finding the event at the index's position. Leaves folding later events to
``store.files.index``. Invariant: an index that has seen events missing from the ledger is never
mistaken for one that lags.
"""

from __future__ import annotations

from contextlib import suppress

from recollect.errors import IntegrityError, RecollectError
from recollect.index.rows import PositionRow
from recollect.ledger.line import parse
from recollect.ledger.scan import hash_of
from recollect.model.events import Head
from recollect.store.files.ledger import segments
from recollect.store.files.ledger.active import ActiveFile


def index_is_ahead(seen: Head) -> IntegrityError:
    """The error for an index that proves that events were lost."""
    return IntegrityError(
        f"the index has seen event {seen.seq}, which is missing from the ledger: "
        "acknowledged data was lost or altered",
        hint="put the missing ledger back from a backup, or run "
        "`recollect admin doctor --accept-loss` to go on with what is left",
    )


def place_of(active: ActiveFile, position: PositionRow) -> int | None:
    """The offset in the active file after the index's event; None if it is in a segment."""
    if _stands_at(active, position):
        return position.offset
    before = segments.head_before(active)
    if (before.seq, before.hash) == (position.seq, position.hash):
        return 0  # sealed since
    found = active.end_of(position.seq)  # an erasure may have moved bytes
    if found is not None and hash_of(position.seq, found[0]) == position.hash:
        return found[1]
    line = segments.find(active, position.seq)
    if position.seq == 0 or (line is not None and line.hash == position.hash):
        return None
    raise index_is_ahead(Head(position.seq, position.hash, position.at))


def _stands_at(active: ActiveFile, position: PositionRow) -> bool:
    """True if the event at the index's position ends at its offset."""
    if position.offset == 0 or position.offset > active.size:
        return False
    with suppress(RecollectError):
        line = parse(active.line_before(position.offset))
        return (line.seq, line.hash) == (position.seq, position.hash)
    return False
