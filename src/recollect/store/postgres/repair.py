"""Repairing a ledger with bodies that cannot be parsed: they are erased, with an event.

Responsible for the two events and for removing the bodies. Leaves finding them to
``store.postgres.check`` and rebuilding the index to ``store.postgres.build``. Invariant: no header
of a ledger is changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from recollect.ledger.chain import SALT_BYTES, Draft, chain, event_id
from recollect.ledger.codec import encode_body
from recollect.model.events import KIND_OF, EventsErased, Head, LossAccepted
from recollect.store.postgres.build import pieces, refold
from recollect.store.postgres.check import unreadable
from recollect.store.postgres.db import PostgresDb
from recollect.store.postgres.entry import Entry
from recollect.store.postgres.index import SpaceIndex
from recollect.store.postgres.subjects import SpaceSubjects
from recollect.store.seam import Seam

_UNREADABLE: Final = "no reader takes their bodies"


def accept_loss(
    entry: Entry, index: SpaceIndex, subjects: SpaceSubjects, seam: Seam, reason: str | None
) -> None:
    """Erases bodies that cannot be parsed, records that in events, and rebuilds the index."""
    with entry.transaction("begin_write") as db:
        head, position = entry.enter(db, writing=True)
        bad = unreadable(pieces(db), subjects.within(db))
        if bad:
            accepted = LossAccepted(
                seen_seq=position.seq if position else 0,
                seen_hash=position.hash if position else "",
                reason=reason,
            )
            head = _give_up(db, seam, head, bad, accepted)
        refold(db, entry.name, head, None, subjects.within(db))
    index.is_behind = False


def _give_up(
    db: PostgresDb, seam: Seam, head: Head, bad: Sequence[int], accepted: LossAccepted
) -> Head:
    """Appends the two events and removes the bodies; the index cannot be folded yet."""
    erased = EventsErased(targets=tuple(bad), reason=_UNREADABLE)
    id, at = seam.random(16).hex(), max(seam.now(), head.at)
    drafts = [
        Draft(event_id(id, number), KIND_OF[type(body)], "system", encode_body(body))
        for number, body in enumerate((accepted, erased), 1)
    ]
    data, moved = chain(head, at, drafts, seam.random(2 * SALT_BYTES))
    db.ask("append", {"lines": data.split(b"\n")[:-1]})
    db.ask("erase_bodies", {"seqs": list(bad), "by": [moved.seq] * len(bad)})
    return moved
