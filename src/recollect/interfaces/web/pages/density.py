"""How many events there were between instants, without counting them.

Responsible for the positions at many instants. Leaves drawing to ``draw.strip``. Invariant: the
position at an instant is kept only if an event came later, because then it never changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta, timezone
from itertools import takewhile
from typing import Final

from recollect.interfaces.web.draw import strip
from recollect.memory import Memory
from recollect.model.instants import FIRST_YEAR, LAST_YEAR, instant, local
from recollect.model.values import Change

BARS_MAX_COUNT: Final = 120
YEAR_DAYS: Final = 365
_KEPT_MAX_COUNT: Final = 20_000
_EPOCH: Final = datetime(2000, 1, 3, tzinfo=UTC)  # a Monday
# What is drawn of a ledger that has events at the ends of the calendar.
_FIRST: Final = datetime(FIRST_YEAR, 1, 1, tzinfo=UTC)
_LAST: Final = datetime(LAST_YEAR, 12, 31, tzinfo=UTC)
_FIRST_DAY: Final = date(FIRST_YEAR, 1, 1)
_LAST_DAY: Final = date(LAST_YEAR, 12, 31)
_WIDTHS: Final = tuple(
    timedelta(minutes=minutes)
    for minutes in (1, 5, 15, 60, 180, 360, 720, 1440, 2880, 10080, 40320, 161280, 645120)
)


class Positions:
    """The positions of ledgers at instants that are over; numbers only."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, ...], int] = {}

    def at(self, memory: Memory, first: Change, last: str, when: str) -> int:
        """The position at an instant; ``last`` is the instant of the newest event."""
        if when < first.at:
            return first.seq - 1
        if when >= last:
            return memory.events.position
        key = (memory.where, memory.scope.space, first.at, when)
        found = self._kept.get(key)
        if found is None:
            if len(self._kept) >= _KEPT_MAX_COUNT:
                self._kept.clear()
            found = self._kept[key] = memory.at(when).events.position
        return found


_POSITIONS: Final = Positions()


def bars(memory: Memory, last: Change | None) -> tuple[strip.Bucket, ...]:
    """How much happened when, from the first event to the last."""
    first = first_of(memory)
    if first is None or last is None:
        return ()
    at = instants(first.at, last.at)
    stops = [first.seq - 1]
    stops += [_POSITIONS.at(memory, first, last.at, each) for each in at[1:]]
    return strip.buckets(stops, at)


def year(memory: Memory, day: date, last: Change | None, tz_minutes: int) -> tuple[strip.Day, ...]:
    """The days of a year up to this one."""
    first = first_of(memory)
    if first is None or last is None:
        return ()
    day = min(max(day, _FIRST_DAY), _LAST_DAY)
    days = (day - timedelta(days=back) for back in range(YEAR_DAYS, -1, -1))
    ends = [
        _POSITIONS.at(memory, first, last.at, midnight(each + timedelta(days=1), tz_minutes))
        for each in days
    ]
    return strip.days(day, ends)


def first_of(memory: Memory) -> Change | None:
    """The first event that can be listed."""
    return next(iter(memory.events.list(limit=1)), None)


def last_of(memory: Memory, position: int) -> Change | None:
    """The last event up to a position."""
    return next(iter(memory.events.list(before=position + 1, limit=1)), None)


def instants(first: str, last: str) -> list[str]:
    """Where bars begin and end: whole minutes, hours, days or weeks, at most so many."""
    begin, end = (min(max(local(each, UTC), _FIRST), _LAST) for each in (first, last))
    width = next((w for w in _WIDTHS if (end - begin) / w < BARS_MAX_COUNT - 1), _WIDTHS[-1])
    start = _EPOCH + (begin - _EPOCH) // width * width
    steps = takewhile(lambda at: at < end + width, _steps(start, width))
    return [instant(each) for each in steps]


def _steps(start: datetime, width: timedelta) -> Iterable[datetime]:
    while True:
        yield start
        start += width


def midnight(day: date, tz_minutes: int) -> str:
    """The instant at which a day begins in a zone."""
    zone = timezone(timedelta(minutes=tz_minutes))
    day = min(max(day, _FIRST_DAY), _LAST_DAY + timedelta(days=1))
    return instant(datetime(day.year, day.month, day.day, tzinfo=zone))


def position_at(memory: Memory, when: str, last: Change | None) -> int:
    """The position at an instant."""
    first = first_of(memory)
    if first is None or last is None:
        return memory.events.position
    return _POSITIONS.at(memory, first, last.at, when)
