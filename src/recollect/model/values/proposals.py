"""Values of what waits for a person.

Responsible for the shape of a suggestion and of a proposal. Leaves how they are found to
``memory``. Invariant: a value is an independent copy.
"""

from __future__ import annotations

from typing import Literal

from recollect.model.events import Intent, Origin, Role, Trust
from recollect.model.validate import Json
from recollect.model.values.records import Author, EpisodeStatus, Quote, Record, Scope, Value

State = Literal["waiting", "approved", "rejected", "applied", "withdrawn"]


class Suggestion(Value, frozen=True, kw_only=True):
    """What a proposer suggests: nothing yet. One that passes every check becomes a proposal.

    ``quotes`` are words of the episodes that it was given, and ``target`` is one of the records
    that it was given.
    """

    intent: Intent
    quotes: tuple[Quote, ...]
    text: str | None = None
    target: str | None = None
    key: str | None = None
    kind: str | None = None
    about: str | None = None
    confidence: float | None = None
    reason: str | None = None


class Quoted(Value, frozen=True, kw_only=True):
    """Words of an episode that a proposal rests on; without a quote, the whole episode."""

    episode: str
    words: str
    role: Role
    said_at: str
    trust: Trust
    status: EpisodeStatus


class Proposal(Value, frozen=True, kw_only=True):
    """A change that waits for a person, or waited: a proposal, or a record.

    ``digest`` is over everything shown here that a review is about: approving needs it, so that
    only what was seen is approved. ``stale`` is true if the target has changed since.
    """

    id: str
    unit: Literal["proposal", "record"]
    intent: Intent
    state: State
    text: str | None
    target: str | None
    before: Record | None  # the target as it is now
    resting: tuple[Record, ...]  # what was derived from the target, the first of it
    key: str | None
    kind: str | None
    about: str | None
    evidence: tuple[str, ...]
    quotes: tuple[Quoted, ...]
    rule: str | None
    confidence: float | None
    reason: str | None
    changes: dict[str, Json]
    trust: Trust
    by: Origin
    scope: Scope
    stale: bool
    digest: str
    at: str
    seq: int
    record: str | None = None  # what an approved proposal added or changed
    closed_by: Origin | None = None
    author: Author | None = None  # who proposed it
    decided_by: Author | None = None
    closed_at: str | None = None
    note: str | None = None  # the reason that was given for the outcome

    @property
    def refutes(self) -> bool:
        """True if approving it says that the target does not hold, and does not forget it."""
        return self.intent == "delete" and self.changes.get("why") == "rejected"

    def __str__(self) -> str:
        return self.text or ""
