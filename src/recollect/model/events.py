"""The closed union of what can happen to a memory.

Responsible for the body of each kind of event and for the table that maps kinds to bodies.
Leaves the line they travel in to ``ledger`` and their effect to ``index.fold``. Invariants: an
event changes one subject (a record, an episode, a link, a frame, a session, a proposal, a receipt
or the ledger itself), so that erasing everything about one subject never changes another; names and
text live in bodies only.

A new kind does not change ``VERSION``, because readers refuse kinds and fields that they do not
know. A change to the form of existing events raises it and needs an upcaster in ``ledger.codec``.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, get_args

import msgspec
from msgspec import UNSET, UnsetType

from recollect.model.validate import Json

VERSION: Final = 1

# An integer that every engine and every JSON parser can hold. A larger one in a forged body fails
# when the body is decoded, where damage is expected, and not later in an engine.
Int53 = Annotated[int, msgspec.Meta(ge=1 - 2**53, le=2**53 - 1)]

Origin = Literal["person", "agent", "unverified", "system"]
Trust = Literal["person", "agent", "unverified"]
Status = Literal["inbox", "active", "archived", "forgotten", "held"]
Role = Literal["user", "assistant", "tool", "system"]
SourceType = Literal["observed", "inferred", "told", "imported"]
Tier = Literal["permanent", "durable", "standard", "ephemeral"]
Sources = Literal["shadow", "keep"]
Reinforcement = Literal["restated", "used"]
Intent = Literal["add", "update", "delete", "noop"]
Verdict = Literal["approved", "rejected", "reopened"]

TRUST_RANK: Final[dict[str, int]] = {"unverified": 0, "agent": 1, "person": 2, "system": 2}
ROLE_TRUST: Final[dict[str, Trust]] = {
    "user": "person",
    "assistant": "agent",
    "tool": "unverified",
    "system": "agent",
}
ROLES: Final[tuple[str, ...]] = get_args(Role)


class Body(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    gc=False,  # trees of plain values: nothing here can point back at itself
):
    """Fields that every body has: the writer, its scope, its clock and its command."""

    user: str | None = None
    session: str | None = None
    agent: str | None = None
    tz_minutes: int = 0  # the writer's offset from UTC, for pages that show local time
    command: str | None = None  # mark of the act, when the caller named the command


class SpaceOpened(Body, frozen=True, kw_only=True):
    """Genesis: the space exists and has a name."""

    space: str


class EpisodeObserved(Body, frozen=True, kw_only=True):
    """Something was seen or said, verbatim."""

    id: str
    text: str
    role: Role
    said_at: str
    metadata: dict[str, Json] = {}


class EpisodeForgotten(Body, frozen=True, kw_only=True):
    """An episode leaves default recall."""

    id: str
    reason: str | None = None


class EpisodeRestored(Body, frozen=True, kw_only=True):
    """A forgotten episode is back."""

    id: str


class RecordAdded(Body, frozen=True, kw_only=True):
    """A belief begins. Its status and trust have been decided and are written here."""

    id: str
    text: str
    kind: str
    confidence: float
    status: Status
    trust: Trust
    key: str | None = None
    about: str | None = None
    tags: tuple[str, ...] = ()
    source_type: SourceType = "told"
    evidence: tuple[str, ...] = ()
    is_hypothesis: bool = False
    valid_from: str | None = None
    valid_to: str | None = None
    expires: str | None = None
    supersedes: str | None = None
    decay_tier: Tier = "standard"
    data: dict[str, Json] = {}
    said_at: str | None = None  # if it was not said when it was written
    proposal: str | None = None  # the proposal that it came from


class RecordRevised(Body, frozen=True, kw_only=True):
    """A belief gets a new version; unset fields stay as they were."""

    id: str
    trust: Trust
    text: str | UnsetType = UNSET
    evidence: tuple[str, ...] | UnsetType = UNSET
    kind: str | UnsetType = UNSET
    about: str | None | UnsetType = UNSET
    confidence: float | UnsetType = UNSET
    source_type: SourceType | UnsetType = UNSET
    is_hypothesis: bool | UnsetType = UNSET
    valid_from: str | None | UnsetType = UNSET
    valid_to: str | None | UnsetType = UNSET
    expires: str | None | UnsetType = UNSET
    decay_tier: Tier | UnsetType = UNSET
    data: dict[str, Json] | UnsetType = UNSET
    reason: str | None = None
    said_at: str | None | UnsetType = UNSET
    proposal: str | None = None  # the proposal that it came from


class RecordSuperseded(Body, frozen=True, kw_only=True):
    """Another record took this one's key."""

    id: str
    by: str


class RecordReinforced(Body, frozen=True, kw_only=True):
    """A belief was restated, or a context that held it was used."""

    id: str
    how: Reinforcement


class RecordForgotten(Body, frozen=True, kw_only=True):
    """A belief leaves default reads; with ``keep`` its sources stay visible."""

    id: str
    sources: Sources = "shadow"
    reason: str | None = None


class RecordRestored(Body, frozen=True, kw_only=True):
    """A forgotten or archived belief is back, or one leaves the inbox: it is active now."""

    id: str


class RecordTagged(Body, frozen=True, kw_only=True):
    """Tags were put on a belief or taken off it."""

    id: str
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


class RecordReviewed(Body, frozen=True, kw_only=True):
    """A person has looked at a belief: the only event that raises trust.

    ``approved`` lets a held record in, with this trust; ``rejected`` archives it; ``reopened``
    takes an approval back. ``digest`` is over what the person saw.
    """

    id: str
    trust: Trust
    digest: str
    verdict: Verdict
    reason: str | None = None


class LinkAdded(Body, frozen=True, kw_only=True):
    """A typed, directed relation between two records begins or is restated."""

    source: str
    target: str
    kind: str
    trust: Trust
    weight: float = 1.0


class LinkRemoved(Body, frozen=True, kw_only=True):
    """A relation ends."""

    source: str
    target: str
    kind: str


class FrameSet(Body, frozen=True, kw_only=True):
    """A frame is set as a whole; an earlier definition under its name ends."""

    name: str
    trust: Trust
    weights: tuple[float, ...]  # in the order of model.frames.SIGNALS
    unit: str
    tokens: Int53
    floor: float
    intro: str
    record: str
    episode: str
    where: str | None = None
    guarantees: tuple[str, ...] = ()
    cache: str | Int53 = "none"


class FrameDropped(Body, frozen=True, kw_only=True):
    """A frame was removed."""

    name: str


class DocumentSet(Body, frozen=True, kw_only=True):
    """A document (rules, settings, a policy) has this data, whole; what it was before ends."""

    type: str
    name: str
    trust: Trust
    data: dict[str, Json]


class DocumentDropped(Body, frozen=True, kw_only=True):
    """A document is removed."""

    type: str
    name: str


class SessionOpened(Body, frozen=True, kw_only=True):
    """A session is open; its id is the name that what is written in it has as ``session``."""

    id: str
    task_type: str | None = None
    start_active_hours: float | None = None  # if the writer counts active hours itself


class SessionClosed(Body, frozen=True, kw_only=True):
    """A session has ended."""

    id: str


class ProposalMade(Body, frozen=True, kw_only=True):
    """A change waits for a person: what would be added, or what would become of the target.

    ``user`` is that of the target, or of the writer. Quoted words are not copied: a span is the seq
    of an episode, and the first and the last character.
    """

    id: str
    intent: Intent
    trust: Trust  # of the writer and everything that it rests on
    target: str | None = None
    base: Int53 | None = None  # the version of the target that it speaks about
    text: str | None = None
    key: str | None = None
    kind: str | None = None
    about: str | None = None
    evidence: tuple[str, ...] = ()
    spans: tuple[tuple[Int53, Int53, Int53], ...] = ()
    rule: str | None = None
    confidence: float | None = None
    reason: str | None = None
    changes: dict[str, Json] = {}  # other fields of the target, with their new values


class ProposalApproved(Body, frozen=True, kw_only=True):
    """A person let a proposal in; the events that make the change follow in the same command."""

    id: str
    digest: str
    record: str | None = None  # what it added or changed
    reason: str | None = None


class ProposalRejected(Body, frozen=True, kw_only=True):
    """A person refused a proposal."""

    id: str
    digest: str
    reason: str | None = None


class ProposalApplied(Body, frozen=True, kw_only=True):
    """A proposal took effect without a review, by an actor who may make the change itself."""

    id: str
    record: str | None = None


class ProposalWithdrawn(Body, frozen=True, kw_only=True):
    """A proposal was taken back."""

    id: str
    reason: str | None = None


Settled = ProposalApproved | ProposalRejected | ProposalApplied | ProposalWithdrawn


class Handed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a context: the event that it was made from, and why it was packed.

    It refers to events, not ids: an id can be a person's name, and receipts survive an erasure.
    """

    seq: Int53
    shares: tuple[float, ...] = ()  # in the order of the receipt's signals
    against: tuple[Int53, ...] = ()  # versions that the line lists as contradicting it
    guaranteed: bool = False


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


class EventsErased(Body, frozen=True, kw_only=True):
    """The bodies of these events are gone for good; their headers stay."""

    targets: tuple[Int53, ...]
    reason: str | None = None


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


AnyBody = (
    SpaceOpened
    | EpisodeObserved
    | EpisodeForgotten
    | EpisodeRestored
    | RecordAdded
    | RecordRevised
    | RecordSuperseded
    | RecordReinforced
    | RecordForgotten
    | RecordRestored
    | RecordTagged
    | RecordReviewed
    | LinkAdded
    | LinkRemoved
    | FrameSet
    | FrameDropped
    | DocumentSet
    | DocumentDropped
    | SessionOpened
    | SessionClosed
    | ProposalMade
    | ProposalApproved
    | ProposalRejected
    | ProposalApplied
    | ProposalWithdrawn
    | ContextHanded
    | EventsErased
    | TailCut
    | LedgerSealed
    | LossAccepted
)

KINDS: Final[dict[str, type[Body]]] = {
    "space.opened": SpaceOpened,
    "episode.observed": EpisodeObserved,
    "episode.forgotten": EpisodeForgotten,
    "episode.restored": EpisodeRestored,
    "record.added": RecordAdded,
    "record.revised": RecordRevised,
    "record.superseded": RecordSuperseded,
    "record.reinforced": RecordReinforced,
    "record.forgotten": RecordForgotten,
    "record.restored": RecordRestored,
    "record.tagged": RecordTagged,
    "record.reviewed": RecordReviewed,
    "link.added": LinkAdded,
    "link.removed": LinkRemoved,
    "frame.set": FrameSet,
    "frame.dropped": FrameDropped,
    "document.set": DocumentSet,
    "document.dropped": DocumentDropped,
    "session.opened": SessionOpened,
    "session.closed": SessionClosed,
    "proposal.made": ProposalMade,
    "proposal.approved": ProposalApproved,
    "proposal.rejected": ProposalRejected,
    "proposal.applied": ProposalApplied,
    "proposal.withdrawn": ProposalWithdrawn,
    "context.handed": ContextHanded,
    "events.erased": EventsErased,
    "ledger.tail_cut": TailCut,
    "ledger.sealed": LedgerSealed,
    "ledger.loss_accepted": LossAccepted,
}

KIND_OF: Final[dict[type[Body], str]] = {body: kind for kind, body in KINDS.items()}


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One event as the fold sees it: the fields of its header, and its body unless erased."""

    seq: int
    first: int  # seq of the first event of its append
    last: int  # seq of the last
    id: str
    kind: str
    at: str
    origin: Origin
    body: AnyBody | None

    @property
    def command_id(self) -> str:
        """The id of the command that wrote it."""
        return self.id.rpartition(".")[0]


class Head(msgspec.Struct, frozen=True):
    """Where a ledger ends."""

    seq: int
    hash: str
    at: str


GENESIS: Final = Head(0, "0" * 64, "0000-00-00T00:00:00.000000Z")
