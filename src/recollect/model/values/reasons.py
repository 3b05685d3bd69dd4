"""Values that explain: where a belief comes from, and why something is not in an answer.

Responsible for their shape. Leaves finding the reason to ``memory`` and ``finding``. Invariant: a
reason that programs read is one of a closed list of words.
"""

from __future__ import annotations

from typing import Literal

from recollect.model.events import Origin
from recollect.model.values.records import Author, Include, Link, Record, Source, Unit, Value


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


Absence = (
    Include
    | Literal["there", "filtered", "unfound", "source", "repeat", "floor", "rank", "unpacked"]
)


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
