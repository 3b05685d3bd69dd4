"""Values of evidence: what is handed to those who want to check a memory.

Responsible for their shape. Leaves making them to ``memory``. Invariant: what a value says of an
event is in the ledger, in the bytes that its hash covers.
"""

from __future__ import annotations

from typing import Literal

from recollect.model.events import Origin, Trust
from recollect.model.values.events import EventUnit
from recollect.model.values.records import Author, Scope, Value


class Proof(Value, frozen=True, kw_only=True):
    """That one event is in a ledger, for someone who trusts the ledger's key and nothing else.

    ``document`` is what is handed over. The other fields say what it proves. ``erased_by`` is the
    event that erased its body, which is then in the document too.
    """

    ledger: str  # its name in checkpoints, and the name of its key
    seq: int
    at: str
    kind: str
    by: Origin
    erased_by: int | None
    size: int  # of the checkpoint
    document: str
    author: Author | None = None


class AuditLine(Value, frozen=True, kw_only=True):
    """One thing that an entry names; without id and text if it was erased."""

    seq: int
    id: str | None
    text: str | None


class AuditEntry(Value, frozen=True, kw_only=True):
    """One line of an audit: who did what, when, to what, and which checkpoint covers it.

    ``lines`` are what a record or a proposal rests on, what a context handed out, or the events
    that were erased; ``more`` are not listed. A checkpoint is an entry too, after the last
    event that it covers; it has no time of its own, so ``at`` is that event's.
    """

    seq: int
    at: str
    kind: str | None  # of the event, or "checkpoint.signed"; None if it was erased
    what: str  # in a word or two, such as "approved"
    by: Origin
    trust: Trust | None
    scope: Scope
    unit: EventUnit | Literal["checkpoint"] | None
    id: str | None
    text: str | None
    reason: str | None
    lines: tuple[AuditLine, ...]
    more: int
    checkpoint: int | None  # the smallest signed one that covers the event
    author: Author | None = None

    @property
    def role_of_lines(self) -> str:
        """The word before each of ``lines``: "from" if they are sources, else nothing."""
        return "from" if (self.kind or "").startswith(("record.", "proposal.")) else ""


class AuditHead(Value, frozen=True, kw_only=True):
    """What an audit is about, and what was found when the ledger was checked for it."""

    space: str
    ledger: str | None  # its name in checkpoints; None if no key is known for it here
    made_at: str
    events: int
    head: str  # the hash of the last event
    status: str  # of the verification
    problem: str | None
    anchored_through: int | None
    checkpoints: int
    covered: int  # by the largest checkpoint
    since: str | None
    before: str | None
    id: str | None
    user: str | None
