"""Instants as people read them.

Responsible for days, times and spans in the reader's zone. Leaves the zone to the caller.
Invariant: an instant is a UTC text of the ledger; what cannot be parsed is shown as it is.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Final

from recollect.model import instants

_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = (
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
)  # fmt: skip
_LONG: Final = (
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
)  # fmt: skip


def local(at: str, tz_minutes: int) -> datetime | None:
    """An instant in a zone; None if it is not one."""
    try:
        found = datetime.fromisoformat(at)
    except ValueError:
        return None
    zone = timezone(timedelta(minutes=tz_minutes))
    return instants.local(found.replace(tzinfo=found.tzinfo or UTC).isoformat(), zone)


def day_of(at: str, tz_minutes: int) -> date | None:
    """The day of an instant."""
    found = local(at, tz_minutes)
    return None if found is None else found.date()


def clock(at: str, tz_minutes: int) -> str:
    """The time of day: ``09:14``."""
    found = local(at, tz_minutes)
    return at if found is None else found.strftime("%H:%M")


def moment(at: str, now: str, tz_minutes: int) -> str:
    """A short instant, as exact as its distance asks for: ``09:14``, ``Tue 09:14``, ``3 Mar``."""
    found, today = local(at, tz_minutes), local(now, tz_minutes)
    if found is None or today is None:
        return at
    days = (today.date() - found.date()).days
    time = found.strftime("%H:%M")
    if days == 0:
        return time
    if 0 < days < 7:
        return f"{_DAYS[found.weekday()]} {time}"
    short = f"{found.day} {_MONTHS[found.month - 1]}"
    return f"{short} {time}" if found.year == today.year else f"{short} {found.year}"


def day(at: str, now: str, tz_minutes: int) -> str:
    """A day as a heading: ``Today, Tuesday 17 November``."""
    found, today = local(at, tz_minutes), local(now, tz_minutes)
    if found is None or today is None:
        return at
    named = f"{_LONG[found.weekday()]} {found.day} {_MONTHS[found.month - 1]}"
    if found.year != today.year:
        named = f"{named} {found.year}"
    days = (today.date() - found.date()).days
    return {0: f"Today, {named}", 1: f"Yesterday, {named}"}.get(days, named)


def full(at: str, tz_minutes: int) -> str:
    """The instant to the second, with its zone."""
    found = local(at, tz_minutes)
    return at if found is None else found.strftime("%Y-%m-%d %H:%M:%S %z")
