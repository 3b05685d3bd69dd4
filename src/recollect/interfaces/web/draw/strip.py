"""How much happened when: a strip of bars beside a list, and a year of days.

Responsible for heights and places. Leaves counting to ``pages``. Invariants: a bar that is not
empty can be seen; the most of all bars fills its height.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from itertools import pairwise
from math import log1p
from typing import Final

import msgspec

LEVELS: Final = 4  # of a day: 0 is nothing


class Bucket(msgspec.Struct, frozen=True, kw_only=True):
    """One bar: the events from ``first`` to ``last``, and how wide it is, from 0 to 100."""

    first: int
    last: int
    count: int
    width: int
    at: str


class Day(msgspec.Struct, frozen=True, kw_only=True):
    """One day of a year: its column and row in the strip, and how much happened."""

    day: date
    last: int  # the position at its end
    count: int
    level: int
    column: int
    row: int


def buckets(stops: Sequence[int], instants: Sequence[str]) -> tuple[Bucket, ...]:
    """Bars between positions: ``stops`` has one more than there are bars, oldest first."""
    counts = [max(0, after - before) for before, after in pairwise(stops)]
    most = max(counts, default=0)
    return tuple(
        Bucket(
            first=stops[place] + 1,
            last=stops[place + 1],
            count=count,
            width=_width(count, most),
            at=instants[place],
        )
        for place, count in enumerate(counts)
    )


def days(last_day: date, ends: Sequence[int]) -> tuple[Day, ...]:
    """The days up to the last one; ``ends`` are positions: before the first day, then of each."""
    counts = [max(0, after - before) for before, after in pairwise(ends)]
    most = max(counts, default=0)
    first = last_day - timedelta(days=len(counts) - 1)
    monday = first - timedelta(days=first.weekday())
    found = []
    for place, count in enumerate(counts):
        day = first + timedelta(days=place)
        column, row = divmod((day - monday).days, 7)
        found.append(
            Day(
                day=day, last=ends[place + 1], count=count, level=_level(count, most),
                column=column, row=row,
            )
        )  # fmt: skip
    return tuple(found)


def _width(count: int, most: int) -> int:
    """Logarithmic, so that a day of import does not make all others vanish."""
    return 0 if not count else max(6, round(100 * log1p(count) / log1p(most)))


def _level(count: int, most: int) -> int:
    return 0 if not count else max(1, round(LEVELS * log1p(count) / log1p(most)))
