"""Values of what a memory says of itself: an overview, its sessions, a graph, and reasons.

Responsible for their shape. Leaves finding what they show to ``finding`` and ``memory``.
Invariants: the groups of an overview share no record; a session that is only named is never active;
a graph holds nothing that the read that gave it may not show; a reason that programs read is one of
a closed list of words.
"""

from __future__ import annotations

from typing import Literal

from recollect.model.events import Origin
from recollect.model.values.records import (
    Author,
    Episode,
    Include,
    Link,
    Record,
    Source,
    Unit,
    Value,
)

SessionStatus = Literal["named", "open", "closed"]
Absence = (
    Include
    | Literal["there", "filtered", "unfound", "source", "repeat", "floor", "rank", "unpacked"]
)


class Overview(Value, frozen=True, kw_only=True):
    """What a memory holds in general, or what came to it within a stretch of time.

    ``used`` are the records that were reinforced most, ``changed`` the others that changed last,
    ``said`` the episodes that were said last. ``records`` and ``episodes`` count everything of that
    time that a default read shows.
    """

    used: tuple[Record, ...]
    changed: tuple[Record, ...]
    said: tuple[Episode, ...]
    records: int
    episodes: int
    since: str | None = None
    before: str | None = None

    @property
    def more_records(self) -> int:
        """How many records there are besides those shown."""
        return max(0, self.records - len(self.used) - len(self.changed))

    @property
    def more_episodes(self) -> int:
        """How many episodes there are besides those shown."""
        return max(0, self.episodes - len(self.said))


class Session(Value, frozen=True, kw_only=True):
    """A conversation or a run of work, under the name that what is written in it has.

    ``named`` means that records, episodes or receipts name it and that it was never opened: then it
    started with the first of them. ``seq`` is the event from which it is known.
    """

    id: str
    user: str | None
    status: SessionStatus
    task_type: str | None
    started_at: str
    ended_at: str | None
    start_active_hours: float
    seq: int


class Graph(Value, frozen=True, kw_only=True):
    """Records and links between them; ``more`` is true if a limit left something out.

    ``neighbours`` lists the nearest records first, ``path`` the records in the order of the path,
    each link after the one before it, and ``graph`` the records that changed last first.
    """

    records: tuple[Record, ...] = ()
    links: tuple[Link, ...] = ()
    more: bool = False


class Why(Value, frozen=True, kw_only=True):
    """Where a belief comes from: who said it, its evidence, and what it replaced."""

    record: Record
    by: Origin
    sources: tuple[Source, ...]
    other_evidence: tuple[str, ...]
    replaced: tuple[Record, ...]
    replaced_by: Record | None
    links: tuple[Link, ...]
    author: Author | None = None  # of its present words


class WhyNot(Value, frozen=True, kw_only=True):
    """Why something is not in the answer to a question; ``str(why_not)`` says it in words.

    ``reason`` is ``there`` if it is in the answer, at ``place``; a word of ``include`` if it is
    hidden; ``filtered``: of another unit, or the filter leaves it out; ``unfound``: no way of
    looking came upon it; ``source``: it is quoted under a record that rests on it; ``repeat``: a
    better match says the same; ``floor``: not relevant enough; ``rank``: too many stand before it;
    ``unpacked``: a context found it and left it out. ``by`` are the ids of what is in its place:
    its successor, the record, those before it.
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
