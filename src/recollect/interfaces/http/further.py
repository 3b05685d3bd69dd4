"""What requests contain beyond the daily calls: corrections, documents, rules, sessions, branches.

Responsible for names, types and limits, as ``shapes`` is. Leaves what they mean to ``calls``.
Invariants: an unknown field is refused; a field that is left out is not passed on.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from recollect.interfaces.http.shapes import (
    At,
    Evidence,
    FilterText,
    Id,
    Moment,
    Name,
    PageSize,
    Position,
    Reason,
    Request,
    Share,
    Text,
)
from recollect.model import limits
from recollect.model.events import Intent
from recollect.model.presets import Units
from recollect.model.values import Choice, Include, Unit

Many = Annotated[int, Meta(ge=1, le=limits.LIST_MAX_RECORDS)]
Direction = Literal["both", "out", "in"]


class Shown(Request, frozen=True, kw_only=True):
    """What shows that a hypothesis holds, or that it does not."""

    evidence: Evidence | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET


class Faded(Request, frozen=True, kw_only=True):
    """Archive what has faded."""

    below: Share | UnsetType = UNSET
    limit: Many | UnsetType = UNSET
    dry_run: bool | UnsetType = UNSET


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


class Recent(At, frozen=True, kw_only=True):
    """What is newest."""

    unit: Units | UnsetType = UNSET
    user: Name | UnsetType = UNSET
    session: Name | UnsetType = UNSET
    agent: Name | UnsetType = UNSET
    since: Moment | UnsetType = UNSET
    before: Moment | UnsetType = UNSET
    limit: Many | UnsetType = UNSET


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


class Ends(At, frozen=True, kw_only=True):
    """The two ends of a path."""

    a: Id
    b: Id
    kinds: list[Name] | UnsetType = UNSET
    direction: Direction | UnsetType = UNSET
    include: list[Include] | UnsetType = UNSET


class Audit(At, frozen=True, kw_only=True):
    """One page of the audit."""

    since: Moment | UnsetType = UNSET
    until: Moment | UnsetType = UNSET
    id: Id | UnsetType = UNSET
    after: Position | UnsetType = UNSET
    limit: Many | UnsetType = UNSET


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


class RuleRequest(Request, frozen=True, kw_only=True):
    """Which episodes become records, and when."""

    filter: FilterText | UnsetType = UNSET
    every: Position | UnsetType = UNSET
    cron: Name | UnsetType = UNSET
    channels: list[Name] | UnsetType = UNSET
    propose: bool | UnsetType = UNSET
    from_start: bool | UnsetType = UNSET


class NewSession(Request, frozen=True, kw_only=True):
    """A session to open."""

    id: Id | UnsetType = UNSET
    task_type: Name | UnsetType = UNSET


class Sessions(At, frozen=True, kw_only=True):
    """One page of sessions, newest first, or the one that is active."""

    limit: Many | UnsetType = UNSET
    before: Position | UnsetType = UNSET
    active: bool = False


class Proposed(Request, frozen=True, kw_only=True):
    """A change that waits for a person."""

    text: Text | UnsetType = UNSET
    intent: Intent | UnsetType = UNSET
    target: Id | UnsetType = UNSET
    key: Name | UnsetType = UNSET
    kind: Name | UnsetType = UNSET
    about: Name | UnsetType = UNSET
    evidence: Evidence | UnsetType = UNSET
    confidence: Share | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET


class NewBranch(Request, frozen=True, kw_only=True):
    """A branch to open."""

    name: Name
    parent: Name | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET


class Branches(At, frozen=True, kw_only=True):
    """One page of branches, newest first."""

    closed: bool | UnsetType = UNSET
    limit: Many | UnsetType = UNSET
    before: Position | UnsetType = UNSET


class Merge(Request, frozen=True, kw_only=True):
    """Merge a branch as it was seen; ``digest`` binds it to that."""

    digest: Annotated[str, Meta(min_length=1, max_length=128)]
    choose: dict[str, Choice] | UnsetType = UNSET
    edits: dict[str, Text] | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET


class Condense(Request, frozen=True, kw_only=True):
    """One statement in the place of a branch's changes."""

    text: Text
    key: Name | UnsetType = UNSET
    about: Name | UnsetType = UNSET
    evidence: Evidence | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET
