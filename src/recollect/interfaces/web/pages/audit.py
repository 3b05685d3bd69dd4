"""For auditors: who told it what, who approved it, what was handed out. Made for print.

Responsible for a range of entries, their summary and the head that they were read at. Leaves the
entries to the memory. Invariants: looking writes nothing; the head on every
printed sheet is that of the position shown.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import Final

import msgspec

from recollect.errors import NotFound
from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.checked import CHECKED, Check
from recollect.interfaces.web.draw import times
from recollect.interfaces.web.draw.verdicts import Verdict, verdict
from recollect.interfaces.web.signed import Signatures, signatures
from recollect.interfaces.web.view import View
from recollect.memory import Memory
from recollect.model.values import AuditEntry, EventView

_LIMIT: Final = 500
TOLD: Final = ("episode.observed", "record.added", "record.revised", "proposal.made")
DECIDED: Final = ("proposal.approved", "proposal.rejected", "record.reviewed")
HANDED: Final = ("context.handed",)
ERASED: Final = ("events.erased",)


class Day(msgspec.Struct, frozen=True, kw_only=True):
    """The entries of one day."""

    at: str
    entries: tuple[AuditEntry, ...]


class Main(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows."""

    since: str
    until: str
    who: str
    days: tuple[Day, ...]
    counts: tuple[tuple[str, int], ...]
    by: tuple[tuple[str, int], ...]
    more: str | None
    head: EventView | None
    keys: Signatures
    covered: int
    check: Check | None
    verdict: Verdict | None
    is_now: bool  # the check was of this very head


def _head(memory: Memory, position: int) -> EventView | None:
    """The event that it ends with, unless it is another user's."""
    try:
        return memory.events.get(position) if position else None
    except NotFound:
        return None


def page(asked: Asked, memory: Memory) -> View:
    """Reads the entries of a range."""
    since, until, who = asked.text("from"), asked.text("to"), asked.text("who")
    after = asked.number("after", 0)
    then = memory.at(asked.position)  # a handle on the present would write receipts that wait
    found = then.proof.audit(since=since or None, until=until or None, after=after, limit=_LIMIT)
    entries = [each for each in found if _is_by(each, who)]
    head = _head(memory, asked.position)
    keys, check = signatures(memory), CHECKED.last(memory)
    main = Main(
        since=since,
        until=until,
        who=who,
        days=_days(entries, asked.tz_minutes),
        counts=_counts(entries),
        by=tuple(Counter(each.by for each in entries).most_common()),
        more=asked.here(after=found[-1].seq) if len(found) >= _LIMIT else None,
        head=head,
        keys=keys,
        covered=keys.checkpoints[0].size if keys.checkpoints else 0,
        check=check,
        verdict=None if check is None else verdict(check.found),
        is_now=check is not None and head is not None and check.found.head == head.hash,
    )
    words: list[object] = ["proof", "audit"]
    words += ["--since", since] if since else []
    words += ["--until", until] if until else []
    python = asked.python(
        "proof.audit", since=since, until=until, after=after or None, limit=_LIMIT
    )
    calls = (asked.call(python, asked.cli(*words)),)
    return View(title="Audit", main=main, answer=entries, calls=calls)


def _is_by(entry: AuditEntry, who: str) -> bool:
    """True for all, or if this is who did it: a name, an origin, an agent or a user."""
    name = None if entry.author is None else entry.author.name
    return who in ("", entry.by, entry.scope.agent, entry.scope.user, name)


def _days(entries: list[AuditEntry], tz_minutes: int) -> tuple[Day, ...]:
    by_day = groupby(entries, key=lambda each: times.day_of(each.at, tz_minutes))
    found = (tuple(each) for _, each in by_day)
    return tuple(Day(at=each[0].at, entries=each) for each in found)


def _counts(entries: list[AuditEntry]) -> tuple[tuple[str, int], ...]:
    named = (("told", TOLD), ("decided", DECIDED), ("handed out", HANDED), ("erased", ERASED))
    kinds = Counter(each.kind for each in entries)
    return tuple((word, sum(kinds[kind] for kind in group)) for word, group in named)
