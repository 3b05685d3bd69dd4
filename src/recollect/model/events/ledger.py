"""The bodies of events about the ledger itself, and receipts.

Responsible for what such an event says. Leaves writing them to ``store``. Invariant: they name
events by number, never by id or text, so that they survive an erasure.
"""

from __future__ import annotations

import msgspec

from recollect.model.events.body import Body, CheckedBy, Int53


class SpaceOpened(Body, frozen=True, kw_only=True):
    """Genesis: the space exists and has a name."""

    space: str


class AuthorNamed(Body, frozen=True, kw_only=True):
    """Whose a random id is, so that the name can be erased and what its bearer did stays.

    A name that nothing ``checked`` is what its bearer said. ``user`` is whose token it was.
    """

    id: str
    name: str
    checked: CheckedBy | None = None


class Handed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a context: the event that it was made from, and why it was packed.

    It refers to events, not ids: an id can be a person's name, and receipts survive an erasure.
    """

    seq: Int53
    shares: tuple[float, ...] = ()  # in the order of the receipt's signals
    against: tuple[Int53, ...] = ()  # versions that the line lists as contradicting it
    guaranteed: bool = False
    changed: tuple[Int53, ...] = ()  # versions that hold in place of what the line states


class ContextHanded(Body, frozen=True, kw_only=True):
    """A receipt: the events that a context was made from. It does not contain their text."""

    id: str
    query: str  # SHA-256 of the receipt's id, a zero byte and the question
    frame: str
    frame_digest: str
    ranking: Int53
    embedder: str | None
    now: str  # the instant on the clock
    position: Int53
    budget: Int53
    tokens: Int53
    counter: str
    signals: tuple[str, ...]
    items: tuple[Handed, ...]


class LineageRetracted(Body, frozen=True, kw_only=True):
    """What was derived from something was taken back; the events that do it are beside this one."""

    root: Int53  # the event that began it: an episode or a record
    taken: Int53  # records that do not hold any more
    back: Int53  # records that have an earlier version or their key again


class EventsErased(Body, frozen=True, kw_only=True):
    """The bodies of these events are gone for good; their headers stay.

    So are the keys of these subjects: every event that is encrypted for one is a target, here or
    in an earlier event.
    """

    targets: tuple[Int53, ...]
    reason: str | None = None
    subjects: tuple[str, ...] = ()  # pseudonyms
    ids: tuple[str, ...] = ()  # digests of the ids of the records and episodes that are gone


class TailCut(Body, frozen=True, kw_only=True):
    """An unfinished append was copied aside and cut off after a crash."""

    bytes: Int53
    kept_as: str


class LedgerSealed(Body, frozen=True, kw_only=True):
    """The events up to here were closed into a segment; the digest states their result."""

    first: Int53  # the segment's first event
    count: Int53  # its last event, and so the number of events before this one
    head: str  # the hash of that last event
    digest: str  # the state digest after that event
    index_version: Int53  # only digests of the same version can be compared


class LossAccepted(Body, frozen=True, kw_only=True):
    """A person accepted that events which the index had seen are missing from the ledger."""

    seen_seq: Int53
    seen_hash: str
    reason: str | None = None
