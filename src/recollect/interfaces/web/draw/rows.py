"""Events as rows of a list: newest first, by day, those of one command together.

Responsible for the grouping. Leaves the words to ``sentences`` and the zone to the caller.
Invariant: every event is in exactly one row, as its head or among those below it.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

import msgspec

from recollect.interfaces.web.draw import times
from recollect.interfaces.web.draw.sentences import Sentence, sentence
from recollect.model.values import Change

# Of one command, what a reader looks for first: the record, then what was said.
_FIRST = ("record", "proposal", "link", "episode")


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One event, and the others that were written with it."""

    change: Change
    sentence: Sentence
    also: tuple[Row, ...] = ()


class DayRows(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of one day, by session in the order they came."""

    at: str
    rows: tuple[Row, ...]


def by_day(changes: Iterable[Change], tz_minutes: int) -> tuple[DayRows, ...]:
    """Days, newest first; ``changes`` are newest first."""
    days = groupby(rows(changes), key=lambda row: times.day_of(row.change.at, tz_minutes))
    found = [tuple(each) for _, each in days]
    return tuple(DayRows(at=each[0].change.at, rows=each) for each in found)


def rows(changes: Iterable[Change]) -> tuple[Row, ...]:
    """Rows, newest first; what one command wrote at one instant is one row."""
    together = groupby(changes, key=lambda each: (each.at, each.by, each.scope.session))
    return tuple(_row(tuple(each)) for _, each in together)


def _row(changes: tuple[Change, ...]) -> Row:
    head = min(changes, key=_weight)
    others = sorted((each for each in changes if each is not head), key=lambda each: each.seq)
    also = tuple(Row(change=each, sentence=sentence(each)) for each in others)
    return Row(change=head, sentence=sentence(head), also=also)


def _weight(change: Change) -> tuple[int, int]:
    place = _FIRST.index(change.unit) if change.unit in _FIRST else len(_FIRST)
    return (place + (change.kind == "record.superseded"), change.seq)
