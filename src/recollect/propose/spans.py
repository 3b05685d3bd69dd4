"""Which days an expression may mean, seen from the day on which it was said.

Responsible for the calendar. Leaves finding expressions to ``propose.days``. Invariants: pure; an
ambiguous expression gives all its readings; a day that the calendar does not have is left out.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from recollect.propose.days import UNIT_NAMES, YEARS, Way, When


class Span(NamedTuple):
    """Days from the first to the last, as ordinals of the calendar."""

    first: int
    last: int

    @property
    def days(self) -> int:
        """How many."""
        return self.last - self.first + 1


def year_of(text: str) -> Span | None:
    """The days of a year that is written with four digits."""
    if len(text) != 4 or not text.isdecimal() or int(text) not in YEARS:
        return None
    return Span(_whole(int(text), 1).first, _whole(int(text), 12).last)


def spans(when: When, said: int | None) -> list[Span]:
    """The days that it may mean; none without the day on which it was said, if that decides."""
    if said is None and when.is_relative:
        return []
    try:
        return list(_spans(when, said or 0))
    except (ValueError, OverflowError):  # no such day
        return []


def _spans(when: When, said: int) -> Iterator[Span]:
    numbers = when.numbers
    match when.kind:
        case "offset":
            yield Span(said + numbers[0], said + numbers[1])
        case "weekday":
            yield from _of_weekday(numbers[0], when.way, said)
        case "day":
            for month, day in zip(numbers[::2], numbers[1::2], strict=True):
                yield from _of_day(month, day, when.year, said)
        case "month":
            yield from _of_month(numbers[0], when.year, when.way, said)
        case "ordinal":
            for back in (-1, 0, 1):
                yield from _valid(*_shifted(said, back), numbers[0])
        case "count":
            yield from _of_count(numbers, when.way, said)
        case "unit":
            yield from _of_calendar(numbers, when.way, said)


def _valid(year: int, month: int, day: int) -> Iterator[Span]:
    if day <= monthrange(year, month)[1]:
        ordinal = date(year, month, day).toordinal()
        yield Span(ordinal, ordinal)


def _of_weekday(number: int, way: Way, said: int) -> Iterator[Span]:
    """The one before and the one after; "last" and "next" may also mean that of a week."""
    back = (said - 1 - number) % 7  # ordinal 1 was a Monday
    before, after = said - (back or 7), said + (7 - back)
    of_week = said - (said - 1) % 7 + number
    ways = {"last": (before, of_week - 7), "next": (after, of_week + 7)}
    days = ways.get(way, (before, after))
    for day in (*days, *((said,) if back == 0 and way in ("either", "this") else ())):
        yield Span(day, day)


def _of_day(month: int, day: int, year: int | None, said: int) -> Iterator[Span]:
    """Without a year, the last one and the next one."""
    here = date.fromordinal(said).year if year is None else year
    if not 1 <= month <= 12:
        return
    found = [span for one in (here - 1, here, here + 1) for span in _valid(one, month, day)]
    if year is not None:
        yield from (span for span in found if date.fromordinal(span.first).year == year)
        return
    yield from found[: 1 + sum(span.first < said for span in found)][-2:]


def _of_month(month: int, year: int | None, way: Way, said: int) -> Iterator[Span]:
    if year is not None:
        yield _whole(year, month)
        return
    here = date.fromordinal(said).year
    found = [_whole(one, month) for one in (here - 1, here, here + 1)]
    past = [span for span in found if span.first <= said]
    ahead = [span for span in found if span.last >= said]
    if way != "next":
        yield from past[-2:] if way == "last" else past[-1:]
    if way != "last":
        yield from ahead[:2] if way == "next" else ahead[:1]


def _whole(year: int, month: int) -> Span:
    first = date(year, month, 1).toordinal()
    return Span(first, first + monthrange(year, month)[1] - 1)


def _shifted(said: int, months: int) -> tuple[int, int]:
    """The year and the month so many months later."""
    here = date.fromordinal(said)
    count = here.year * 12 + here.month - 1 + months
    return count // 12, count % 12 + 1


def _of_count(numbers: tuple[int, ...], way: Way, said: int) -> Iterator[Span]:
    """A number of units back or ahead: that very day, and the unit around it."""
    low, high, unit = numbers[0], numbers[1], UNIT_NAMES[numbers[2]]
    signs = {"last": (-1,), "next": (1,)}.get(way, (-1, 1))
    for sign in signs:
        if low == high:
            yield from _away(sign * low, unit, said)
            continue
        few = [span for count in (low, high) for span in _away(sign * count, unit, said)]
        yield Span(min(span.first for span in few), max(span.last for span in few))


def _away(count: int, unit: str, said: int) -> Iterator[Span]:
    if unit in ("hour", "part"):
        yield Span(said + (-1 if count < 0 else 0), said + (1 if count > 0 else 0))
    elif unit == "day":
        yield Span(said + count, said + count)
    elif unit == "week":
        yield Span(said + 7 * count, said + 7 * count)
        yield Span(said + 7 * count - 3, said + 7 * count + 3)
    elif unit == "weekend":
        first = said - (said - 1) % 7 + 7 * (count - (count > 0)) + 5
        yield Span(first, first + 1)
    else:
        year, month = _shifted(said, count if unit == "month" else 12 * count)
        yield from _valid(year, month, min(date.fromordinal(said).day, 28))
        yield _whole(year, month)
        if unit in ("year", "season"):
            yield Span(_whole(year, 1).first, _whole(year, 12).last)


def _of_calendar(numbers: tuple[int, ...], way: Way, said: int) -> Iterator[Span]:
    """The last, this or the next unit of the calendar, and days counted from the day itself."""
    unit, season = UNIT_NAMES[numbers[0]], numbers[1]
    step = {"last": -1, "next": 1}.get(way, 0)
    monday = said - (said - 1) % 7
    if unit == "part":
        yield from (Span(day, day) for day in {said, said + step})
    elif unit == "day":
        yield Span(said + step, said + step)
    elif unit == "weekend":
        for weeks in (step, 0) if step >= 0 else (-1,):
            yield Span(monday + 7 * weeks + 5, monday + 7 * weeks + 6)
    elif unit == "week":
        yield Span(monday + 7 * step, monday + 7 * step + 6)
    elif unit == "month":
        yield _whole(*_shifted(said, step))
    elif unit == "season":
        yield from _of_season(season, step, said)
    else:
        year = date.fromordinal(said).year + step
        yield Span(_whole(year, 1).first, _whole(year, 12).last)


def _of_season(month: int, step: int, said: int) -> Iterator[Span]:
    """Three months: the last that ended, the next that begins, or the nearest two."""
    here = date.fromordinal(said).year
    firsts = [_whole(year, month).first for year in range(here - 2, here + 2)]
    found = [Span(first, first + 91) for first in firsts]
    ended = [span for span in found if span.last < said][-1:]
    ahead = [span for span in found if span.first > said][:1]
    now = [span for span in found if span.first <= said <= span.last]
    yield from {-1: ended, 0: [*now, *ahead, *ended], 1: ahead}[step]
