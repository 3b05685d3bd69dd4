"""Values of what a memory holds: records, episodes and links.

Responsible for their shape, for what all values share and for the words that ``include`` accepts.
Leaves answers to queries to ``model.values.recall``. Invariant: a value is an independent copy.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from recollect.model.events import CheckedBy, Origin, Role, SourceType, Tier, Trust
from recollect.model.validate import Json
from recollect.model.words import RecordReason, RecordStatus

Unit = Literal["record", "episode"]
EpisodeStatus = Literal["visible", "hidden", "forgotten"]
Op = Literal[
    "added",
    "revised",
    "replaced",
    "reinforced",
    "forgotten",
    "archived",
    "restored",
    "tagged",
    "vouched",
    "reviewed",
]
Include = Literal[
    "replaced", "forgotten", "hidden", "waiting", "expired", "archived", "refuted", "transient"
]
INCLUDES: tuple[Include, ...] = (
    "replaced",
    "forgotten",
    "hidden",
    "waiting",
    "expired",
    "archived",
    "refuted",
    "transient",
)
REFUTED: Final = 0.0  # the confidence of what was found not to hold
SURE_MIN: Final = 0.6  # what is believed less than this is marked


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """Common to all answers."""

    def to_dict(self) -> dict[str, Json]:
        """The value as JSON-ready data."""
        plain: dict[str, Json] = msgspec.json.decode(msgspec.json.encode(self))
        return plain


class Scope(Value, frozen=True, kw_only=True, omit_defaults=True):
    """For whom, in which session and by which agent something was written."""

    user: str | None = None
    session: str | None = None
    agent: str | None = None


class MemoryScope(Scope, frozen=True, kw_only=True):
    """What a handle of a memory is for: its space and its scope, and how far it is trusted."""

    space: str
    trust: Trust


class Record(Value, frozen=True, kw_only=True):
    """One belief, as of one position of the ledger."""

    id: str
    text: str
    kind: str
    key: str | None
    about: str | None
    tags: tuple[str, ...]
    scope: Scope
    confidence: float
    how_known: SourceType
    evidence: tuple[str, ...]
    is_hypothesis: bool
    status: RecordStatus
    reason: RecordReason | None
    valid_from: str | None
    valid_to: str | None
    expires: str | None
    trust: Trust
    replaces: str | None
    replaced_by: str | None
    reinforcement_count: int
    last_reinforced_at: str  # when it was added, or reinforced since
    reinforced_hours: float  # the memory's active hours then
    decay_tier: Tier
    data: dict[str, Json]
    content_id: str
    created_at: str
    at: str
    seq: int
    said_at: str | None = None  # if it was not said when it was written
    pending: str | None = None  # in the answer to a change that waits for a person: its proposal

    @property
    def doubt(self) -> str | None:
        """Why it is less than a plain statement: ``refuted``, ``hypothesis``, its confidence."""
        if self.confidence <= REFUTED:
            return "refuted"
        doubts = [
            *(["hypothesis"] if self.is_hypothesis else []),
            *([f"confidence {self.confidence:.2f}"] if self.confidence < SURE_MIN else []),
        ]
        return ", ".join(doubts) or None

    def __str__(self) -> str:
        return self.text


class Author(Value, frozen=True, kw_only=True):
    """Who acted. A name that was ``checked`` is that of a token or a login; another was claimed."""

    id: str  # random, and the same for all that they did in this memory
    name: str | None  # None once it was erased
    checked: CheckedBy | None = None

    def __str__(self) -> str:
        return "(name erased)" if self.name is None else self.name


class Version(Value, frozen=True, kw_only=True):
    """One step in a record's life: what happened, who did it, and the record after it."""

    seq: int
    at: str
    what: Op
    by: Origin
    note: str | None
    record: Record
    author: Author | None = None


class Episode(Value, frozen=True, kw_only=True):
    """What was seen or said, verbatim."""

    id: str
    text: str
    role: Role
    scope: Scope
    said_at: str
    at: str
    metadata: dict[str, Json]
    trust: Trust
    status: EpisodeStatus
    seq: int

    def __str__(self) -> str:
        return self.text


class Link(Value, frozen=True, kw_only=True):
    """A typed, directed relation between two records."""

    source: str
    target: str
    kind: str
    weight: float
    trust: Trust
    at: str
    seq: int
    reinforcement_count: int = 0
    name: str | None = None


class Quote(Value, frozen=True, kw_only=False):
    """Words of an episode, named as evidence: ``evidence=[Quote(episode.id, "the words")]``.

    The words must occur in the text of the episode as it is written, upper and lower case
    included; only runs of white space may differ. The words themselves are not stored.
    """

    episode: str
    words: str


class Source(Value, frozen=True, kw_only=True):
    """An episode quoted as evidence."""

    id: str
    quote: str
    role: Role
    said_at: str
    status: EpisodeStatus
    changed: tuple[Record, ...] = ()
