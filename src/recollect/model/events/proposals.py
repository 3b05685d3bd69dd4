"""The bodies of events about proposals and the branches that they are on.

Responsible for what is proposed, when a branch begins, and how both end. Leaves what an approval
changes to ``lifecycle.proposals``. Invariants: a proposal is settled once, and quoted words are not
copied; a branch is opened once and closed once, and holds no text of its changes.
"""

from __future__ import annotations

from typing import Literal

from recollect.model.events.body import Body, Int53, Intent, Trust
from recollect.model.validate import Json

Ending = Literal["merged", "abandoned", "condensed"]


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
    branch: str | None = None  # the id of the branch that it is part of


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


class BranchOpened(Body, frozen=True, kw_only=True):
    """A line of proposals begins; the proposals of this branch name its id."""

    id: str
    name: str
    parent: str | None = None  # the id of the branch that it comes from
    reason: str | None = None  # what it is for


class BranchClosed(Body, frozen=True, kw_only=True):
    """A branch has ended; the events that settle its proposals stand before it."""

    id: str
    how: Ending
    reason: str | None = None
    record: str | None = None  # the summary of a condensed branch
