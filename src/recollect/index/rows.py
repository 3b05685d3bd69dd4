"""The rows of the index's tables, as tuples in column order.

Responsible for the order of columns. Leaves storing them to ``index.tables`` and the public values
to ``index.values``. Invariant: a row's fields stand in the order of ``sql/schema.sql``.
"""

# No postponed annotations here: a NamedTuple would compile each string when it is loaded.
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, TypeVar

import msgspec

from recollect.index.caches import Kept
from recollect.model.events import (
    CheckedBy,
    DocumentSet,
    Origin,
    Role,
    SourceType,
    Status,
    Tier,
    Trust,
)
from recollect.model.reasons import Reason
from recollect.model.validate import Json

Hidden = Literal["shadowed", "forgotten"]
# What an event did to a record, as rows keep it; ``model.words`` has what people read.
Op = Literal[
    "added",
    "revised",
    "superseded",
    "reinforced",
    "forgotten",
    "archived",
    "restored",
    "tagged",
    "vouched",
    "reviewed",
]
Cell = str | int | float | bytes | None
Row = tuple[Cell, ...]

_ENCODER: Final = msgspec.json.Encoder(order="sorted")
_NAMES: Final = msgspec.json.Decoder(tuple[str, ...])
_OBJECT: Final = msgspec.json.Decoder(dict[str, Json])
T = TypeVar("T")

# The longest text that every version of a record has in its own row. Reading it there is quicker
# than looking it up, and it is about as large as the rest of the row.
COPIED_TEXT_MAX_CHARS: Final = 1_000


# Reasons of records that were held when they went: they come back held.
_NOT_LET_IN: Final = ("was_held", "rejected")


class Undecodable(Exception):
    """A row that no fold wrote: the index is damaged, even if the engine reports no error."""


class PositionRow(NamedTuple):
    """The event up to which the index is folded, and where it ends in the active file."""

    version: int
    space: str
    seq: int
    hash: str
    at: str
    active_us: int
    offset: int
    purged: int


class CommandRow(NamedTuple):
    """One command: its events, the marks of its acts if the caller named it, the clock after it."""

    seq: int
    first: int
    id: str
    marks: str
    at: str
    active_us: int


class VersionRow(NamedTuple):
    """One version of one record, complete."""

    id: str
    seq: int
    until: int
    at: str
    what: Op
    origin: Origin
    note: str | None
    created_at: str
    text_seq: int
    text: str
    content_id: str
    kind: str
    key: str | None
    about: str | None
    tags: str
    user: str | None
    session: str | None
    agent: str | None
    confidence: float
    source_type: SourceType
    evidence: str
    is_hypothesis: int
    status: Status
    reason: Reason | None
    valid_from: str | None
    valid_to: str | None
    expires: str | None
    trust: Trust
    supersedes: str | None
    superseded_by: str | None
    reinforcement_count: int
    last_reinforced_at: float  # in active hours
    decay_tier: Tier
    data: str
    said_at: str | None
    reinforced_at: str | None  # the same as an instant, if another change came after it
    tz_minutes: int  # the offset from UTC of who added it, for local time


class EpisodeRow(NamedTuple):
    """One episode; ``hidden`` is its state at the position read, not a column."""

    id: str
    seq: int
    text: str
    role: Role
    user: str | None
    session: str | None
    agent: str | None
    said_at: str
    at: str
    metadata: str
    origin: Origin
    trust: Trust
    transient: int = 0  # it only asks, or orders something that is done once
    hidden: Hidden | None = None


class Card(NamedTuple):
    """What ranking needs of a record or an episode: few columns, because it looks at many."""

    id: str
    seq: int
    text_seq: int  # its number in full text; of an episode, its own event
    text: str
    tokens: str | None  # of a text that is recallable now; so its facts
    facts: int | None
    role: Role | None  # None for a record
    user: str | None
    session: str | None  # of an episode
    said_at: str | None
    at: str
    trust: Trust
    transient: int | None = None  # of an episode
    hidden: Hidden | None = None  # of an episode; everything below is of a record
    until: int = 0
    status: Status = "active"
    reason: Reason | None = None
    valid_from: str | None = None
    valid_to: str | None = None
    expires: str | None = None
    evidence: str = "[]"
    key: str | None = None
    about: str | None = None
    tags: str = "[]"
    created_at: str = ""
    supersedes: str | None = None
    confidence: float = 1.0
    is_wanted: bool = True  # the caller wants its unit, its filter passes, and it says something


TEXT: Final = VersionRow._fields.index("text")
_SEQ: Final = VersionRow._fields.index("seq")
KEPT: Final = {"tokens": "t.c0", "facts": "t.c1"}  # of a card, and where full text has them
NOT_OF_RECORDS: Final = frozenset(("role", "session", "transient", "hidden", *KEPT))  # of a card


class LinkRow(NamedTuple):
    """One link from its beginning to its end."""

    source: str
    target: str
    kind: str
    seq: int
    until: int
    weight: float
    trust: Trust
    at: str
    reinforcement_count: int
    name: str | None = None


class PresetRow(NamedTuple):
    """One definition of a preset from its beginning to its end."""

    name: str
    seq: int
    until: int
    at: str
    trust: Trust
    weights: str
    where: str | None
    unit: str
    guarantees: str
    tokens: int
    template: str
    cache: str
    floor: float


class DocumentRow(NamedTuple):
    """One state of a document, from its beginning to its end."""

    type: str
    name: str
    seq: int
    until: int
    at: str
    trust: Trust
    data: str


RULES: Final = "rules"  # the type of documents that are rules


class PassRow(NamedTuple):
    """How far a rule has looked, from one pass to the next."""

    rule: str
    seq: int
    until: int
    at: str
    through: int
    seen: int
    made: int
    skipped: int


class SessionRow(NamedTuple):
    """A session: its name, the event from which it is known, and how it ran.

    ``hours`` are the active hours that its writer counted; None to ask the fold.
    """

    id: str
    user: str  # "" for none
    seq: int
    opened: int  # the event, or STILL
    closed: int
    task_type: str | None
    hours: float | None


class EventRow(NamedTuple):
    """One event as it is listed; of one that was erased the index keeps no more than its place."""

    seq: int
    at: str
    kind: str | None
    origin: Origin
    unit: str | None
    id: str | None
    what: str | None
    text: str | None
    key: str | None
    trust: Trust | None
    user: str | None
    session: str | None
    agent: str | None
    command: str | None  # the id that a caller chose
    author: str | None  # the id of who acted


class AuthorRow(NamedTuple):
    """Whose the id of an author is."""

    id: str
    name: str
    checked: CheckedBy | None
    user: str | None
    seq: int


class ReceiptRow(NamedTuple):
    """One receipt."""

    id: str
    seq: int
    at: str
    user: str | None
    session: str | None
    agent: str | None
    query: str
    preset: str
    preset_digest: str
    ranking: int
    embedder: str | None
    now: str
    position: int
    budget: int
    tokens: int
    counter: str
    signals: str
    items: str


def _content_id(text: str) -> str:
    import hashlib  # slow to load, and most reads do not need it

    return hashlib.sha256(text.strip().lower().encode()).hexdigest()[:16]


# Foreseeing, deciding and folding an act all ask for it.
_content_ids: Final = Kept("content_id", _content_id, 1_024, 2_000)


def content_id(text: str) -> str:
    """The content address: 16 hex digits of the SHA-256 of the trimmed, lower-cased text."""
    return _content_ids[text]


def version_row(row: Sequence[Cell]) -> VersionRow:
    """A row of ``full_versions``, which always has a text."""
    if row[TEXT] is None:
        raise Undecodable(f"the text of version {row[_SEQ]!r} is not in the index")
    return VersionRow._make(row)


def stored_row(row: VersionRow) -> Row:
    """A row of ``versions``: it has a long text only if its event set that text.

    A plain tuple: sqlite3 takes the cells of any other kind one by one, which is slower.
    """
    if row.seq == row.text_seq or len(row.text) <= COPIED_TEXT_MAX_CHARS:
        return tuple(row)
    return (*row[:TEXT], None, *row[TEXT + 1 :])


def pack_names(names: tuple[str, ...]) -> str:
    """Several names in one column."""
    return _ENCODER.encode(names).decode() if names else "[]"


def unpack_names(column: str) -> tuple[str, ...]:
    """The inverse of ``pack_names``."""
    return decoded(_NAMES, column) if column != "[]" else ()


def pack_list(values: Sequence[str] | Sequence[int]) -> str:
    """A list as one bound parameter."""
    return _ENCODER.encode(values).decode()


def pack_object(value: dict[str, Json]) -> str:
    """A JSON object in one column, keys sorted."""
    return _ENCODER.encode(value).decode() if value else "{}"


def unpack_object(column: str) -> dict[str, Json]:
    """The inverse of ``pack_object``."""
    return decoded(_OBJECT, column) if column != "{}" else {}


def decoded(decoder: msgspec.json.Decoder[T], column: str) -> T:
    """The value of a JSON column; the fold wrote it, so malformed JSON means damage."""
    try:
        return decoder.decode(column)
    except (TypeError, ValueError) as error:
        raise Undecodable(f"a column of the index cannot be decoded: {error}") from error


def supports(episode: EpisodeRow | Card, row: VersionRow | Card, named: int) -> bool:
    """True if an episode is evidence for a record that named it at this seq.

    That is so if it was observed before that seq and the record's user could see it. Otherwise the
    name is a reference to elsewhere, even if an episode with that id is observed later.
    """
    return episode.seq < named and (row.user is None or row.user == episode.user)


def document_id(type: str, name: str) -> str:
    """The id of a document; its type holds no slash."""
    return f"{type}/{name}"


def document_row(seq: int, until: int, at: str, body: DocumentSet) -> DocumentRow:
    """What the index keeps of a document."""
    return DocumentRow(body.type, body.name, seq, until, at, body.trust, pack_object(body.data))


def is_held(row: VersionRow | Card) -> bool:
    """True for a record that is not trusted, even after it was forgotten."""
    return row.status == "held" or row.trust == "unverified" or row.reason in _NOT_LET_IN


def recallable_record(row: VersionRow | Card) -> bool:
    """True if default recall may return this version, leaving expiry aside."""
    return row.status == "active" and row.trust != "unverified"


def names_of(row: VersionRow | Card) -> str:
    """The key, the subject and the tags of a version, as words to search for."""
    if row.key is None and row.about is None and row.tags == "[]":
        return ""
    return f"{row.key or ''} {row.about or ''} {row.tags}"


def searched_text(row: VersionRow | EpisodeRow) -> str:
    """What full text has of a row: its text and, for a record that may be recalled, its names.

    The names of others are left out, because they change while a text stays where it is. SQL puts
    the same words together (``texts_recallable``).
    """
    names = names_of(row) if isinstance(row, VersionRow) and recallable_record(row) else ""
    return f"{row.text} {names}" if names else row.text


def recallable_episode(row: EpisodeRow | Card) -> bool:
    """True if default recall may look at this episode; one that only asks is never returned."""
    return row.hidden is None and row.trust != "unverified"
