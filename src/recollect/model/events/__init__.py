"""The closed union of what can happen to a memory.

Responsible for the body of each kind of event and for the table that maps kinds to bodies.
Leaves the line they travel in to ``ledger`` and their effect to ``index.fold``. Invariants: an
event changes one subject (a record, an episode, a link, a frame, a session, a proposal, a branch, a
receipt or the ledger itself), so that erasing everything about one subject never changes another;
names and text live in bodies only.

A new kind does not change ``VERSION``, because readers refuse kinds and fields that they do not
know. A change to the form of existing events raises it and needs an upcaster in ``ledger.codec``.
"""

from __future__ import annotations

from typing import Final

import msgspec

from recollect.model.events.body import (
    ROLE_TRUST,
    ROLES,
    TRUST_RANK,
    Archival,
    Body,
    CheckedBy,
    Int53,
    Intent,
    Origin,
    Reinforcement,
    Role,
    Sources,
    SourceType,
    Status,
    Tier,
    Trust,
    Verdict,
)
from recollect.model.events.ledger import (
    AuthorNamed,
    ContextHanded,
    EventsErased,
    Handed,
    LedgerSealed,
    LineageRetracted,
    LossAccepted,
    SpaceOpened,
    TailCut,
)
from recollect.model.events.proposals import (
    BranchClosed,
    BranchOpened,
    Ending,
    ProposalApplied,
    ProposalApproved,
    ProposalMade,
    ProposalRejected,
    ProposalWithdrawn,
    Settled,
)
from recollect.model.events.records import (
    NOTED,
    PLAIN,
    EpisodeForgotten,
    EpisodeObserved,
    EpisodeRestored,
    LinkAdded,
    LinkRemoved,
    RecordAdded,
    RecordArchived,
    RecordForgotten,
    RecordReinforced,
    RecordRestored,
    RecordReviewed,
    RecordRevised,
    RecordState,
    RecordSuperseded,
    RecordTagged,
    RecordVouched,
    Said,
)
from recollect.model.events.settings import (
    DocumentDropped,
    DocumentSet,
    FrameDropped,
    FrameSet,
    RulePassed,
    SessionClosed,
    SessionOpened,
)

__all__ = [
    "Archival",
    "LineageRetracted",
    "RecordArchived",
    "AnyBody",
    "AuthorNamed",
    "Body",
    "BranchClosed",
    "BranchOpened",
    "CheckedBy",
    "ContextHanded",
    "DocumentDropped",
    "DocumentSet",
    "EpisodeForgotten",
    "EpisodeObserved",
    "EpisodeRestored",
    "Ending",
    "Event",
    "EventsErased",
    "FrameDropped",
    "FrameSet",
    "GENESIS",
    "Handed",
    "Head",
    "Int53",
    "Intent",
    "KINDS",
    "KIND_OF",
    "LedgerSealed",
    "LinkAdded",
    "LinkRemoved",
    "LossAccepted",
    "NOTED",
    "Origin",
    "PLAIN",
    "ProposalApplied",
    "ProposalApproved",
    "ProposalMade",
    "ProposalRejected",
    "ProposalWithdrawn",
    "ROLES",
    "ROLE_TRUST",
    "RecordAdded",
    "RecordForgotten",
    "RecordReinforced",
    "RecordRestored",
    "RecordReviewed",
    "RecordRevised",
    "RecordSuperseded",
    "RecordTagged",
    "RecordVouched",
    "Reinforcement",
    "Role",
    "RulePassed",
    "Said",
    "SessionClosed",
    "SessionOpened",
    "Settled",
    "RecordState",
    "SourceType",
    "Sources",
    "SpaceOpened",
    "Status",
    "TRUST_RANK",
    "TailCut",
    "Tier",
    "Trust",
    "VERSION",
    "Verdict",
]

VERSION: Final = 1

AnyBody = (
    SpaceOpened
    | AuthorNamed
    | EpisodeObserved
    | EpisodeForgotten
    | EpisodeRestored
    | RecordAdded
    | RecordRevised
    | RecordSuperseded
    | RecordReinforced
    | RecordForgotten
    | RecordArchived
    | RecordRestored
    | RecordTagged
    | RecordVouched
    | RecordReviewed
    | LinkAdded
    | LinkRemoved
    | FrameSet
    | FrameDropped
    | DocumentSet
    | DocumentDropped
    | RulePassed
    | SessionOpened
    | SessionClosed
    | ProposalMade
    | ProposalApproved
    | ProposalRejected
    | ProposalApplied
    | ProposalWithdrawn
    | BranchOpened
    | BranchClosed
    | LineageRetracted
    | ContextHanded
    | EventsErased
    | TailCut
    | LedgerSealed
    | LossAccepted
)

KINDS: Final[dict[str, type[Body]]] = {
    "space.opened": SpaceOpened,
    "author.named": AuthorNamed,
    "episode.observed": EpisodeObserved,
    "episode.forgotten": EpisodeForgotten,
    "episode.restored": EpisodeRestored,
    "record.added": RecordAdded,
    "record.revised": RecordRevised,
    "record.superseded": RecordSuperseded,
    "record.reinforced": RecordReinforced,
    "record.forgotten": RecordForgotten,
    "record.archived": RecordArchived,
    "record.restored": RecordRestored,
    "record.tagged": RecordTagged,
    "record.vouched": RecordVouched,
    "record.reviewed": RecordReviewed,
    "link.added": LinkAdded,
    "link.removed": LinkRemoved,
    "frame.set": FrameSet,
    "frame.dropped": FrameDropped,
    "document.set": DocumentSet,
    "document.dropped": DocumentDropped,
    "rule.passed": RulePassed,
    "session.opened": SessionOpened,
    "session.closed": SessionClosed,
    "proposal.made": ProposalMade,
    "proposal.approved": ProposalApproved,
    "proposal.rejected": ProposalRejected,
    "proposal.applied": ProposalApplied,
    "proposal.withdrawn": ProposalWithdrawn,
    "branch.opened": BranchOpened,
    "branch.closed": BranchClosed,
    "lineage.retracted": LineageRetracted,
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
    locked: bool = False  # its body is encrypted, and its key was destroyed

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
