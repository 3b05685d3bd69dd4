"""Whose memory an event is about.

Responsible for the user of what an event adds or changes, as it was before that event. Leaves what
follows from it to ``store``. Invariant: an event about a user's memory names that user, not its
author.
"""

from __future__ import annotations

from recollect.index.branches import BranchRow, branch_touched
from recollect.index.proposals import ProposalRow, proposal_touched
from recollect.index.statements import NOW
from recollect.index.tables import Tables
from recollect.model import events as e


def owner_of(tables: Tables, body: e.AnyBody) -> str | None:
    """The user of the memory that an event is about; None for the space's own and the store's."""
    match body:
        case (
            e.RecordAdded()
            | e.EpisodeObserved()
            | e.ContextHanded()
            | e.SessionOpened()
            | e.SessionClosed()
            | e.ProposalMade()
            | e.BranchOpened()
            | e.LineageRetracted()
            | e.AuthorNamed()
        ):
            return body.user
        case e.EpisodeForgotten() | e.EpisodeRestored():
            episode = tables.episode(body.id)
            return body.user if episode is None else episode.user
        case e.LinkAdded() | e.LinkRemoved():
            return _record(tables, body.source) or _record(tables, body.target) or body.user
        case (
            e.ProposalApproved()
            | e.ProposalRejected()
            | e.ProposalApplied()
            | e.ProposalWithdrawn()
        ):
            db = tables.settle(proposal_touched(body.id))
            row = db.one("get_proposal", {"id": body.id, "at": NOW})
            return body.user if row is None else ProposalRow._make(row).user
        case e.BranchClosed():
            db = tables.settle(branch_touched(body.id))
            row = db.one("get_branch", {"id": body.id, "at": NOW})
            return body.user if row is None else BranchRow._make(row).user
        case (
            e.RecordRevised()
            | e.RecordSuperseded()
            | e.RecordReinforced()
            | e.RecordForgotten()
            | e.RecordArchived()
            | e.RecordRestored()
            | e.RecordTagged()
            | e.RecordVouched()
            | e.RecordReviewed()
        ):
            return _record(tables, body.id) or body.user
        case _:
            return None


def _record(tables: Tables, id: str) -> str | None:
    row = tables.version(id)
    return None if row is None else row.user
