"""Repairing a damaged ledger: what is left of it is kept, and an event says what was lost.

Responsible for what is cut, where it is kept, and the events that say so. Leaves half-made files to
``store.files.leftovers``, and the lock, which the caller holds, to ``store.files.held``. Invariant:
no act here changes a header of a ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from recollect.errors import IntegrityError
from recollect.index.rows import PositionRow
from recollect.ledger.scan import Damage, Scanner
from recollect.ledger.verify import unordered
from recollect.model.events import EventsErased, LossAccepted
from recollect.store.files import segments, vector_file
from recollect.store.files.active import ActiveFile
from recollect.store.files.append import note
from recollect.store.files.build import known_head
from recollect.store.files.held import Held
from recollect.store.files.index import SpaceIndex
from recollect.store.files.leftovers import torn_name
from recollect.store.files.stamp import stamp_of
from recollect.store.seam import Seam
from recollect.store.sqlite import SqliteDb

_ACCEPTED: Final = "their bodies were missing when a loss was accepted"


def accept_loss(held: Held, index: SpaceIndex, reason: str | None) -> None:
    """Goes on from what the ledger still holds, and leaves an event that says so."""
    vector_file.clear(held.seam, held.folder)  # numbers will stand for other texts
    seen = known_head(held.index_path)
    lost = not held.ledger_path.exists() and bool(segments.all_segments(held.folder))
    active = held.reopen_active()
    number = seen.seq if seen else 0
    lost |= _salvage(held.seam, active, lambda: torn_name(held.folder, number))
    try:
        index.build(seen)
    except IntegrityError:
        lost = True
        index.build(None)
    index.drop(build=False)
    db, position = index.attempt(index.refresh)
    missing = unordered(segments.pieces(held.opened()))
    if lost or missing:
        body = LossAccepted(
            seen_seq=seen.seq if seen else 0,
            seen_hash=seen.hash if seen else "",
            reason=reason,
        )
        position = note(held, db, position, body)
    if missing:
        _order_erasures(held, db, position, missing)


def _order_erasures(
    held: Held, db: SqliteDb, position: PositionRow, missing: Mapping[int, int | None]
) -> None:
    """Missing bodies get the event that says so; where it was lost, another takes its place.

    The bodies are gone already, so what was set aside stays.
    """
    targets = tuple(seq for seq, by in missing.items() if by is None)
    if targets:
        position = note(held, db, position, EventsErased(targets=targets, reason=_ACCEPTED))
    marks = {seq: position.seq if by is None else by for seq, by in missing.items()}
    segments.erase_bodies(held.seam, held.opened(), marks)
    db.many("move_offset", [(held.current_active().size,)])
    db.many("leave_stamp", [stamp_of(held.ledger_path)])
    db.many("set_purged", [(position.seq,)])
    db.run("commit")


def _salvage(seam: Seam, active: ActiveFile, aside: Callable[[], Path]) -> bool:
    """Cuts a damaged ledger after its last whole append; true if something was kept aside."""
    scanner = Scanner()
    try:
        for piece in segments.pieces(active):
            for _ in scanner.feed(piece):
                pass
        segments.torn_in(active, scanner)
    except Damage:
        last, sealed = scanner.head.seq, segments.segments(active)
        if any(segment.last > last for segment in sealed):
            segments.reopen_after(seam, active, last, aside)
        else:  # where a segment ends, nothing of the active file can be used
            found = None if sealed and sealed[-1].last == last else active.end_of(last)
            active.cut(0 if found is None else found[1], aside())
        return True
    return segments.set_strays_aside(seam, active, aside)
