"""Values of the list of events.

Responsible for their shape. Leaves listing to ``memory.events``. Invariant: of an event that was
erased nothing but its header is told, and in a list its place, its instant and who wrote it alone.
"""

from __future__ import annotations

from typing import Literal

from recollect.model.events import Origin, Trust
from recollect.model.validate import Json
from recollect.model.values.records import Author, Record, Scope, Value

EventUnit = Literal[
    "record",
    "episode",
    "link",
    "preset",
    "document",
    "session",
    "proposal",
    "branch",
    "receipt",
    "ledger",
    "author",
]


class Change(Value, frozen=True, kw_only=True):
    """One event: what happened, when, and to what.

    ``text`` is what its subject says, cut after 280 characters, the task type of a session or the
    name of a branch. ``id`` is the record, the episode, the source of the link, the name of the
    preset, the document, the session, the proposal, the branch or the receipt. An event that was
    ``erased`` has no kind here, no id and no text.
    """

    seq: int
    at: str
    kind: str | None  # such as "record.added"
    by: Origin
    unit: EventUnit | None
    id: str | None
    what: str | None  # the second part of its kind
    text: str | None
    key: str | None
    trust: Trust | None
    scope: Scope
    erased: bool
    idempotency_key: str | None  # of the call that wrote it, if it had one
    author: Author | None = None

    def __str__(self) -> str:
        said = (self.kind or "erased", self.id, self.text)
        return " ".join([str(self.seq), *(part for part in said if part)])


class EventView(Value, frozen=True, kw_only=True):
    """One event as the ledger has it: the fields of its header, and its body.

    ``body`` is None if event ``erased_by`` erased it, or if its key was destroyed.
    """

    seq: int
    first: int  # of the append that it was written in
    last: int
    id: str  # of the event: the command that wrote it, and its place in there
    at: str
    kind: str
    by: Origin
    body: dict[str, Json] | None
    erased_by: int | None
    hash: str
    previous_hash: str
    author: Author | None = None


class Archived(Value, frozen=True, kw_only=True):
    """What ``archive`` archived: the records as they were, the longest unused first.

    ``kept`` records have faded too, and need more trust than the handle has. With ``more`` there
    were more than the limit.
    """

    records: tuple[Record, ...]
    kept: int
    more: bool


class Undone(Value, frozen=True, kw_only=True):
    """What ``undo`` took back: the events of a command, and the events that undid them.

    ``id`` is what was named. ``record`` is the record named, as it is now, or the one that came
    back in its place. A dry run has neither ``record`` nor events that undid anything;
    ``expect=undone.position`` then takes back exactly what it showed, or nothing if the memory has
    changed since.
    """

    at: str  # when the command happened
    events: tuple[Change, ...]
    undone_by: tuple[Change, ...]
    position: int
    id: str | None = None
    record: Record | None = None
