"""Which branch a name means, and what is on it.

Responsible for finding a branch that an actor may see and the changes that wait there. Leaves
opening, closing and writing to the modules beside it. Invariant: an actor for one user sees only
that user's branches.
"""

from __future__ import annotations

from recollect.errors import Ambiguous, Conflict, NotFound
from recollect.index.branches import BranchRow
from recollect.index.proposals import ProposalRow, adds
from recollect.index.statements import STILL
from recollect.lifecycle import commands as c
from recollect.lifecycle.view import View, visible
from recollect.model.rules import is_visible


def branch_known(view: View, actor: c.Actor, name: str) -> BranchRow:
    """The branch with this id, or the open one of this name, or the last that had it."""
    row = view.branch(name)
    if row is not None and visible(actor, row):
        return row
    rows = [row for row in view.branches_named(name) if visible(actor, row)]
    rows = [row for row in rows if row.until == STILL] or rows[:1]
    if len(rows) > 1:
        ids = ", ".join(row.id for row in rows)
        raise Ambiguous(f"the branch {name!r} could be {ids}", hint="use one of these ids")
    if not rows:
        raise NotFound(
            f"no branch here has the name {name!r}", hint="`recollect branches list` lists them"
        )
    return rows[0]


def open_branch_known(view: View, actor: c.Actor, name: str) -> BranchRow:
    """The same, if it is open."""
    row = branch_known(view, actor, name)
    if row.until != STILL:
        raise Conflict(
            f"the branch {row.name!r} was {row.how} at {row.closed_at}", hint="open another one"
        )
    return row


def changes_on(view: View, branch: BranchRow) -> list[ProposalRow]:
    """The proposals that wait on a branch, in order; those of other users are not part of it."""
    rows = view.proposals_on(branch.id)
    return [row for row in rows if row.until == STILL and is_visible(branch.user, row.user)]


def made_by(row: ProposalRow) -> str | None:
    """The id of the record that a change adds; None if it adds none."""
    return None if row.intent == "delete" else adds(row.changes)


def subject_of(row: ProposalRow) -> str:
    """The record that a change on a branch is about: the one that it adds, or its target."""
    return made_by(row) or row.target or row.id
