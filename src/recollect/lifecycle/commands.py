"""Commands: what a caller wants done, with all values that come from chance and the clock.

Responsible for the shape of requests. Leaves judging them to ``lifecycle.decide``. Invariant: a
command contains everything it needs, so that deciding it twice gives the same events.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from recollect.model.events import (
    Archival,
    CheckedBy,
    ContextHanded,
    Ending,
    Intent,
    Reinforcement,
    Role,
    Said,
    Sources,
    Trust,
)
from recollect.model.presets import Preset
from recollect.model.validate import Json
from recollect.model.values import Quote

Erasable = Literal["memory", "frame", "document", "session", "receipt", "proposal", "branch"]


class Name(msgspec.Struct, frozen=True, kw_only=True):
    """What a person or a program is called, by what that is known, and whose token it was.

    The text is empty if it is not known what the person here is called.
    """

    text: str
    checked: CheckedBy | None = None
    user: str | None = None


class Actor(msgspec.Struct, frozen=True, kw_only=True):
    """Who acts: with how much trust, for whom, in which session, on which clock."""

    trust: Trust
    user: str | None = None
    session: str | None = None
    agent: str | None = None
    tz_minutes: int = 0
    name: Name | None = None  # None if the ledger gets no names

    @property
    def author(self) -> Name | None:
        """Who is to be named in the ledger.

        A name that nothing checked is that of the person here; an agent has a label in its scope.
        """
        if self.name is None or not self.name.text:
            return None
        return self.name if self.name.checked or self.trust == "person" else None


class Act(msgspec.Struct, frozen=True, kw_only=True, tag_field="act", gc=False):
    """One thing to do."""


class Remember(Said, Act, frozen=True, kw_only=True):
    """Hold a belief. ``id`` is the caller's; else one is made from ``stamp`` and ``chance``.

    In the inbox it waits: it is listed, but not recalled, and takes no key. With ``fresh`` an
    existing record is not restated: an id that is already used is a conflict. With ``supersedes``
    it takes the place of another record, and has of it what is not given here.
    """

    text: str
    id: str | None
    stamp: str
    chance: str
    key: str | None = None
    tags: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()  # also the episodes that are quoted
    quotes: tuple[Quote, ...] | UnsetType = UNSET
    expires_after_us: int | UnsetType = UNSET  # the span, if the expiry was given as one
    status: Literal["inbox"] | UnsetType = UNSET
    fresh: bool | UnsetType = UNSET
    supersedes: str | UnsetType = UNSET
    reason: str | None | UnsetType = UNSET  # why it supersedes
    untagged: bool | UnsetType = UNSET  # it has only the tags that are given here
    files: bool | UnsetType = UNSET  # a proposal, if it may not supersede at once


class Observe(Act, frozen=True, kw_only=True):
    """Keep what was seen or said."""

    text: str
    role: Role
    id: str | None
    stamp: str
    chance: str
    said_at: str
    session: str | None = None
    metadata: dict[str, Json] = {}


class Revise(Said, Act, frozen=True, kw_only=True):
    """Correct a belief; unset fields stay as they were.

    ``patch`` changes parts of the data by JSON Merge Patch: keys that it does not name stay, so
    that two callers who patch at the same time do not overwrite each other.
    """

    id: str
    text: str | UnsetType = UNSET
    reason: str | None = None
    evidence: tuple[str, ...] = ()  # also the episodes that are quoted
    quotes: tuple[Quote, ...] | UnsetType = UNSET
    expires_after_us: int | UnsetType = UNSET
    patch: dict[str, Json] | UnsetType = UNSET
    regrounds: bool | UnsetType = UNSET  # the evidence is this, also if the text stays
    stamp: str = ""  # for the proposal that it becomes if it may not be done at once
    chance: str = ""


class Forget(Act, frozen=True, kw_only=True):
    """Take a belief or an episode out of default reads."""

    id: str
    sources: Sources = "shadow"
    reason: str | None = None
    visible: bool | UnsetType = UNSET  # only an episode that is not shadowed
    stamp: str = ""
    chance: str = ""


class Restore(Act, frozen=True, kw_only=True):
    """Undo a forgetting or an archiving, or take something out of the inbox.

    With ``alone`` what was replaced is refused: it would hold beside what took its place.
    """

    id: str
    alone: bool | UnsetType = UNSET


class Archive(Act, frozen=True, kw_only=True):
    """Take a belief out of default reads: it has faded, is part of another, or did not hold.

    ``seq`` is the version that the caller looked at: a later one stays.
    """

    id: str
    why: Archival
    seq: int | None = None
    reason: str | None = None
    stamp: str = ""  # for the proposal that it becomes if it may not be done at once
    chance: str = ""


class Settle(Act, frozen=True, kw_only=True):
    """Say that a hypothesis holds, or that it does not."""

    id: str
    holds: bool
    evidence: tuple[str, ...] = ()  # also the episodes that are quoted
    quotes: tuple[Quote, ...] | UnsetType = UNSET
    reason: str | None = None
    stamp: str = ""  # for the proposal that it becomes if it may not be done at once
    chance: str = ""


class Retract(Act, frozen=True, kw_only=True):
    """Take back everything that was derived from an episode or a belief, and it itself."""

    id: str


class Revert(Act, frozen=True, kw_only=True):
    """Bring back what held before: at a position, or before the last change.

    With ``exactly`` a record is put back as it was then: one that was not there yet is forgotten.
    With ``may_fall`` words that rest on something unverified come back held, else it is refused.
    """

    id: str
    to: int | None = None
    exactly: bool = False
    may_fall: bool = False


class Erase(Act, frozen=True, kw_only=True):
    """Permanently remove every byte of a belief, an episode, a preset, a session or a receipt."""

    id: str
    sources: bool = True
    reason: str | None = None
    what: Erasable = "memory"


class EraseAll(Act, frozen=True, kw_only=True):
    """Permanently remove every byte of these beliefs, episodes, receipts and a user's sessions."""

    ids: tuple[str, ...]
    receipts: tuple[str, ...] = ()
    reason: str | None = None
    sessions: tuple[str, ...] = ()
    user: str | None = None  # whose sessions
    proposals: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    subjects: tuple[str, ...] | UnsetType = UNSET  # whose keys are destroyed
    authors: tuple[str, ...] | UnsetType = UNSET  # whose names are erased


class Reinforce(Act, frozen=True, kw_only=True):
    """Note that a belief was useful."""

    id: str
    how: Reinforcement = "used"


class Tag(Act, frozen=True, kw_only=True):
    """Put tags on a belief or take them off."""

    id: str
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


class Link(Act, frozen=True, kw_only=True):
    """Relate two beliefs. A ``fresh`` link that exists is a conflict."""

    source: str
    target: str
    kind: str
    weight: float = 1.0
    fresh: bool | UnsetType = UNSET
    name: str | None | UnsetType = UNSET  # not given: as it was


class ReinforceLink(Act, frozen=True, kw_only=True):
    """Note that a relation was useful."""

    source: str
    target: str
    kind: str


class Unlink(Act, frozen=True, kw_only=True):
    """End a relation."""

    source: str
    target: str
    kind: str


class SetPreset(Act, frozen=True, kw_only=True, tag="SetFrame"):
    """Set a preset as a whole."""

    preset: Preset = msgspec.field(name="frame")


class DropPreset(Act, frozen=True, kw_only=True, tag="DropFrame"):
    """Remove a preset."""

    name: str


class SetDocument(Act, frozen=True, kw_only=True):
    """Set a document, whole."""

    type: str
    name: str
    data: dict[str, Json]


class DropDocument(Act, frozen=True, kw_only=True):
    """Remove a document."""

    type: str
    name: str


class OpenSession(Act, frozen=True, kw_only=True):
    """Open a session. ``id`` is the caller's; else one is made from ``stamp`` and ``chance``.

    A ``fresh`` session that is open already is a conflict.
    """

    id: str | None
    stamp: str
    chance: str
    task_type: str | None = None
    start_active_hours: float | None = None
    fresh: bool | UnsetType = UNSET


class CloseSession(Act, frozen=True, kw_only=True):
    """Close a session."""

    id: str


class Propose(Act, frozen=True, kw_only=True):
    """Ask a person for a change: to add a belief, or to correct or forget the target."""

    intent: Intent
    stamp: str
    chance: str
    target: str | None = None
    text: str | None = None
    key: str | None = None
    kind: str | None = None
    about: str | None = None
    evidence: tuple[str, ...] = ()
    quotes: tuple[Quote, ...] | UnsetType = UNSET
    rule: str | None = None
    confidence: float | None = None
    reason: str | None = None
    why: Literal["rejected"] | None = None  # of a deletion: the target does not hold


class Review(Act, frozen=True, kw_only=True):
    """Approve or reject a proposal or a held record, as it was shown with this digest."""

    id: str
    verdict: Literal["approved", "rejected"]
    digest: str
    stamp: str
    chance: str
    reason: str | None = None


class OpenBranch(Act, frozen=True, kw_only=True):
    """Begin a named line of proposals; its id is made from ``stamp`` and ``chance``."""

    name: str
    stamp: str
    chance: str
    parent: str | None = None
    reason: str | None = None


class OnBranch(Act, frozen=True, kw_only=True):
    """Make a change on a branch: it becomes a proposal there."""

    branch: str
    wanted: Remember | Revise | Forget
    stamp: str
    chance: str


class CloseBranch(Act, frozen=True, kw_only=True):
    """End a branch and settle everything on it.

    A merge is of exactly what was shown with this digest. ``ours`` names the proposals that are
    rejected, ``theirs`` those that are taken although their base has moved, and ``edits`` the texts
    that take the place of a proposal's. ``into`` is a branch that gets the changes of an abandoned
    one.
    """

    branch: str
    how: Ending
    stamp: str
    chance: str
    digest: str = ""
    ours: tuple[str, ...] = ()
    theirs: tuple[str, ...] = ()
    edits: dict[str, str] = {}
    reason: str | None = None
    summary: Remember | UnsetType = UNSET  # of a condensed branch
    into: str | UnsetType = UNSET


class TryBranch(Act, frozen=True, kw_only=True):
    """Make every change of a branch, with its side of each conflict; never written."""

    branch: str
    stamp: str
    chance: str


class Withdraw(Act, frozen=True, kw_only=True):
    """Take a proposal back."""

    id: str
    reason: str | None = None


class Pass(Act, frozen=True, kw_only=True):
    """Note how far a rule has looked; what it makes of the episodes follows in the same command.

    ``after`` is where it stood, and ``set_at`` the event that set it, unless this command does.
    Without ``after`` it begins again.
    """

    rule: str
    through: int = 0
    after: int | None = None
    set_at: int | None = None
    seen: int = 0
    made: int = 0
    skipped: int = 0


class Derive(Act, frozen=True, kw_only=True):
    """Do what an episode asks for, with no more trust than it and the rule have."""

    rule: str
    trust: Trust  # of the rule
    episode: str
    user: str | None
    intent: Intent
    text: str
    said_at: str
    stamp: str
    chance: str
    key: str | None = None
    about: str | None = None
    replaces: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    data: dict[str, Json] = {}
    beside: tuple[str, ...] = ()  # records that may say nearly the same, or the opposite


class Hand(Act, frozen=True, kw_only=True):
    """Write the receipt of a context."""

    receipt: ContextHanded


# An id with the seq that the caller read it at, or the position at which the caller read.
Expect = tuple[str, int] | int


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """Acts that happen together or not at all, once for each id.

    ``named`` is true if the caller chose the id. Only then can the command be sent again, so only
    then is a digest kept to tell a repetition from a different command. ``expect`` must still hold
    when the command is decided; it is not checked for a repetition. ``asked`` is the call if its
    acts follow from the state, so that a repetition may have others.
    """

    id: str
    actor: Actor
    acts: tuple[Act, ...]
    named: bool = False
    expect: Expect | None = None
    asked: tuple[Json, ...] | None = None


def forgets(acts: Sequence[Act]) -> int:
    """How many things the acts would remove at once."""
    return sum(
        isinstance(act, Forget | Revert | Archive) or _derives_forgetting(act) for act in acts
    )


def _derives_forgetting(act: Act) -> bool:
    """True if what an episode asks for is forgotten at once; without trust it is proposed."""
    return isinstance(act, Derive) and act.intent == "delete" and act.trust != "unverified"
