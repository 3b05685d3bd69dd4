"""The tool ``events``: what happened to the memories, event by event.

Responsible for its arguments and its answer. Leaves listing to ``memory.events``. Invariant: the
answer says what happened to which record or episode and contains no text of a memory, so that
forgotten or untrusted text is not shown this way.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from recollect.assistants.mounted import Mount
from recollect.assistants.mounts import Mounts
from recollect.interfaces.mcp.answers import Answer, quoted
from recollect.interfaces.mcp.tools import Arguments, Tool, optional
from recollect.model.values import Change
from recollect.model.visible import shown


class Events(Arguments, frozen=True, kw_only=True):
    """The arguments of ``events``."""

    kinds: Annotated[tuple[str, ...], Meta(description="such as record.added; all if empty")] = ()
    id: Annotated[str, Meta(description="of a record, an episode or a document")] | UnsetType = (
        UNSET
    )
    after: (
        Annotated[int, Meta(ge=0, description="a seq; without it, the last events")] | UnsetType
    ) = UNSET
    limit: Annotated[int, Meta(ge=1, le=200)] = 50
    memory: Mount | UnsetType = UNSET


class Happened(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One event of one mount; ``kind`` is "erased" for an event that was erased."""

    seq: int
    date: str
    kind: str
    by: str
    memory: Mount
    id: str | UnsetType = UNSET
    trust: str | UnsetType = UNSET

    def line(self) -> str:
        """One line: seq, date, mount, kind, author and id."""
        about = f" [{quoted(self.id)}]" if self.id else ""
        trust = f", trust {self.trust}" if self.trust else ""
        return f"- {self.seq}, {self.date}, {self.memory}: {self.kind} by {self.by}{about}{trust}"


class Listed(Answer, frozen=True, kw_only=True, omit_defaults=True):
    """The answer of ``events``, oldest first in each mount."""

    events: tuple[Happened, ...]

    def short(self) -> str:
        """A line for each."""
        return "\n".join(event.line() for event in self.events) or "No events."


def list_events(mounts: Mounts, given: Events) -> Answer:
    """The last events of each mount, or the first after a position."""
    after = optional(given.after)
    found = [
        _happened(mount, change)
        for mount, memory in mounts.readers(optional(given.memory))
        for change in memory.events.list(
            kinds=given.kinds,
            id=optional(given.id),
            after=after or 0,
            before=memory.events.position + 1 if after is None else None,
            limit=given.limit,
        )
    ]
    return Listed(events=tuple(found))


def _happened(mount: Mount, change: Change) -> Happened:
    return Happened(
        seq=change.seq,
        date=change.at[:10],
        kind=change.kind or "erased",
        by=change.by,
        memory=mount,
        id=shown(change.id) if change.id else UNSET,
        trust=change.trust or UNSET,
    )


EVENTS: Final = Tool(
    name="events",
    about="List what happened to the memory, event by event, without its text. Oldest first.",
    takes=Events,
    answers=Listed,
    run=list_events,
    reads=True,
)
