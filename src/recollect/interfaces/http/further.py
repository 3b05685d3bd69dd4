"""What requests contain beyond the daily calls: corrections, documents, rules, sessions, branches.

Responsible for the same as ``shapes``. Leaves what requests mean to ``calls``.
Invariants: an unknown field is refused; a field that is left out is not passed on.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from recollect.interfaces.http.shapes import At, PageSize, Request
from recollect.interfaces.http.signatures import (
    FilterText,
    Id,
    Many,
    Moment,
    Name,
    Position,
    Reason,
    Text,
    request,
)
from recollect.memory import branches, sessions
from recollect.memory.admin import Admin
from recollect.memory.graph.links import Links
from recollect.memory.proof.proofs import Proofs
from recollect.memory.review import Review
from recollect.memory.rules import rules
from recollect.model.values import Choice, Include, Unit

_request = partial(request, base=Request)
Shown = _request(
    "Shown",
    Review.confirm,
    "What shows that a hypothesis holds, or that it does not.",
    leave_out=("id",),
)
Faded = _request("Faded", Admin.archive, "Archive what has faded.")


class UndoOne(Request, frozen=True, kw_only=True):
    """Which version comes back, by its ``seq`` or an instant; else the last change is undone."""

    to: Position | Moment | UnsetType = UNSET
    dry_run: bool | UnsetType = UNSET


class Undo(Request, frozen=True, kw_only=True):
    """Take back the last command, or the one that wrote the event at a position."""

    position: Position | UnsetType = UNSET
    dry_run: bool | UnsetType = UNSET


class EraseMany(Request, frozen=True, kw_only=True):
    """Erase what one of ``key``, ``about``, ``user``, ``filter``, ``subject``, ``author`` names.

    With ``expired`` instead, erase what expired longer ago than it is kept.
    """

    key: Name | UnsetType = UNSET
    about: Name | UnsetType = UNSET
    user: Name | UnsetType = UNSET
    filter: FilterText | UnsetType = UNSET
    subject: Name | UnsetType = UNSET
    author: Name | UnsetType = UNSET
    expired: bool | UnsetType = UNSET
    certificate: bool | UnsetType = UNSET
    unit: Unit | UnsetType = UNSET
    sources: bool | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET
    dry_run: bool = False


class Days(Request, frozen=True, kw_only=True):
    """For how many days expired records are kept; null keeps them."""

    days: int | None = None


class Encrypted(Request, frozen=True, kw_only=True):
    """Whose memory is encrypted under a key of its own; null for no one's."""

    who: Literal["users", "named"] | None = None


Recent = _request("Recent", sessions.Sessions.recent, "What is newest.", base=At)


class General(At, frozen=True, kw_only=True):
    """What the memory holds in general."""

    since: Moment | UnsetType = UNSET
    before: Moment | UnsetType = UNSET
    limit: PageSize | UnsetType = UNSET


class Whole(At, frozen=True, kw_only=True):
    """One page of the graph."""

    kinds: list[Name] | UnsetType = UNSET
    include: list[Include] | UnsetType = UNSET
    limit: Many | UnsetType = UNSET
    after: Id | UnsetType = UNSET


Ends = _request("Ends", Links.path, "The two ends of a path.", base=At)
Audit = _request("Audit", Proofs.audit, "One page of the audit.", base=At)


class Because(Request, frozen=True, kw_only=True):
    """Why something is removed; it stays in the ledger."""

    reason: Reason | UnsetType = UNSET


class Drop(Request, frozen=True, kw_only=True):
    """Whether every byte of it is removed as well, for good."""

    erase: bool | UnsetType = UNSET


class Documents(At, frozen=True, kw_only=True):
    """One page of documents."""

    type: Name | UnsetType = UNSET
    limit: Many | UnsetType = UNSET
    after: Id | UnsetType = UNSET


class Rules(At, frozen=True, kw_only=True):
    """One page of rules, or those that are due."""

    limit: Many | UnsetType = UNSET
    after: Name | UnsetType = UNSET
    due: bool = False


RuleRequest = _request(
    "RuleRequest", rules.Rules.set, "Which episodes become records, and when.", leave_out=("name",)
)
NewSession = _request("NewSession", sessions.Sessions.open, "A session to open.")


class Sessions(At, frozen=True, kw_only=True):
    """One page of sessions, newest first, or the one that is active."""

    limit: Many | UnsetType = UNSET
    before: Position | UnsetType = UNSET
    active: bool = False


Proposed = _request("Proposed", Review.propose, "A change that waits for a person.")
NewBranch = _request("NewBranch", branches.Branches.open, "A branch to open.")


Branches = _request(
    "Branches", branches.Branches.list, "One page of branches, newest first.", base=At
)


class Merge(Request, frozen=True, kw_only=True):
    """Merge a branch as it was seen; ``digest`` binds it to that."""

    digest: Annotated[str, Meta(min_length=1, max_length=128)]
    choose: dict[str, Choice] | UnsetType = UNSET
    edits: dict[str, Text] | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET


Condense = _request(
    "Condense",
    branches.Branches.condense,
    "One statement in the place of a branch's changes.",
    leave_out=("name",),
)
