"""The timeline: everything that happened, newest first.

Responsible for a page of events and for jumping in them. Leaves one record to ``record``.
Invariants: a page is as long as asked for, whatever the ledger's length; no total is counted.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from recollect.errors import InvalidInput
from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.draw import rows, strip
from recollect.interfaces.web.pages import density
from recollect.interfaces.web.view import View
from recollect.memory import Memory
from recollect.model.events import KINDS
from recollect.model.values import Change

PAGE_COUNT: Final = 50
_PAGE_MAX_COUNT: Final = 500
_LOOKED_MAX_COUNT: Final = 2_000  # events that a filter of ours passes over for one page
_READ_COUNT: Final = 500
GROUPS: Final = (
    ("", "everything"),
    ("record", "records"),
    ("episode", "what was said"),
    ("link", "links"),
    ("proposal", "proposals"),
    ("context", "contexts"),
    ("session", "sessions"),
    ("ledger", "the ledger"),
)
WHO: Final = (
    ("", "anyone"),
    ("person", "people"),
    ("agent", "agents"),
    ("unverified", "unverified"),
    ("system", "the store"),
)


class Main(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows."""

    days: tuple[rows.DayRows, ...]
    older: int | None  # where the next page begins
    newer: int | None  # where the page before begins; None if that is the first one
    looked: int  # how many events were looked at for it
    is_first: bool
    kinds: tuple[str, ...]
    who: str
    session: str
    about: str
    strip: tuple[strip.Bucket, ...]
    here: int | None  # the newest event shown
    groups: tuple[tuple[str, str], ...] = GROUPS
    whose: tuple[tuple[str, str], ...] = WHO


class Filter(NamedTuple):
    """Which events are wanted; the memory knows kinds and ids, the rest is filtered here."""

    kinds: tuple[str, ...]
    about: str | None
    who: str
    session: str

    def step(self, limit: int) -> int:
        """How many events are read at a time for so many."""
        return _READ_COUNT if self.who or self.session else limit

    def is_wanted(self, change: Change) -> bool:
        """True if an event that was read is one of them."""
        return (not self.who or change.by == self.who) and (
            not self.session or change.scope.session == self.session
        )


class Found(msgspec.Struct, frozen=True):
    """Events newest first, where to go on, and how many were looked at."""

    changes: tuple[Change, ...]
    older: int | None
    looked: int


def page(asked: Asked, memory: Memory) -> View:
    """Reads one page of events."""
    kinds = expanded(asked.many("kinds"))
    limit = asked.number("limit", PAGE_COUNT, least=1, most=_PAGE_MAX_COUNT)
    before = asked.number("before", asked.position + 1, most=asked.position + 1)
    about = asked.text("about") or None
    wanted = Filter(kinds, about, asked.text("who"), asked.text("session"))
    found = _found(memory, wanted, before, limit)
    main = Main(
        days=rows.by_day(found.changes, asked.tz_minutes),
        older=found.older,
        newer=_newer(memory, wanted, before, limit, asked.position),
        looked=found.looked,
        is_first=before > asked.position,
        kinds=asked.many("kinds"),
        who=wanted.who,
        session=wanted.session,
        about=about or "",
        strip=density.bars(memory, density.last_of(memory, asked.position)),
        here=found.changes[0].seq if found.changes else None,
    )
    python = asked.python("events.list", before=before, limit=limit, kinds=list(kinds), id=about)
    words = [part for kind in kinds for part in ("--kind", kind)]
    return View(
        title="Timeline",
        main=main,
        answer=list(reversed(found.changes)),
        calls=(asked.call(python, _cli(asked, words, about, before, limit)),),
    )


def _cli(asked: Asked, words: list[str], about: str | None, before: int, limit: int) -> str | None:
    """The first page as a command; ``log`` has no option for the others."""
    if before <= asked.position:
        return None
    named = ["--id", about] if about else []
    return asked.cli("log", *words, *named, "--limit", limit)


def expanded(given: tuple[str, ...]) -> tuple[str, ...]:
    """Kinds of events: their names, or the part before the point for all of a group."""
    found: list[str] = []
    for each in given:
        kinds = [kind for kind in KINDS if kind == each or kind.startswith(f"{each}.")]
        if each == "ledger":
            kinds += ["space.opened", "events.erased", "lineage.retracted"]
        if not kinds:
            raise InvalidInput(
                f"unknown kind of event {each!r}", hint="choose one of the list, or leave it out"
            )
        found += kinds
    return tuple(dict.fromkeys(found))


def _found(memory: Memory, wanted: Filter, before: int, limit: int) -> Found:
    """A page of events, looked for within a bound."""
    step = wanted.step(limit)
    kept: list[Change] = []
    looked = 0
    while True:
        read = memory.events.list(kinds=wanted.kinds, id=wanted.about, before=before, limit=step)
        looked += len(read)
        for change in reversed(read):
            if wanted.is_wanted(change):
                kept.append(change)
            if len(kept) == limit:
                return Found(tuple(kept), _older(read, change.seq, step), looked)
        if len(read) < step:
            return Found(tuple(kept), None, looked)
        before = read[0].seq
        if looked >= _LOOKED_MAX_COUNT:
            return Found(tuple(kept), before, looked)


def _newer(memory: Memory, wanted: Filter, before: int, limit: int, position: int) -> int | None:
    """Where the page before this one begins; None if it is the first."""
    step = wanted.step(limit)
    after, kept, looked = before - 1, 0, 0
    while after < position:
        read = memory.events.list(kinds=wanted.kinds, id=wanted.about, after=after, limit=step)
        looked += len(read)
        for change in read:
            kept += wanted.is_wanted(change)
            if kept == limit:
                return change.seq + 1 if change.seq < position else None
        if len(read) < step:
            return None
        after = read[-1].seq
        if looked >= _LOOKED_MAX_COUNT:
            return after + 1
    return None


def _older(read: list[Change], last: int, step: int) -> int | None:
    """Where the next page begins; None if this was the end."""
    return None if len(read) < step and last == read[0].seq else last
