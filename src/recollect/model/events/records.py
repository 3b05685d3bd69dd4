"""The bodies of events about episodes, records and the links between records.

Responsible for what such an event says. Leaves its effect to ``index.fold`` and whether it may
happen to ``lifecycle``. Invariant: status and trust have been decided and are written in the body.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from recollect.model.events.body import (
    Archival,
    Body,
    Reinforcement,
    Role,
    Sources,
    SourceType,
    Status,
    Tier,
    Trust,
    Verdict,
)
from recollect.model.reasons import Reason
from recollect.model.validate import Json


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


class Said(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a caller says of a record beside its text; unset fields were not mentioned."""

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
    said_at: str | None | UnsetType = UNSET


# The same fields in the form that a row keeps them, without those that it keeps in another one.
PLAIN: Final = tuple(n for n in Said.__struct_fields__ if n not in ("is_hypothesis", "data"))
_RULED: Final = (
    *("kind", "about", "confidence", "source_type", "valid_from", "valid_to", "expires"),
    *("decay_tier", "said_at"),
)
# Those that no rule looks at, none today: they are kept, shown, proposed and merged like the text.
NOTED: Final = tuple(name for name in PLAIN if name not in _RULED)


class RecordSuperseded(Body, frozen=True, kw_only=True):
    """Another record took this one's place."""

    id: str
    by: str
    reason: str | None = None


class RecordReinforced(Body, frozen=True, kw_only=True):
    """A belief was restated, or a context that held it was used."""

    id: str
    how: Reinforcement


class RecordForgotten(Body, frozen=True, kw_only=True):
    """A belief leaves default reads; with ``keep`` its sources stay visible."""

    id: str
    sources: Sources = "shadow"
    reason: str | None = None


class RecordArchived(Body, frozen=True, kw_only=True):
    """A belief leaves default reads because it has faded, is part of another, or was refuted."""

    id: str
    why: Archival
    reason: str | None = None


class RecordRestored(Body, frozen=True, kw_only=True):
    """A forgotten or archived belief is back, or one leaves the inbox: it is active now."""

    id: str


class RecordTagged(Body, frozen=True, kw_only=True):
    """Tags were put on a belief or taken off it."""

    id: str
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


class RecordVouched(Body, frozen=True, kw_only=True):
    """A person has written what a belief says now: a review of one's own words.

    A trusted belief has a person's trust from then on, also if an agent captured its evidence. What
    is held or unverified waits for its own review.
    """

    id: str


class RecordState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a belief is after a person chose between two ledgers; its trust is the event's."""

    text: str
    kind: str
    confidence: float
    status: Status
    reason: Reason | None = None
    about: str | None = None
    source_type: SourceType = "told"
    evidence: tuple[str, ...] = ()
    is_hypothesis: bool = False
    valid_from: str | None = None
    valid_to: str | None = None
    expires: str | None = None
    superseded_by: str | None = None
    decay_tier: Tier = "standard"
    data: dict[str, Json] = {}
    said_at: str | None = None


class RecordReviewed(Body, frozen=True, kw_only=True):
    """A person has looked at a belief. Beside ``RecordVouched`` the only event that raises trust.

    ``approved`` lets a held record in, with this trust; ``rejected`` archives it; ``reopened``
    takes an approval back; ``settled`` says which of two ledgers' values holds, whole, in
    ``state``. ``digest`` is over what the person saw.
    """

    id: str
    trust: Trust
    digest: str
    verdict: Verdict
    reason: str | None = None
    state: RecordState | None = None


class LinkAdded(Body, frozen=True, kw_only=True):
    """A typed, directed relation between two records begins or is restated."""

    source: str
    target: str
    kind: str
    trust: Trust
    weight: float = 1.0
    name: str | None = None  # what another system calls it


class LinkRemoved(Body, frozen=True, kw_only=True):
    """A relation ends."""

    source: str
    target: str
    kind: str
