"""The ledger and its proofs: one event, what changed, bytes to keep, and evidence."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

import msgspec

from recollect.errors import Changed, LimitExceeded, NotFound
from recollect.interfaces.http import shapes
from recollect.interfaces.http.call import Answer, Call
from recollect.interfaces.http.spool import exported, spooled
from recollect.memory import handing_over, seen_then
from recollect.model import wire
from recollect.model.values import (
    Checkpoint,
    Drop,
    Dropped,
    EventView,
    Proof,
    Record,
    Verification,
)

_EVENTS_MAX_COUNT: Final = 10_000
_DIFFERENT_MAX_COUNT: Final = 1_000


class Different(msgspec.Struct, frozen=True, kw_only=True):
    """A record at two positions; null where it was not there, or hidden."""

    id: str
    before: Record | None
    after: Record | None


class Differences(msgspec.Struct, frozen=True, kw_only=True):
    """What differs between two positions."""

    start: int
    end: int
    items: list[Different]


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """Where a ledger ends."""

    seq: int
    hash: str
    at: str


class Dropping(msgspec.Struct, frozen=True, kw_only=True):
    """What dropping a space removed, or would remove; ``digest`` is what a real one must name."""

    space: str
    records: int | None
    episodes: int | None
    events: int | None
    size_bytes: int
    digest: str
    dropped: Dropped | None


def event(call: Call) -> EventView:
    """One event as the ledger has it."""
    return call.space.events.get(number(call.path["seq"]))


def diff(call: Call) -> Differences:
    """The records that events changed between two positions, as they were and as they became."""
    asked: shapes.Between = call.query
    end = call.space.events.position if asked.to is msgspec.UNSET else asked.to
    found = call.space.events.list(after=asked.from_, before=end + 1, limit=_EVENTS_MAX_COUNT)
    ids = list(dict.fromkeys(each.id for each in found if each.unit == "record" and each.id))
    if len(found) == _EVENTS_MAX_COUNT or len(ids) > _DIFFERENT_MAX_COUNT:
        raise LimitExceeded(
            f"more than {_DIFFERENT_MAX_COUNT:,} records or {_EVENTS_MAX_COUNT:,} events differ",
            hint="compare positions that are closer together",
        )
    old, new = (seen_then.records(call.space.at(at), ids) for at in (asked.from_, end))
    pairs = [Different(id=id, before=old.get(id), after=new.get(id)) for id in ids]
    return Differences(
        start=asked.from_, end=end, items=[each for each in pairs if each.before != each.after]
    )


def checkpoint(call: Call) -> Checkpoint:
    """The last signed checkpoint."""
    return handing_over.last_checkpoint(call.space)


def sign(call: Call) -> Checkpoint:
    """Sign how many events the ledger has and which root; needs a key on the service."""
    return call.space.proof.checkpoint()


def prove(call: Call) -> Proof:
    """Evidence that the text of a record is in the ledger; signs a checkpoint if none covers it."""
    return call.space.proof.prove(call.path["id"])


def prove_event(call: Call) -> Proof:
    """Evidence that an event is in the ledger; signs a checkpoint if none covers it."""
    return call.space.proof.prove(event=number(call.path["seq"]))


def verify(call: Call) -> Verification:
    """Check every line of the ledger."""
    return call.space.admin.verify(**call.query.given())


def ledger(call: Call) -> Answer:
    """The lines of the ledger as they lie (NDJSON)."""
    return Answer(value=spooled(handing_over.ledger(call.space, call.query.after)))


def receive(call: Call) -> Answer:
    """Append the events that a whole ledger has beyond this one, unchanged."""
    head = handing_over.receive(call.space, call.body)
    ending = Ending(seq=head.seq, hash=head.hash, at=head.at)
    return Answer(value=ending, headers={"ETag": wire.head_tag(head.seq)})


def export(call: Call) -> Answer:
    """Everything that the token sees, in a format of export."""
    file, done = exported(call.space, call.query.format)
    headers = {"Recollect-Position": str(done.position)}
    return Answer(value=file, headers=headers)


def drop(call: Call) -> Dropping:
    """Remove a space whole; it cannot be undone. Needs the digest of a dry run."""
    asked: shapes.DropSpace = call.query
    name = call.path["space"]
    planned = call.store.drop(name, dry_run=True)
    digest = _digest(call, planned)
    if asked.dry_run:
        return _dropping(planned, digest)
    if asked.digest != digest:
        raise Changed(
            "the space is not what the dry run showed", hint="ask again with dry_run=true"
        )
    return _dropping(call.store.drop(name, **asked.given("dry_run", "digest")), digest)


def _digest(call: Call, planned: Drop) -> str:
    """Over what would be dropped, and which space of this name it is."""
    shown = [planned.space, planned.records, planned.episodes, planned.events]
    return sha256(msgspec.json.encode([*shown, call.space.events.get(1).hash])).hexdigest()


def _dropping(drop: Drop, digest: str) -> Dropping:
    """Without the places on the service's machine."""
    return Dropping(
        space=drop.space, records=drop.records, episodes=drop.episodes, events=drop.events,
        size_bytes=drop.size_bytes, digest=digest, dropped=drop.dropped,
    )  # fmt: skip


def number(text: str) -> int:
    """The number of an event in a path; anything else is not there."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 15):
        raise NotFound("this event does not exist")
    return int(text)
