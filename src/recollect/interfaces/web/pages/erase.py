"""What erasing would remove: the dry run, before anything is done.

Responsible for everything that goes, that stays and that cannot be reached. Leaves erasing to
``acts.erase``. Invariant: the form has the position of this dry run, so that what is erased is
what was shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from recollect.errors import NotFound
from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.draw.rows import Row, rows
from recollect.interfaces.web.view import View
from recollect.memory import Memory
from recollect.model.values import INCLUDES, Episode, Erasure, Record

TYPED_CHARS: Final = 6
_EVENTS_MAX_COUNT: Final = 1_000
_LISTED_MAX_COUNT: Final = 50
_RECEIPTS_COUNT: Final = 1_000
PLACES: Final = (
    ("the ledger", "the words of these events; their numbers, times and hashes stay, so that the "
     "chain can still be checked"),
    ("the index", "rows, full text, free pages and the write-ahead log"),
    ("vectors", "the rows of these texts"),
    ("backups, exports, pages and snapshots", "those that lie in this workspace or that it noted"),
    ("this process", "texts that it kept in memory"),
)  # fmt: skip


class Stays(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is not erased, and why."""

    unit: str
    id: str
    text: str
    why: str


class Main(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows."""

    subject: Record | Episode
    planned: Erasure
    events: tuple[Row, ...]
    more: int  # events that are not listed
    episodes: tuple[Episode, ...]
    stays: tuple[Stays, ...]
    handed: int  # contexts that had it
    receipts: int  # of how many
    sources: bool
    other: str  # the address of the dry run with or without its sources
    position: int
    refused: str | None = None  # why the form was not accepted
    reason: str = ""
    places: tuple[tuple[str, str], ...] = PLACES


def page(asked: Asked, memory: Memory) -> View:
    """Reads the dry run."""
    sources = asked.text("sources") != "keep"
    main = planned(asked, memory, asked.names["id"], sources=sources)
    id = main.subject.id
    return View(
        title=f"Erase {id}",
        main=main,
        answer=main.planned,
        calls=(
            asked.call(
                asked.python("erase", id, dry_run=True, sources=None if sources else False),
                asked.cli(
                    "erase", id, "--dry-run", None if sources else "--keep-sources", past=False
                ),
            ),
        ),
    )


def planned(
    asked: Asked, memory: Memory, id: str, *, sources: bool, refused: str | None = None,
    reason: str = "",
) -> Main:  # fmt: skip
    """The dry run, and why a form about it was refused."""
    position = memory.events.position  # read first: what is written after it is noticed
    found = memory.get(id, include=INCLUDES)
    plan = memory.erase(found.id, dry_run=True, sources=sources)
    events = _events(memory, found.id, plan)
    # A handle on the present would write the receipts that wait, and looking writes nothing.
    handed, receipts = _handed(memory.at(position), {found.id, *plan.episodes})
    other = asked.url("erase", found.id, sources="keep" if sources else None)
    return Main(
        subject=found,
        planned=plan,
        events=events[:_LISTED_MAX_COUNT],
        more=max(0, len(plan.events) - min(len(events), _LISTED_MAX_COUNT)),
        episodes=tuple(_episodes(memory, plan.episodes)),
        stays=tuple(_stays(memory, plan)),
        handed=handed,
        receipts=receipts,
        sources=sources,
        other=other,
        position=position,
        refused=refused,
        reason=reason,
    )


def _events(memory: Memory, id: str, plan: Erasure) -> tuple[Row, ...]:
    """The events that go, in sentences, in the order of the ledger."""
    wanted = set(plan.events)
    found = {
        change.seq: change
        for each in (id, *plan.episodes)
        for change in memory.events.list(id=each, limit=_EVENTS_MAX_COUNT)
        if change.seq in wanted
    }
    return tuple(row for seq in sorted(found) for row in rows([found[seq]]))


def _episodes(memory: Memory, ids: Iterable[str]) -> Iterable[Episode]:
    for id in ids:
        found = memory.get(id, include=INCLUDES)
        if isinstance(found, Episode):
            yield found


def _stays(memory: Memory, plan: Erasure) -> Iterable[Stays]:
    reasons = (
        (plan.kept, "another record rests on it"),
        (plan.remaining, "it has the same key, or rests on what is erased"),
        (plan.reasons, "it keeps the reason that was given when it was replaced"),
    )
    for ids, why in reasons:
        for id in ids[:_LISTED_MAX_COUNT]:
            try:
                found = memory.get(id, include=INCLUDES)
            except NotFound:
                continue
            unit = "r" if isinstance(found, Record) else "e"
            yield Stays(unit=unit, id=id, text=found.text, why=why)


def _handed(memory: Memory, ids: set[str]) -> tuple[int, int]:
    """In how many of the last contexts it was: nothing takes it out of a prompt again."""
    last = memory.proof.receipts.list(limit=_RECEIPTS_COUNT)
    return sum(any(item.id in ids for item in each.items) for each in last), len(last)
