"""The terms of a condition: when each is true of an episode, and which episodes to read for it.

Responsible for the meaning of a term: a missing value makes a comparison neither true nor false, so
``NOT`` of it is not true either. Unlike in SQL, the same goes for an order, a pattern or a function
and a value of another type. Leaves reading a condition to ``where``. Invariant: what narrows down
the episodes to read holds of every episode of which the term is true (``yes``) or false (``no``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from recollect.contracts.episodic import sqlite_times
from recollect.contracts.episodic.scope import PARTS, scope_key
from recollect.contracts.episodic.sqlite_words import Pattern
from recollect.contracts.episodic.table import episode_of, table_row
from recollect.errors import InvalidInput
from recollect.exchange.importers.stargraph import KEY
from recollect.index.filter import (
    And,
    Column,
    Compare,
    Contains,
    Filter,
    Missing,
    Node,
    Not,
    OneOf,
    Or,
)
from recollect.index.filter.checks import canonical
from recollect.index.filter.fields import HOLDS, Op, Path, Scalar
from recollect.index.filter.match import View
from recollect.index.rows import EpisodeRow
from recollect.model.instants import instant
from recollect.model.validate import Json

SCOPE_KEY: Final = "scope_key"
_FIELDS: Final = {
    "id": "id",
    "content": "text",
    "timestamp": "said_at",
    **{part: part for part in PARTS},
}
COLUMNS: Final = ("id", "content", "timestamp", "source_node", *PARTS, SCOPE_KEY, "metadata")
_TIME: Final = "timestamp"
_OPPOSITE: Final[dict[Op, Op]] = {
    "=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
}  # fmt: skip
_MIRRORED: Final[dict[Op, Op]] = {"=": "=", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


class Told:
    """An episode as a condition sees it; what a column takes work to make is made once."""

    def __init__(self, row: EpisodeRow) -> None:
        self.row = row
        self.view = View(row)

    @cached_property
    def table(self) -> Mapping[str, Any]:
        """Its row in the stated table."""
        return table_row(episode_of(self.row))


class Part(NamedTuple):
    """One side of a comparison, and what is known of it before an episode is read."""

    read: Callable[[Told], Json]
    column: str | None = None  # as it stands
    value: Scalar | None = None  # a constant

    @property
    def field(self) -> Column | None:
        """The field by which episodes can be read, if it is one."""
        return Column(_FIELDS[self.column]) if self.column in _FIELDS else None


class Term(NamedTuple):
    """When a condition is true (None: neither), and what holds where it is true and false."""

    judge: Callable[[Told], bool | None]
    yes: Node | None = None
    no: Node | None = None

    def negated(self) -> Term:
        """The opposite; what is neither stays so."""
        judge = self.judge
        return Term(
            lambda told: None if (is_so := judge(told)) is None else not is_so, self.no, self.yes
        )


class Condition:
    """A whole condition."""

    def __init__(self, term: Term) -> None:
        self._judge = term.judge
        self.narrowed = _filter(term.yes)

    def matches(self, row: EpisodeRow) -> bool:
        """True if it is true of an episode."""
        return self._judge(Told(row)) is True


def _filter(node: Node | None) -> str | None:
    """The filter of the episodes to read; None for all, also if it would be too large."""
    try:
        return None if node is None else str(Filter(node))
    except InvalidInput:
        return None


def both(*terms: Term) -> Term:
    """AND: false if one is false, else neither if one is neither."""
    if len(terms) == 1:
        return terms[0]
    judges = [term.judge for term in terms]

    def judge(told: Told) -> bool | None:
        is_true: bool | None = True
        for each in judges:
            found = each(told)
            if found is False:
                return False
            is_true = is_true if found else None
        return is_true

    known = [term.yes for term in terms if term.yes is not None]
    refuted = [term.no for term in terms if term.no is not None]
    yes = known[0] if len(known) == 1 else And(tuple(known)) if known else None
    return Term(judge, yes, Or(tuple(refuted)) if len(refuted) == len(terms) else None)


def either(*terms: Term) -> Term:
    """OR."""
    return both(*(term.negated() for term in terms)).negated()


# Parts.


def constant(value: Scalar) -> Part:
    """A text or a number."""
    return Part(lambda told: value, value=value)


def column(name: str) -> Part:
    """A column of the stated table; ``content`` is the text alone."""
    if name == "source_node":
        return in_metadata((KEY, name))
    if name in ("metadata", _TIME):
        read = _metadata if name == "metadata" else _timestamp
        return Part(read, name)
    if name == SCOPE_KEY:
        return Part(_scope_key, name)
    field = Column(_FIELDS[name])
    return Part(lambda told: told.view.value(field), name)


def _metadata(told: Told) -> Json:
    return bytes(told.table["metadata"]).decode()


def _timestamp(told: Told) -> Json:
    return str(told.table[_TIME])


def _scope_key(told: Told) -> Json:
    row = told.row
    return scope_key(row.user or "", row.session or "", row.agent or "")


def in_metadata(keys: tuple[str, ...]) -> Part:
    """What a path leads to."""
    path = Path("metadata", keys)
    return Part(lambda told: told.view.value(path))


def function(make: Callable[[str], str | int], part: Part) -> Part:
    """What a function makes of a text; of anything else it is missing."""
    if isinstance(part.value, str):
        return constant(make(part.value))

    def read(told: Told) -> Json:
        value = part.read(told)
        return make(value) if isinstance(value, str) else None

    return Part(read)


def time_of(part: Part, moves: Sequence[str], now: str, *, with_time: bool) -> Part:
    """``datetime`` or ``date`` of a text, moved; of what is not a time it is missing."""

    def moved(text: str) -> str:
        at = sqlite_times.moved(sqlite_times.read(text, now), moves)
        return sqlite_times.shown(at, with_time=with_time)

    if part.value is not None:
        return constant(moved(str(part.value)))
    moved("now")  # refuses modifiers that are not known

    def read(told: Told) -> Json:
        value = part.read(told)
        try:
            return moved(value) if isinstance(value, str) else None
        except InvalidInput:
            return None

    return Part(read)


# Terms.


def compared(one: Part, sign: Op, other: Part) -> Term:
    """A comparison; of timestamps as instants, of anything else as SQLite does it."""
    if _TIME in (one.column, other.column):
        one, other = _as_instant(one), _as_instant(other)
    if one.field is None and other.field is not None:
        one, sign, other = other, _MIRRORED[sign], one
    if one.field is not None and other.value is not None:
        other = constant(canonical(one.field, other.value))

    def judge(told: Told) -> bool | None:
        return _holds(sign, one.read(told), other.read(told))

    if one.field is None or other.value is None:
        return Term(judge)
    known = (Compare(one.field, op, other.value) for op in (sign, _OPPOSITE[sign]))
    return Term(judge, *known)


def one_of(part: Part, others: Sequence[Part]) -> Term:
    """IN."""
    found = either(*(compared(part, "=", other) for other in others))
    values = tuple(other.value for other in others if other.value is not None)
    if part.column not in _FIELDS or part.column == _TIME or len(values) < len(others):
        return found
    field = Column(_FIELDS[part.column])
    known = OneOf(field, tuple(canonical(field, value) for value in values))
    return Term(found.judge, known, Not(known))


def _as_instant(part: Part) -> Part:
    """A side of a comparison as a stored instant; what is not a time is missing."""
    if part.column == _TIME:
        return Part(lambda told: told.row.said_at, _TIME)
    if part.value is not None:
        if isinstance(part.value, str):
            return constant(_instant(part.value))
        return part  # refused with the field's own words

    def read(told: Told) -> Json:
        value = part.read(told)
        try:
            return _instant(value) if isinstance(value, str) else None
        except InvalidInput:
            return None

    return Part(read)


def _instant(text: str) -> str:
    """A time as SQLite writes it has a blank and no zone, and is in UTC."""
    is_plain = len(text) == 19 and text[10] == " "
    return instant(f"{text}+00:00" if is_plain else text)


def _holds(sign: Op, one: Json, other: Json) -> bool | None:
    if one is None or other is None:
        return None
    is_known = isinstance(one, str | int | float) and isinstance(other, str | int | float)
    if not is_known or isinstance(one, str) != isinstance(other, str):
        return {"=": False, "!=": True}.get(sign)
    return ((one > other) - (one < other)) in HOLDS[sign]  # type: ignore[operator]


def is_null(part: Part) -> Term:
    """A term that is true for a missing value or null."""
    if part.field is None:
        return Term(lambda told: part.read(told) is None)
    missing = Missing(part.field)
    return Term(lambda told: part.read(told) is None, missing, Not(missing))


def matching(part: Part, pattern: Pattern) -> Term:
    """LIKE or GLOB."""

    def judge(told: Told) -> bool | None:
        value = part.read(told)
        if pattern.is_all:  # of any value, and never false
            return None if value is None else True
        return pattern.matches(value) if isinstance(value, str) else None

    field = part.field if part.column in ("id", "content") else None
    if field is None or not pattern.longest:
        return Term(judge)
    return Term(judge, Contains(field, pattern.longest))


def of_scope(names: Mapping[str, str]) -> Term:
    """True if each of these names is that of the episode's scope."""
    return both(*(compared(column(part), "=", constant(name)) for part, name in names.items()))
