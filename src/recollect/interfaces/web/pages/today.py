"""The first page: what changed today, what waits, and a year of days.

Responsible for the day of the position it shows. Leaves the list of everything to ``timeline``.
Invariant: a day begins and ends in the reader's zone.
"""

from __future__ import annotations

from datetime import date

import msgspec

from recollect.errors import Forbidden
from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.draw import strip, times
from recollect.interfaces.web.draw.rows import DayRows, Row, by_day, rows
from recollect.interfaces.web.pages import density
from recollect.interfaces.web.view import View
from recollect.memory import Memory
from recollect.model.values import Proposal, SpaceStatus

_TODAY_MAX_COUNT = 100
_BEFORE_COUNT = 12
_WAITING_MAX_COUNT = 5
_FEW_EVENTS = 3


class Main(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows."""

    at: str
    today: tuple[Row, ...]
    is_cut: bool  # more happened today than is shown
    before: tuple[DayRows, ...]  # the last things before today, if today is short
    waiting: tuple[Proposal, ...]
    status: SpaceStatus | None
    days: tuple[strip.Day, ...]
    is_new: bool


def _status(memory: Memory) -> SpaceStatus | None:
    """The counts of the space; one user of it has none."""
    try:
        return memory.status()
    except Forbidden:
        return None


def page(asked: Asked, memory: Memory) -> View:
    """Reads the day."""
    last = density.last_of(memory, asked.position)
    now = last.at if asked.is_past and last else asked.now
    day = times.day_of(now, asked.tz_minutes) or date.min
    began = density.position_at(memory, density.midnight(day, asked.tz_minutes), last)
    changed = memory.events.list(after=began, before=asked.position + 1, limit=_TODAY_MAX_COUNT)
    earlier = memory.events.list(before=began + 1, limit=_BEFORE_COUNT) if len(changed) < 6 else []
    waiting = () if asked.is_past else tuple(memory.review.list(limit=_WAITING_MAX_COUNT))
    status = _status(memory) if last else None
    main = Main(
        at=now,
        today=rows(reversed(changed)),
        is_cut=len(changed) == _TODAY_MAX_COUNT,
        before=by_day(reversed(earlier), asked.tz_minutes),
        waiting=waiting,
        status=status,
        days=density.year(memory, day, last, asked.tz_minutes),
        is_new=asked.position <= _FEW_EVENTS,
    )
    return View(
        title="Today",
        main=main,
        answer={"events": changed, "review": waiting, "status": status},
        calls=(
            asked.call(
                asked.python("events.list", after=began, limit=_TODAY_MAX_COUNT),
                asked.cli("log", "--after", began, "--limit", _TODAY_MAX_COUNT),
            ),
            asked.call(asked.python("status"), asked.cli("status", past=False)),
            asked.call(
                asked.python("review.list", limit=_WAITING_MAX_COUNT),
                asked.cli("review", past=False),
            ),
        ),
    )
