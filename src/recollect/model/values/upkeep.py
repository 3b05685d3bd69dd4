"""Values of upkeep: what forgetting, erasing, checking, copying and serving report, and jobs.

Responsible for their shape and for the kinds of jobs. Leaves the work to ``memory`` and ``store``.
Invariant: none of them contains the text of a memory, and no job a token.
"""

from __future__ import annotations

from typing import Final, Literal

from recollect.model.events import Origin, Trust
from recollect.model.validate import Json
from recollect.model.values.records import Unit, Value

# Another kind needs another revision in ``store.postgres.schema``: earlier workers would end it.
JobKind = Literal[
    "embed", "consolidate", "archive", "expire", "verify", "seal", "rebuild", "checkpoint"
]
JobState = Literal["waiting", "running", "done", "failed", "cancelled"]
JOB_KINDS: Final = (
    "embed", "consolidate", "archive", "expire", "verify", "seal", "rebuild", "checkpoint",
)  # fmt: skip


class Forgotten(Value, frozen=True, kw_only=True):
    """What ``forget`` did: the record, the episodes hidden with it, those still visible.

    ``pending`` is a proposal that waits for a person: then nothing was forgotten. With ``derived``
    the records in ``taken`` go, and those in ``back`` say what they said before, have their key
    again, or have less trust because they rest on one of these. ``seq`` is the last event that did
    it, or 0 if nothing was done: ``undo(forgotten.seq)`` brings all of it back.
    """

    id: str
    unit: Unit
    hidden: tuple[str, ...] = ()
    showing: tuple[str, ...] = ()
    pending: str | None = None
    taken: tuple[str, ...] = ()
    back: tuple[str, ...] = ()
    seq: int = 0


class Erasure(Value, frozen=True, kw_only=True):
    """What ``erase`` removed, from where, and what it left.

    ``kept`` are episodes that other records still need. ``remaining`` are those records: earlier
    values of the same key, and others that rest on what was erased. ``reasons`` are records that
    an erased one replaced with a reason: the reason is a part of them, and is still there.
    ``naming`` are records and episodes of others that still name the person in their text.
    """

    id: str | None  # None if it was not chosen by its id
    seq: int
    events: tuple[int, ...]
    episodes: tuple[str, ...]
    kept: tuple[str, ...]
    places: tuple[str, ...]
    records: tuple[str, ...] = ()
    receipts: tuple[str, ...] = ()
    remaining: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    proposals: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()  # pseudonyms whose keys were destroyed
    authors: tuple[str, ...] = ()  # ids whose names were erased; what they did stays
    naming: tuple[str, ...] = ()
    certificate: str | None = None  # a signed note of it, if one was asked for
    uncertified: str | None = None  # why there is none, and the next step


class Certified(Value, frozen=True, kw_only=True):
    """What a certificate of erasure says, and whether the ledger here agrees."""

    ok: bool
    ledger: str
    subjects: tuple[str, ...]  # pseudonyms
    at: str
    event: int
    events: int
    cleaned: tuple[str, ...]
    not_reached: tuple[str, ...]
    problem: str | None = None


class Verification(Value, frozen=True, kw_only=True):
    """The answer of ``verify``. Without an outside anchor a ledger is at best self-consistent.

    ``anchored`` means that it agrees with what was kept elsewhere: an anchor, or a signed
    checkpoint. It is ``not anchored`` if it does not have the event that an anchor names, or if
    another ledger was signed in its folder on this machine, and ``broken`` if it contradicts a
    checkpoint that a known key signed.
    """

    status: Literal["self-consistent", "anchored", "not anchored", "broken"]
    events: int
    erased: int
    head: str
    broken_at: int | None = None
    problem: str | None = None
    anchored_through: int | None = None  # the last event that an anchor vouches for

    @property
    def ok(self) -> bool:
        """True unless something is broken, or is not what an anchor says."""
        return self.status in ("self-consistent", "anchored")

    @property
    def anchor(self) -> str:
        """What to keep elsewhere, to check later that this ledger was not replaced."""
        return f"{self.events}:{self.head}"


class OrderedErasure(Value, frozen=True, kw_only=True):
    """An erasure, as the ledger records it: which events it removed, when, and why."""

    seq: int
    at: str
    by: Origin
    events: tuple[int, ...]
    reason: str | None


class Rebuilt(Value, frozen=True, kw_only=True):
    """How many events ``rebuild`` folded."""

    events: int


class Embedded(Value, frozen=True, kw_only=True):
    """How many texts an embedder encoded, and how many still lack its vectors."""

    model: str
    texts: int
    pieces: int
    missing: int = 0


class Migrated(Value, frozen=True, kw_only=True):
    """The revisions of a database before and after."""

    before: str | None  # None: it had no schema yet
    after: str


class Vacuumed(Value, frozen=True, kw_only=True):
    """How many tables of a server were rewritten, and what still contains erased bytes."""

    tables: int
    rows_kept: int  # dead, but an open transaction may still see them
    places: tuple[str, ...]


class Token(Value, frozen=True, kw_only=True):
    """What a token allows; never the token itself."""

    id: int
    label: str
    space: str | None  # None: every space
    verbs: tuple[str, ...]
    trust: Trust
    user: str | None
    agent: str | None
    made: str
    expires: str | None
    revoked: str | None
    live: bool  # neither revoked nor expired
    by: int | None = None  # the token that created or rotated it; None: the owner


class MadeToken(Token, frozen=True, kw_only=True):
    """A new token: the only time that the token itself is shown."""

    token: str

    def __repr__(self) -> str:
        return f"MadeToken(id={self.id}, label={self.label!r})"


class Witnessed(Value, frozen=True, kw_only=True):
    """What a witness answered when it was asked to cosign a checkpoint."""

    name: str
    place: str  # its folder or address
    at: str | None = None  # when it saw the checkpoint, as it says; None if it did not cosign
    problem: str | None = None


class WitnessKey(Value, frozen=True, kw_only=True):
    """A witness that is asked for the checkpoints of one ledger."""

    ledger: str
    name: str
    place: str  # its folder or address
    key: str
    signs: bool  # its private key is on this machine


class Checkpoint(Value, frozen=True, kw_only=True):
    """A signed statement: the first ``size`` events of a ledger have this root.

    ``note`` is the statement with its signatures, as it is handed on (C2SP signed note), and
    ``witnesses`` are those that were asked to cosign it.
    """

    space: str
    ledger: str  # its name in checkpoints, from the hash of its first event
    size: int
    root: str
    note: str
    witnesses: tuple[Witnessed, ...] = ()


class SigningKey(Value, frozen=True, kw_only=True):
    """A public key that is trusted for the checkpoints of one ledger, as it is handed on."""

    ledger: str
    key: str
    signs: bool  # its private half is on this machine


class Sealed(Value, frozen=True, kw_only=True):
    """What ``seal`` closed into a segment; empty if the active file had at most one line."""

    events: int
    seq: int
    head: str
    digest: str
    segment: str | None
    checkpoint: int | None = None  # the size of the checkpoint that was signed, if there is a key


class Backup(Value, frozen=True, kw_only=True):
    """A copy of one space's ledger."""

    path: str
    space: str
    seq: int
    head: str


class Dropped(Value, frozen=True, kw_only=True):
    """The note about a space that was dropped; it holds nothing that was in it.

    ``seq`` and ``head`` name its last event, ``first`` is the hash of its first one, which tells it
    from another space of the same name. They are None if its ledger could not be read.
    """

    space: str
    at: str
    by: str  # the account, or the token
    seq: int | None
    head: str | None
    first: str | None
    reason: str | None = None


class Drop(Value, frozen=True, kw_only=True):
    """What ``drop`` removed, or would remove, and what remains elsewhere.

    ``dropped`` is None if nothing was removed. The counts are None if they could not be read.
    """

    space: str
    records: int | None
    episodes: int | None
    events: int | None
    size_bytes: int
    places: tuple[str, ...]
    dropped: Dropped | None = None


class Copied(Value, frozen=True, kw_only=True):
    """What ``push`` or ``pull`` copied to the other place; both ledgers now end alike."""

    space: str
    where: str
    events: int
    seq: int
    head: str
    digest: str
    checkpoints: int = 0  # signed notes that the other place lacked


class Finding(Value, frozen=True, kw_only=True):
    """One thing that ``doctor`` checked."""

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
    waiting: int
    replaced: int
    archived: int
    forgotten: int
    episodes: int
    hidden: int
    links: int
    active_hours: float


class Job(Value, frozen=True, kw_only=True):
    """One pass over a memory that was asked for."""

    id: int
    space: str
    kind: str  # a ``JobKind``, unless another release asked for it
    params: dict[str, Json]
    state: JobState
    asked_by: int | None  # the id of a token; None for the owner of the folder
    trust: Trust  # the highest trust of what the pass writes
    asked_at: str
    due_at: str  # not before this instant
    lease_until: str | None  # while it runs: then another worker takes it
    attempts: int
    done: int  # of total, as far as the last worker told
    total: int
    error: str | None  # the code of the last error


class Schedule(Value, frozen=True, kw_only=True):
    """A pass that is asked for again and again, as a person set it."""

    space: str
    kind: str  # as in ``Job``
    params: dict[str, Json]
    cron: str | None  # in UTC
    every_s: int | None
    set_by: int | None  # the id of a token; None for the owner of the folder
    next_at: str
