"""Reads by time and scope: what was said last, and how much there is.

Responsible for what was said, in the order of its instants, and for counting what a default read
shows. Leaves every other read to ``index.reads``. Invariant: a scope is compared exactly, by an
index.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, cast

from recollect.index.filter import And, Column, Compare, Filter, Missing, Node
from recollect.index.filter.fields import Op
from recollect.index.reads import Reads
from recollect.index.rows import Cell, EpisodeRow, Row, VersionRow, version_row
from recollect.model.values import Unit

_COUNTS: Final[dict[Unit, str]] = {
    "record": "count_showing_records",
    "episode": "count_showing_episodes",
}
Place = tuple[str, int]  # an instant, and a seq among those of the same instant

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


def also_unsaid(where: Filter | None) -> Filter:
    """A filter that also asks that a record has no instant at which it was said."""
    missing = Missing(Column("said_at"))
    return Filter(missing if where is None else And((where.root, missing)))


def episodes_said_before(
    reads: Reads, before: Place, since: str, limit: int, where: Filter | None
) -> list[EpisodeRow]:
    """Episodes by the instant they were said, newest first; with a filter at least its matches.

    ``before`` is the instant and the seq of the last one of the page before.
    """
    rows = _said_before("recent_episodes", reads, before, since, limit, where)
    return [EpisodeRow._make(row) for row in rows]


def records_said_before(
    reads: Reads, before: Place, since: str, limit: int, where: Filter | None
) -> list[VersionRow]:
    """The same for records that were not said when they were written."""
    rows = _said_before("recent_records", reads, before, since, limit, where)
    return [version_row(row) for row in rows]


def _said_before(
    name: str, reads: Reads, before: Place, since: str, limit: int, where: Filter | None
) -> Iterable[Row]:
    params: dict[str, Cell] = {
        "at": reads.at,
        "said_at": before[0],
        "seq": before[1],
        "since": since,
        "limit": limit,
    }
    return reads.db.rows(name, params, where)


def count_showing(reads: Reads, unit: Unit, now: str, where: Filter | None) -> int:
    """How many records or episodes a default read shows; a filter may only name columns."""
    params: dict[str, Cell] = {"at": reads.at, "now": now}
    ((count,),) = reads.db.rows(_COUNTS[unit], params, where)
    return cast(int, count)
