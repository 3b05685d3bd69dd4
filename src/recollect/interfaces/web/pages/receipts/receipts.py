"""Receipts: what was handed out, when and to whom.

Responsible for a page of receipts. Leaves one of them to ``receipt``. Invariant: looking writes
nothing, so receipts are read from a position; a handle on the present would write those that wait.
"""

from __future__ import annotations

from typing import Final

import msgspec

from recollect.errors import NotFound
from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.draw import times
from recollect.interfaces.web.view import View
from recollect.memory import Memory
from recollect.model.values import INCLUDES, Receipt, ReceiptItem, Record

PAGE_COUNT: Final = 50
_NAMES_COUNT: Final = 4


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One receipt in the list."""

    receipt: Receipt
    erased: int  # how many of its lines were erased since
    names: tuple[str, ...]  # of its first lines: a key, or the unit
    filled: float  # how much of its budget it took, from 0 to 1


class Day(msgspec.Struct, frozen=True, kw_only=True):
    """The receipts of one day."""

    at: str
    rows: tuple[Row, ...]


class Main(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows."""

    days: tuple[Day, ...]
    older: int | None
    is_first: bool


def page(asked: Asked, memory: Memory) -> View:
    """Reads one page of receipts."""
    before = asked.maybe("before")
    then = memory.at(asked.position)
    found = then.proof.receipts.list(limit=PAGE_COUNT + 1, after=before)
    shown = found[:PAGE_COUNT]
    main = Main(
        days=_by_day(then, shown, asked.tz_minutes),
        older=shown[-1].seq if len(found) > PAGE_COUNT else None,
        is_first=before is None,
    )
    python = asked.python("proof.receipts.list", limit=PAGE_COUNT, after=before)
    cli = asked.cli("proof", "receipts", "--limit", PAGE_COUNT, past=False)
    known = cli if before is None and not asked.is_past else None
    return View(title="Receipts", main=main, answer=shown, calls=(asked.call(python, known),))


def _by_day(memory: Memory, found: list[Receipt], tz_minutes: int) -> tuple[Day, ...]:
    days: dict[object, list[Receipt]] = {}
    for each in found:
        days.setdefault(times.day_of(each.at, tz_minutes), []).append(each)
    return tuple(
        Day(at=each[0].at, rows=tuple(_row(memory, receipt) for receipt in each))
        for each in days.values()
    )


def _row(memory: Memory, receipt: Receipt) -> Row:
    erased = sum(1 for item in receipt.items if item.id is None)
    names = [name_of(memory, item) for item in receipt.items[:_NAMES_COUNT]]
    return Row(
        receipt=receipt,
        erased=erased,
        names=tuple(dict.fromkeys(each for each in names if each)),
        filled=receipt.tokens / max(1, receipt.budget),
    )


def name_of(memory: Memory, item: ReceiptItem) -> str | None:
    """The key of what a line was made from, or its id; None if it was erased."""
    if item.id is None:
        return None
    try:
        found = memory.get(item.id, include=INCLUDES)
    except NotFound:
        return item.id
    return (found.key if isinstance(found, Record) else None) or item.id
