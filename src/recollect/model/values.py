"""What the public face hands out: frozen values, each a copy of its own.

Responsible for the shape of answers. Leaves how they are found to ``index`` and ``recall``.
Invariant: changing anything reachable from an answer changes no memory.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias, overload

import msgspec

from recollect.model.door import Json
from recollect.model.events import Origin, Role, SourceType, Status, Tier, Trust

Slice: TypeAlias = "slice[int | None, int | None, int | None]"
Unit = Literal["record", "episode"]
EpisodeStatus = Literal["visible", "shadowed", "forgotten"]
Op = Literal["added", "revised", "superseded", "reinforced", "forgotten", "restored", "tagged"]
Include = Literal["superseded", "forgotten", "shadowed", "held", "expired", "archived"]
INCLUDES: tuple[Include, ...] = (
    "superseded",
    "forgotten",
    "shadowed",
    "held",
    "expired",
    "archived",
)


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
    source_type: SourceType
    evidence: tuple[str, ...]
    is_hypothesis: bool
    status: Status
    reason: str | None
    valid_from: str | None
    valid_to: str | None
    expires: str | None
    trust: Trust
    supersedes: str | None
    superseded_by: str | None
    reinforcement_count: int
    last_reinforced_at: float  # in active hours
    decay_tier: Tier
    data: dict[str, Json]
    content_id: str
    created_at: str
    at: str
    seq: int

    def __str__(self) -> str:
        return self.text


class Version(Value, frozen=True, kw_only=True):
    """One step in a record's life: what happened, who did it, and the record after it."""

    seq: int
    at: str
    what: Op
    origin: Origin
    note: str | None
    record: Record


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


class Source(Value, frozen=True, kw_only=True):
    """An episode quoted as evidence."""

    id: str
    quote: str
    role: Role
    said_at: str
    status: EpisodeStatus


class Hit(Value, frozen=True, kw_only=True):
    """One answer: a record or an episode.

    ``score`` decides the order and is the sum of ``shares``, which say what each signal adds to it;
    a signal that adds nothing is left out. ``relevance``, in [0, 1], is how likely this is what was
    asked for: 1 / (1 + exp(-(slope * score + offset))), with the slope and offset that belong to
    the weights. That is so in a recall. In a context a frame decides the order: there ``score`` and
    ``shares`` are the frame's, one share of which is ``similarity``, its weight times the
    relevance; and ``match`` holds the shares that the recall gave.
    """

    id: str
    unit: Unit
    text: str
    relevance: float
    trust: Trust
    at: str
    record: Record | None = None
    episode: Episode | None = None
    sources: tuple[Source, ...] = ()
    score: float = 0.0
    shares: dict[str, float] = {}
    match: dict[str, float] = {}

    def __str__(self) -> str:
        return self.text


class Recall(Value, frozen=True, kw_only=True):
    """The answers to one query, best first: a sequence of hits. Unverified ones stand apart."""

    query: str
    hits: tuple[Hit, ...]
    unverified: tuple[Hit, ...] = ()
    held: int = 0
    abstained: bool = False
    degraded: str | None = None

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: Slice) -> Sequence[Hit]: ...
    def __getitem__(self, index: int | Slice) -> Hit | Sequence[Hit]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __reversed__(self) -> Iterator[Hit]:
        return reversed(self.hits)

    def __contains__(self, hit: object) -> bool:
        return hit in self.hits

    def index(self, hit: Hit, start: int = 0, stop: int = sys.maxsize) -> int:
        """Where a hit stands."""
        return self.hits.index(hit, start, stop)

    def count(self, hit: Hit) -> int:
        """How often a hit stands here."""
        return self.hits.count(hit)


# Structs and abstract classes cannot be mixed, so the sequence is declared, not inherited.
Sequence.register(Recall)


class Omitted(Value, frozen=True, kw_only=True):
    """Something that was found but not packed, and why."""

    id: str
    reason: str


class Context(Value, frozen=True, kw_only=True):
    """Memory packed for a prompt; ``str(context)`` is the text to paste.

    ``abstained``: nothing was relevant enough for the frame. ``receipt`` is the id under which
    ``replay`` gives the very text again; None if none was left.
    """

    query: str
    text: str
    hits: tuple[Hit, ...]
    omitted: tuple[Omitted, ...]
    tokens: int
    budget: int
    seq: int
    frame: str = "task"
    receipt: str | None = None
    abstained: bool = False
    degraded: str | None = None
    notes: tuple[str, ...] = ()  # what the text shows otherwise than it is stored

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of what was packed, in order."""
        return tuple(hit.id for hit in self.hits)

    @property
    def sources(self) -> tuple[Source, ...]:
        """The episodes that the packed records rest on, as far as the question found them."""
        return tuple(source for hit in self.hits for source in hit.sources)

    def __str__(self) -> str:
        return self.text


class ReceiptItem(Value, frozen=True, kw_only=True):
    """One line that a context handed out; without an id if it was erased since."""

    seq: int  # the event that made what the line says
    id: str | None
    unit: Unit | None
    shares: dict[str, float]
    against: tuple[int, ...]
    guaranteed: bool


class Receipt(Value, frozen=True, kw_only=True):
    """What a context handed out. It holds no text: ``replay`` finds that in the ledger."""

    id: str
    seq: int
    at: str
    scope: Scope
    query: str  # SHA-256 of the id, a zero byte and the question
    frame: str
    frame_digest: str
    ranking: int
    embedder: str | None
    now: str
    position: int
    budget: int
    tokens: int
    counter: str
    items: tuple[ReceiptItem, ...]


class Replay(Value, frozen=True, kw_only=True):
    """A context as it was handed out; ``str(replay)`` is its text.

    ``erased`` are the events of lines that show as erased. ``same_order`` says whether ranking anew
    at that position gives the same items with the same shares; None if that was not asked, or
    another ranking or embedder made the receipt.
    """

    receipt: Receipt
    text: str
    erased: tuple[int, ...] = ()
    same_order: bool | None = None
    notes: tuple[str, ...] = ()  # what is shown otherwise than it is stored, by today's rules

    def __str__(self) -> str:
        return self.text


class Why(Value, frozen=True, kw_only=True):
    """Where a belief comes from: who said it, on what evidence, in place of what."""

    record: Record
    origin: Origin
    sources: tuple[Source, ...]
    other_evidence: tuple[str, ...]
    replaced: tuple[Record, ...]
    replaced_by: Record | None
    links: tuple[Link, ...]


Absence = Include | Literal["there", "filtered", "unfound", "source", "floor", "rank", "unpacked"]


class WhyNot(Value, frozen=True, kw_only=True):
    """Why something is not in the answer to a question; ``str(why_not)`` says it in words.

    ``reason`` is ``there`` if it is in the answer, at ``place``; a word of ``include`` if it is
    hidden; ``filtered``: of another unit, or the filter leaves it out; ``unfound``: no way of
    looking came upon it; ``source``: it is quoted under a record that rests on it; ``floor``: not
    relevant enough; ``rank``: too many stand before it; ``unpacked``: a context found it and left
    it out. ``by`` are the ids of what is in its place: its successor, the record, those before it.
    """

    id: str
    unit: Unit
    query: str
    reason: Absence
    detail: str
    place: int | None = None
    relevance: float | None = None
    score: float | None = None
    shares: dict[str, float] = {}
    by: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.detail


class Forgotten(Value, frozen=True, kw_only=True):
    """What ``forget`` did: the record, the episodes that left with it, those that still show."""

    id: str
    unit: Unit
    shadowed: tuple[str, ...] = ()
    showing: tuple[str, ...] = ()


class Erasure(Value, frozen=True, kw_only=True):
    """What ``erase`` removed and from where; ``kept`` are sources that others still need."""

    id: str
    seq: int
    events: tuple[int, ...]
    episodes: tuple[str, ...]
    kept: tuple[str, ...]
    places: tuple[str, ...]


class Verification(Value, frozen=True, kw_only=True):
    """The answer of ``verify``. Without an outside anchor it is at best self-consistent."""

    status: Literal["self-consistent", "broken"]
    events: int
    erased: int
    head: str
    broken_at: int | None = None
    problem: str | None = None

    @property
    def ok(self) -> bool:
        """True unless something is broken."""
        return self.status != "broken"


class Rebuilt(Value, frozen=True, kw_only=True):
    """What ``rebuild`` folded, and the digest of the state it reached."""

    events: int
    digest: str


class Embedded(Value, frozen=True, kw_only=True):
    """What an embedder was given to encode, and how many texts still lack its vectors."""

    model: str
    texts: int
    pieces: int
    missing: int = 0


class Migrated(Value, frozen=True, kw_only=True):
    """From which revision to which a database went, and whether its index was made anew."""

    before: str | None  # None: it had no schema yet
    after: str
    index: bool


class Vacuumed(Value, frozen=True, kw_only=True):
    """How many tables of a server were written again, and what still keeps erased bytes."""

    tables: int
    rows_kept: int  # dead, but an open transaction may still see them
    places: tuple[str, ...]


class Token(Value, frozen=True, kw_only=True):
    """What a token for a server allows; never the token itself."""

    id: int
    label: str
    space: str | None  # None: every one
    verbs: tuple[str, ...]
    origin: Trust
    user: str | None
    agent: str | None
    made: str
    expires: str | None
    revoked: str | None
    live: bool  # neither revoked nor expired


class MadeToken(Token, frozen=True, kw_only=True):
    """A token that was just made: the one time that it is shown."""

    token: str

    def __repr__(self) -> str:
        return f"MadeToken(id={self.id}, label={self.label!r})"


class Sealed(Value, frozen=True, kw_only=True):
    """What ``seal`` closed into a segment; nothing, if the active file held no more than a line."""

    events: int
    seq: int
    head: str
    digest: str
    segment: str | None


class Backup(Value, frozen=True, kw_only=True):
    """A copy of one space's ledger."""

    path: str
    space: str
    seq: int
    head: str


class Carried(Value, frozen=True, kw_only=True):
    """What ``push`` or ``pull`` brought to the other place; both ledgers now end alike."""

    space: str
    where: str
    events: int
    seq: int
    head: str
    digest: str


class Finding(Value, frozen=True, kw_only=True):
    """One thing ``doctor`` looked at."""

    level: Literal["ok", "note", "problem"]
    what: str
    detail: str
    fix: str | None = None


class SpaceStatus(Value, frozen=True, kw_only=True):
    """Counts and position of one space."""

    space: str
    where: str
    seq: int
    head: str
    at: str | None
    records: int
    held: int
    archived: int
    forgotten: int
    episodes: int
    shadowed: int
    links: int
    active_hours: float
