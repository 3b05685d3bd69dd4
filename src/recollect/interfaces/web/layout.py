"""What every page has around it.

Responsible for the header, the time bar, the flash and why each button is off. Leaves the
middle to ``pages``. Invariant: a count in the header is that of the head it was read at.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

import msgspec

from recollect.interfaces.web import stops
from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.draw import times
from recollect.interfaces.web.login.session import Session, Theme
from recollect.interfaces.web.view import Call, Flash
from recollect.memory import Memory

_WAITING_MAX_COUNT = 20
_KEPT_MAX_COUNT = 1_000
PAST = "This page shows the past. Go back to now to change something."


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the header."""

    name: str
    href: str
    is_here: bool = False
    count: str = ""


class TimeBar(msgspec.Struct, frozen=True, kw_only=True):
    """Where in the ledger a page stands."""

    position: int
    head: int
    at: str | None  # the instant of a past position
    before: str | None  # the address one step back
    after: str | None
    day_before: str | None  # the same, a day
    day_after: str | None
    day: str  # of this position, as a date field takes it
    now: str
    stops: str
    action: str
    kept: tuple[tuple[str, str], ...]  # the query, without the position


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """Everything around the middle of a page."""

    root: str
    theme: Theme = "auto"
    has_keys: bool = True
    has_login: bool = False  # so there is something to log out of
    title: str = "Recollect"
    back: str = ""
    space: str | None = None
    spaces: tuple[Entry, ...] = ()
    nav: tuple[Entry, ...] = ()
    query: str = ""
    flash: Flash | None = None
    time: TimeBar | None = None
    is_past: bool = False
    off: Mapping[str, str | None] = {}  # why each act is off, by its path in the table
    warning: str | None = None  # why the whole memory is read-only
    calls: tuple[Call, ...] = ()
    json: str | None = None
    refresh_s: int = 0
    live: str | None = None  # the stream that says how much is new


class Waiting:
    """How much waits for a review, kept by position: the header of every page shows it.

    Each session has its own, because two tokens may see different things in one memory.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], tuple[int, str]] = OrderedDict()

    def count(self, session: Session, space: str, memory: Memory, head: int) -> str:
        """The count as it is shown; empty if nothing waits."""
        key = (session.id, space)
        position, shown = self._kept.get(key, (-1, ""))
        if position != head:
            found = len(memory.review.list(limit=_WAITING_MAX_COUNT + 1))
            more = f"{_WAITING_MAX_COUNT}+" if found > _WAITING_MAX_COUNT else str(found)
            shown = more if found else ""
            self._kept[key] = (head, shown)
            if len(self._kept) > _KEPT_MAX_COUNT:
                self._kept.popitem(last=False)
        return shown


def time_bar(asked: Asked, memory: Memory) -> TimeBar:
    """The bar at the foot of a page; ``memory`` is the present one."""
    position, head = asked.position, asked.head
    earlier, later = stops.before(memory, position), stops.after(memory, position, head)
    last = memory.events.list(before=position + 1, limit=1)
    at = last[-1].at if last else None
    kept = tuple(
        (name, value)
        for name, values in asked.query.items()
        if name not in ("at", "said", "as")
        for value in values
    )
    return TimeBar(
        position=position,
        head=head,
        at=at if asked.is_past else None,
        before=None if earlier is None else asked.here(at=earlier),
        after=_there(asked, later),
        day_before=None if earlier is None else asked.here(at=stops.a_day(memory, at, -1) or 0),
        day_after=_there(asked, later and max(later, stops.a_day(memory, at, 1) or 0)),
        day="" if at is None else str(times.day_of(at, asked.tz_minutes) or ""),
        now=asked.here(at=None),
        stops=asked.url("stops", at=None, **{"as": "json"}),
        action=asked.url(*asked.path, at=None),
        kept=kept,
    )


def _there(asked: Asked, position: int | None) -> str | None:
    """The address of this page at a later position; at the head it is the present."""
    if position is None:
        return None
    return asked.here(at=None if position >= asked.head else position)


def bare(root: str, session: Session | None) -> Layout:
    """For a page without a memory: a problem, or the list of spaces."""
    if session is None:
        return Layout(root=root)
    return Layout(
        root=root,
        theme=session.theme,
        has_keys=session.has_keys,
        has_login=bool(session.token),
        back=f"{root}/",
    )
