"""Instants as text: UTC, microseconds, fixed width, so that text order is time order.

Responsible for turning what callers pass into that text and back. Leaves "now" to the store's
seam. Invariant: every instant that is stored matches ``INSTANT``.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final

from recollect.errors import InvalidInput

INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)

Moment = datetime | date | str

FIRST_YEAR: Final = 1900
LAST_YEAR: Final = 2199

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def from_microseconds(since_epoch_us: int) -> str:
    """The instant this many microseconds after 1970-01-01, as stored text."""
    moment = _EPOCH + timedelta(microseconds=since_epoch_us)
    return moment.isoformat(timespec="microseconds")[:26] + "Z"


def to_microseconds(instant: str) -> int:
    """The inverse of ``from_microseconds``."""
    return (to_datetime(instant) - _EPOCH) // _MICROSECOND


def to_datetime(instant: str) -> datetime:
    """A stored instant as an aware datetime in UTC."""
    return datetime.fromisoformat(instant)


def instant(moment: Moment) -> str:
    """A caller's date or time as stored text; a date means midnight UTC."""
    if isinstance(moment, str):
        text, moment = moment, _parse(moment)
        if INSTANT.fullmatch(text):
            return text  # as it is stored, and a time that exists: it was parsed
    if isinstance(moment, datetime):
        if moment.tzinfo is None:
            raise InvalidInput(
                f"{moment.isoformat()} has no time zone",
                hint="pass an aware datetime, for example datetime.now(UTC)",
            )
        try:
            return moment.astimezone(UTC).isoformat(timespec="microseconds")[:26] + "Z"
        except OverflowError as error:
            raise InvalidInput(f"{moment.isoformat()} is out of range") from error
    if not isinstance(moment, date):
        raise InvalidInput(
            f"{repr(moment)[:80]} is not a date or time",
            hint="pass a date, an aware datetime, or text such as 2026-01-31T09:30:00+01:00",
        )
    return f"{moment.isoformat()}T00:00:00.000000Z"


def dated(moment: Moment) -> str:
    """When something was said or done, holds or ends, as a caller gives it, as stored text.

    The one place that decides which years that may be: those that every reader can show, in each
    zone. What is outside is a mistake or an attack, and is refused.
    """
    found = instant(moment)
    if not is_dated(found):
        raise InvalidInput(
            f"{found[:10]} is not between the years {FIRST_YEAR} and {LAST_YEAR}",
            hint="leave the date out if there is none",
        )
    return found


def is_dated(instant_text: str) -> bool:
    """True if a stored instant lies in the years that ``dated`` allows."""
    return str(FIRST_YEAR) <= instant_text[:4] <= str(LAST_YEAR)


def local(instant_text: str, zone: tzinfo | None) -> datetime:
    """A stored instant in a zone, None for that of this machine; at the ends of the calendar UTC.

    A ledger of an earlier release, or one that was forged, holds instants that no zone can show.
    """
    found = to_datetime(instant_text)
    try:
        return found.astimezone(zone)
    except (OverflowError, ValueError, OSError):
        return found.replace(tzinfo=UTC)


def is_instant(text: str) -> bool:
    """True if a text is a stored instant, of a day and a time that exist."""
    return INSTANT.fullmatch(text) is not None and is_time(text)


def is_time(text: str) -> bool:
    """True if a text says a time with its zone, in whichever form: a forged event says anything."""
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def later(instant_text: str, span: timedelta) -> str:
    """The instant ``span`` after a stored one."""
    try:
        return from_microseconds(to_microseconds(instant_text) + span // _MICROSECOND)
    except OverflowError as error:
        raise InvalidInput(f"{span} is too long: the result is out of range") from error


def _parse(text: str) -> datetime | date:
    """ISO-8601, with or without a time of day."""
    try:
        if len(text) == len("2026-01-31"):
            return date.fromisoformat(text)
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidInput(
            f"{text!r} is not an ISO 8601 date or time",
            hint="write 2026-01-31 or 2026-01-31T09:30:00+01:00",
        ) from error
