"""Repairing a damaged ledger: valid events are kept, and an event records the loss.

Responsible for what is cut, where it is kept, and the events that record it. Leaves temporary files
to ``store.files.copies.leftovers``, and the lock, which the caller holds, to
``store.files.open_files``. Invariant: no header of a ledger is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from recollect.errors import IntegrityError
from recollect.index.erasures import erased_by
from recollect.index.reads import Reads
from recollect.index.rows import PositionRow
from recollect.ledger.cipher import Ciphers
from recollect.ledger.codec import decode
from recollect.ledger.erasure import encrypted_for
from recollect.ledger.scan import Scanner
from recollect.ledger.verify import unordered
from recollect.model.events import EventsErased, LossAccepted
from recollect.store.files import vector_file
from recollect.store.files.append import note
from recollect.store.files.build import known_head
from recollect.store.files.copies.leftovers import torn_name
from recollect.store.files.index import SpaceIndex
from recollect.store.files.ledger import segments
from recollect.store.files.ledger.active import ActiveFile
from recollect.store.files.ledger.stamp import stamp_of
from recollect.store.files.open_files import OpenFiles
from recollect.store.keys.lost_keys import lost_keys
from recollect.store.seam import Seam
from recollect.store.sqlite import SqliteDb

_ACCEPTED: Final = "their bodies were missing when a loss was accepted"
_LOCKED: Final = "their keys were missing when a loss was accepted"


def accept_loss(files: OpenFiles, index: SpaceIndex, reason: str | None) -> None:
    """Accepts that events were lost: keeps the valid ones and appends an event about it."""
    vector_file.clear(files.seam, files.folder)  # their numbers will be reused for other texts
    seen = known_head(files.index_path)
    lost = not files.ledger_path.exists() and bool(segments.all_segments(files.folder))
    active = files.reopen_active()
    number = seen.seq if seen else 0
    aside = partial(torn_name, files.folder, number)
    locked = lost_keys(segments.pieces(active), files.subjects)
    if locked.why is not None and not locked.is_for_good:
        raise locked.why
    with files.subjects.without(locked.subjects):
        lost |= _salvage(files.seam, active, aside, files.subjects)
        try:
            index.build(seen)
        except IntegrityError:
            lost = True
            index.build(None)
        index.drop(build=False)
        db, position = index.attempt(index.refresh)
        missing = unordered(segments.pieces(files.opened()))
        # A call that was interrupted may have ordered some of them erased already.
        left = encrypted_for(segments.pieces(files.opened()), locked.subjects)
        unreadable = {seq: erased_by(Reads(db), seq) for seq in left}
        if lost or missing or unreadable:
            body = LossAccepted(
                seen_seq=seen.seq if seen else 0,
                seen_hash=seen.hash if seen else "",
                reason=reason,
            )
            position = note(files, db, position, body)
        if missing:
            position = _order_erasures(files, db, position, missing, _ACCEPTED)
        if unreadable:
            _order_erasures(files, db, position, unreadable, _LOCKED)


def _order_erasures(
    files: OpenFiles,
    db: SqliteDb,
    position: PositionRow,
    missing: Mapping[int, int | None],
    reason: str,
) -> PositionRow:
    """Marks missing bodies with the event that erased them, or with a new one if it was lost.

    Nobody can read the bodies any more, so the files that were set aside stay.
    """
    targets = tuple(seq for seq, by in missing.items() if by is None)
    if targets:
        position = note(files, db, position, EventsErased(targets=targets, reason=reason))
    marks = {seq: position.seq if by is None else by for seq, by in missing.items()}
    segments.erase_bodies(files.seam, files.opened(), marks)
    db.many("move_offset", [(files.current_active().size,)])
    db.many("leave_stamp", [stamp_of(files.ledger_path)])
    db.many("set_purged", [(position.seq,)])
    db.run("commit")
    db.run("begin_write")
    return position


def _salvage(seam: Seam, active: ActiveFile, aside: Callable[[], Path], ciphers: Ciphers) -> bool:
    """Cuts a damaged ledger after its last whole append; true if a torn copy was made."""
    scanner, last = Scanner(), 0
    try:
        for piece in segments.pieces(active):
            for append in scanner.feed(piece):
                for line in append.lines:
                    decode(line, ciphers)  # a body that cannot be parsed stops every reader
                last = append.lines[-1].seq
        segments.torn_in(active, scanner)
    except IntegrityError:
        sealed = segments.segments(active)
        if any(segment.last > last for segment in sealed):
            segments.reopen_after(seam, active, last, aside)
        else:  # the damage is in a segment, so the active file is not usable
            found = None if sealed and sealed[-1].last == last else active.end_of(last)
            active.cut(0 if found is None else found[1], aside())
        return True
    return segments.set_strays_aside(seam, active, aside)
