"""Reads by time and scope: what was said last, and how much there is.

Responsible for episodes in the order they were said, and for counting what a default read shows.
Leaves every other read to ``index.reads``. Invariant: a scope is compared exactly, by an index.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from recollect.index.filter import And, Column, Compare, Filter, Node
from recollect.index.filter.fields import Op
from recollect.index.reads import Reads
from recollect.index.rows import Cell, EpisodeRow
from recollect.model.values import Unit

_COUNTS: Final[dict[Unit, str]] = {
    "record": "count_showing_records",
    "episode": "count_showing_episodes",
}
_EQUAL: Final[Op] = "="
_SINCE: Final[Op] = ">="
_BEFORE: Final[Op] = "<"


def in_scope(
    names: Mapping[str, str | None],
    column: str = "at",
    since: str | None = None,
    before: str | None = None,
) -> Filter | None:
    """A filter for a user, a session or an agent, and for a stretch of time by one column.

    What is None does not limit it.
    """
    terms: list[Node] = [
        Compare(Column(name), op, value)
        for name, op, value in (
            *((part, _EQUAL, name) for part, name in names.items()),
            (column, _SINCE, since),
            (column, _BEFORE, before),
        )
        if value is not None
    ]
    if not terms:
        return None
    return Filter(And(tuple(terms)) if len(terms) > 1 else terms[0])


def said_before(
    reads: Reads, before: tuple[str, int], since: str, limit: int, where: Filter | None
) -> list[EpisodeRow]:
    """Episodes by the instant they were said, newest first; with a filter at least its matches.

    ``before`` is the instant and the seq of the last one of the page before.
    """
    params: dict[str, Cell] = {
        "at": reads.at,
        "said_at": before[0],
        "seq": before[1],
        "since": since,
        "limit": limit,
    }
    return [EpisodeRow._make(row) for row in reads.db.rows("recent_episodes", params, where)]


def count_showing(reads: Reads, unit: Unit, now: str, where: Filter | None) -> int:
    """How many records or episodes a default read shows; a filter may only name columns."""
    params: dict[str, Cell] = {"at": reads.at, "now": now}
    ((count,),) = reads.db.rows(_COUNTS[unit], params, where)
    return cast(int, count)
