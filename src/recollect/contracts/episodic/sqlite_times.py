"""What SQLite's ``date`` and ``datetime`` give: a time as text, moved by modifiers.

Responsible for the modifiers that a condition may use. Leaves what "now" is to the caller.
Invariant: a modifier that is not understood is refused, where SQLite would give NULL and the
condition would silently match nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from recollect.errors import InvalidInput
from recollect.model.instants import to_datetime

_SHIFT: Final = re.compile(
    r"([+-]?)(\d{1,9})(\.\d{1,6})? +(second|minute|hour|day|month|year)s?", re.ASCII | re.IGNORECASE
)
_START: Final = re.compile(r"start of (day|month|year)", re.ASCII | re.IGNORECASE)
_EXAMPLE: Final = "write for example datetime('now', '-1 day') or date('now', 'start of month')"


def moved(at: datetime, modifiers: Sequence[str]) -> datetime:
    """An instant after these modifiers, from left to right."""
    try:
        for modifier in modifiers:
            at = _moved(at, modifier.strip())
    except (OverflowError, ValueError) as error:
        raise InvalidInput("this time is out of range", hint=_EXAMPLE) from error
    return at


def _moved(at: datetime, modifier: str) -> datetime:
    start = _START.fullmatch(modifier)
    if start is not None:
        at = at.replace(hour=0, minute=0, second=0, microsecond=0)
        part = start[1].lower()
        day = at.day if part == "day" else 1
        return at.replace(day=day, month=1 if part == "year" else at.month)
    shift = _SHIFT.fullmatch(modifier)
    if shift is None:
        raise InvalidInput(f"the modifier {modifier!r} is not known", hint=_EXAMPLE)
    sign, whole, fraction, unit = shift[1], shift[2], shift[3], shift[4].lower()
    way = -1 if sign == "-" else 1
    if unit in ("month", "year"):
        if fraction:
            raise InvalidInput("months and years are moved by whole numbers", hint=_EXAMPLE)
        return _by_months(at, way * int(whole) * (12 if unit == "year" else 1))
    return at + way * timedelta(**{f"{unit}s": float(f"{whole}{fraction or ''}")})


def _by_months(at: datetime, count: int) -> datetime:
    """The same day of another month; a day that it has not is counted on into the next month."""
    years, month = divmod(at.month - 1 + count, 12)
    return at.replace(year=at.year + years, month=month + 1, day=1) + timedelta(days=at.day - 1)


def read(text: str, now: str) -> datetime:
    """What a time begins with: ``now``, or a date or an instant; without a zone it is UTC."""
    try:
        at = to_datetime(now if text.lower() == "now" else text)
    except ValueError as error:
        raise InvalidInput(f"{text!r} is not 'now' or a time", hint=_EXAMPLE) from error
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def shown(at: datetime, *, with_time: bool) -> str:
    """An instant as ``datetime`` or ``date`` writes it, in UTC."""
    text = at.isoformat(sep=" ")
    return text[:19] if with_time else text[:10]
