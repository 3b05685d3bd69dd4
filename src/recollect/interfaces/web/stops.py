"""The positions at which a memory stood still: after each command.

Responsible for the stops around a position and across the whole ledger, for the time bar. Leaves
reading to ``memory``. Invariant: a stop is a position that ``memory.at`` gives back unchanged.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone
from typing import Final

import msgspec

from recollect.errors import InvalidInput
from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.digits import number
from recollect.interfaces.web.view import View
from recollect.memory import Memory
from recollect.model.instants import instant

_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_WIDTH: Final = 40
_WIDTH_MAX: Final = 2_000


def before(memory: Memory, position: int) -> int | None:
    """The last stop before a position; None at the beginning."""
    return memory.at(position - 1).events.position if position > 0 else None


def after(memory: Memory, position: int, head: int) -> int | None:
    """The first stop after a position; None at the end."""
    if position >= head:
        return None
    step, high = 1, head
    while position + step < head:  # in doubling steps until a stop lies between
        reached = memory.at(position + step).events.position
        if reached > position:
            high = reached
            break
        step *= 2
    low = position + step // 2  # not yet at a stop
    while low + 1 < high:
        middle = (low + high) // 2
        reached = memory.at(middle).events.position
        low, high = (middle, high) if reached <= position else (low, reached)
    return high


def across(memory: Memory, head: int, width: int) -> list[int]:
    """Stops from the beginning to the head: all of them, or one for each pixel."""
    last = max(1, width - 1)
    asked = range(head + 1) if head < width else (head * pixel // last for pixel in range(width))
    return list(dict.fromkeys(memory.at(position).events.position for position in asked))


def a_day(memory: Memory, at: str | None, days: int) -> int | None:
    """The stop a day before or after an instant; None without one."""
    if at is None:
        return None
    try:
        return memory.at(instant(datetime.fromisoformat(at) + timedelta(days=days))).events.position
    except OverflowError:  # no day is before the first or after the last
        return None


def position_of(memory: Memory, given: str, tz_minutes: int) -> int:
    """The position that an address names: its number, a day (at its end) or an instant."""
    if (found := number(given)) is not None:
        return memory.at(found).events.position
    if _DAY.fullmatch(given):
        try:
            day = date.fromisoformat(given) + timedelta(days=1)
        except (ValueError, OverflowError) as error:
            raise InvalidInput(f"{given} is not a day", hint="write it as 2026-11-12") from error
        zone = timezone(timedelta(minutes=tz_minutes))
        return memory.at(
            instant(datetime(day.year, day.month, day.day, tzinfo=zone))
        ).events.position
    return memory.at(given).events.position


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    """One stop, and when it was."""

    position: int
    at: str | None


class Main(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows."""

    stops: tuple[Stop, ...]


def page(asked: Asked, memory: Memory) -> View:
    """Reads the stops of the whole ledger, whatever position the page shows."""
    width = asked.number("width", _WIDTH, least=2, most=_WIDTH_MAX)
    found = across(memory, asked.position, width)
    shown = found if len(found) <= _WIDTH else found[:: -(-len(found) // _WIDTH)]
    return View(
        title="Stops",
        main=Main(stops=tuple(_stop(memory, each) for each in shown)),
        answer={"stops": found},
        calls=(asked.call(asked.python("events.list", before=asked.position + 1)),),
    )


def _stop(memory: Memory, position: int) -> Stop:
    last = memory.events.list(before=position + 1, limit=1)
    return Stop(position=position, at=last[-1].at if last else None)
