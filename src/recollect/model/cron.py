"""Five cron fields: minute, hour, day of the month, month, day of the week.

Responsible for reading them and for the next time they name. Leaves which clock they are on to
callers. Invariant: ``next_after`` looks at a bounded number of days.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from recollect.errors import InvalidInput

_HINT: Final = "write five fields: minute hour day month weekday, such as '30 7 * * mon-fri'"
_MONTHS: Final = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_DAYS: Final = "sun mon tue wed thu fri sat".split()
# Of each field: its name, the least and the greatest number, and words for some of them.
_FIELDS: Final[tuple[tuple[str, int, int, dict[str, int]], ...]] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day", 1, 31, {}),
    ("month", 1, 12, {name: n for n, name in enumerate(_MONTHS, 1)}),
    ("weekday", 0, 7, {name: n for n, name in enumerate(_DAYS)}),
)
_DAYS_MAX_COUNT: Final = 366 * 8 + 1  # 29 February may be eight years away


class Cron(NamedTuple):
    """The times that each field allows; of a weekday 0 is Sunday."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either: bool  # day and weekday are both limited: either of them is enough

    def next_after(self, moment: datetime) -> datetime | None:
        """The first minute after a moment that the fields name; None if there never is one."""
        first = moment.replace(second=0, microsecond=0) + timedelta(minutes=1)
        day = first.replace(hour=0, minute=0)
        for _ in range(_DAYS_MAX_COUNT):
            if self._names(day):
                times = (day.replace(hour=h, minute=m) for h in self.hours for m in self.minutes)
                found = next((time for time in times if time >= first), None)
                if found is not None:
                    return found
            try:
                day += timedelta(days=1)
            except OverflowError:  # the calendar ends
                break
        return None

    def _names(self, day: datetime) -> bool:
        if day.month not in self.months:
            return False
        fits = (day.day in self.days, day.isoweekday() % 7 in self.weekdays)
        return any(fits) if self.either else all(fits)


def parse_cron(text: str) -> Cron:
    """The five fields of a text; names of months and days may be written with three letters."""
    fields = text.lower().split()
    if len(fields) != len(_FIELDS):
        raise InvalidInput(f"cron has {len(fields)} fields, not five", hint=_HINT)
    minutes, hours, days, months, week = (
        _values(field, *limits) for field, limits in zip(fields, _FIELDS, strict=True)
    )
    weekdays = frozenset(day % 7 for day in week)
    either = fields[2] != "*" and fields[4] != "*"
    found = Cron(tuple(sorted(minutes)), tuple(sorted(hours)), days, months, weekdays, either)
    if found.next_after(datetime(2000, 1, 1, tzinfo=UTC)) is None:
        raise InvalidInput(f"cron {text!r} names no day of any year", hint=_HINT)
    return found


def _values(field: str, name: str, least: int, most: int, words: dict[str, int]) -> frozenset[int]:
    found: set[int] = set()
    for part in field.split(","):
        span, has_step, step = part.partition("/")
        low, is_range, high = span.partition("-")
        if span == "*":
            first, last = least, most
        else:
            first = _number(low, name, words)
            last = _number(high, name, words) if is_range else most if has_step else first
        every = _number(step, name, {}) if has_step else 1
        if not least <= first <= last <= most or every < 1:
            raise InvalidInput(f"cron {name} {part!r} is not within {least}-{most}", hint=_HINT)
        found.update(range(first, last + 1, every))
    return frozenset(found)


def _number(text: str, name: str, words: dict[str, int]) -> int:
    if text in words:
        return words[text]
    if not (text.isascii() and text.isdigit() and len(text) <= 4):
        raise InvalidInput(f"cron {name} {text!r} is not a number", hint=_HINT)
    return int(text)
