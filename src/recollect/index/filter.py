"""The filter expression: a small typed language over the fields of records and episodes.

Responsible for its types, its meaning and its canonical text (``docs/reference/filters.md``).
Leaves reading it from text to ``index.filter_parse`` and SQL to ``index.filter_sql``. Invariant: a
``Filter`` that exists is well typed, within its limits and names known fields only.
"""

from __future__ import annotations

import math
import re
import unicodedata
from functools import cached_property
from typing import Final, Literal, assert_never, get_args

import msgspec

from recollect.errors import InvalidInput, LimitExceeded
from recollect.index.rows import EpisodeRow, VersionRow, unpack_names, unpack_object
from recollect.model import limits
from recollect.model.door import Json
from recollect.model.events import Origin, Role, SourceType, Status, Tier, Trust
from recollect.model.instants import instant
from recollect.model.values import Unit

Type = Literal["text", "name", "word", "number", "boolean", "instant", "names", "json"]
Op = Literal["=", "!=", "<", "<=", ">", ">="]
Verb = Literal[Op, "in", "contains", "starts with"]
Scalar = str | int | float | bool
Units = Unit | Literal["any"]
Root = Literal["data", "metadata"]

# --- the fields and their types

TYPES: Final[dict[str, Type]] = {
    "id": "text",
    "key": "name",
    "kind": "name",
    "text": "text",
    "about": "name",
    "tags": "names",
    "status": "word",
    "reason": "text",
    "trust": "word",
    "origin": "word",
    "role": "word",
    "user": "name",
    "session": "name",
    "agent": "name",
    "confidence": "number",
    "source_type": "word",
    "is_hypothesis": "boolean",
    "valid_from": "instant",
    "valid_to": "instant",
    "expires": "instant",
    "reinforcement_count": "number",
    "decay_tier": "word",
    "created_at": "instant",
    "said_at": "instant",
    "at": "instant",
    "supersedes": "text",
    "superseded_by": "text",
}
WORDS: Final[dict[str, tuple[str, ...]]] = {
    "status": get_args(Status),
    "trust": get_args(Trust),
    "origin": get_args(Origin),
    "role": get_args(Role),
    "source_type": get_args(SourceType),
    "decay_tier": get_args(Tier),
}
FIELDS: Final[dict[Units, tuple[str, ...]]] = {
    "record": tuple(name for name in TYPES if name not in ("role", "said_at")),
    "episode": ("id", "text", "trust", "role", "user", "session", "agent", "said_at", "at"),
    "any": tuple(TYPES),
}
OBJECTS: Final[dict[Units, tuple[Root, ...]]] = {
    "record": ("data",),
    "episode": ("metadata",),
    "any": ("data", "metadata"),
}

_EQUAL: Final[tuple[Verb, ...]] = ("=", "!=", "in")
_ORDER: Final[tuple[Verb, ...]] = ("<", "<=", ">", ">=")
_PART: Final[tuple[Verb, ...]] = ("contains", "starts with")
TAKES: Final[dict[Type, tuple[Verb, ...]]] = {
    "text": (*_EQUAL, *_ORDER, *_PART),
    "name": (*_EQUAL, *_ORDER, *_PART),
    "word": _EQUAL,  # their letters' order means nothing: "person" < "unverified"
    "number": (*_EQUAL, *_ORDER),
    "boolean": _EQUAL,
    "instant": (*_EQUAL, *_ORDER),
    "names": _PART,
    "json": (*_EQUAL, *_ORDER, *_PART),
}
_NOUNS: Final[dict[Type, str]] = {
    "number": "a number",
    "boolean": "true or false",
    "instant": "a date or an instant, as a text",
}

# Which signs of (value - literal) each comparison accepts.
HOLDS: Final[dict[Op, tuple[int, ...]]] = {
    "=": (0,),
    "!=": (-1, 1),
    "<": (-1,),
    "<=": (-1, 0),
    ">": (1,),
    ">=": (0, 1),
}

BARE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


# --- the expression


class Column(msgspec.Struct, frozen=True):
    """A field that every row of its unit has."""

    name: str

    def __post_init__(self) -> None:
        if self.name not in TYPES:
            raise InvalidInput(f"there is no field {self.name!r}", hint=known("any"))

    def __str__(self) -> str:
        return self.name


class Path(msgspec.Struct, frozen=True):
    """A place in the caller's own JSON object."""

    root: Root
    keys: tuple[str, ...]

    def __post_init__(self) -> None:
        if not 0 < len(self.keys) <= limits.DATA_MAX_DEPTH:
            raise InvalidInput(
                f"{self.root} needs 1 to {limits.DATA_MAX_DEPTH} keys after it",
                hint=f"write for example {self.root}.topic = 'travel'",
            )
        for key in self.keys:
            _check_characters(key)

    def __str__(self) -> str:
        keys = (key if BARE_NAME.fullmatch(key) else _quoted(key) for key in self.keys)
        return ".".join((self.root, *keys))


Field = Column | Path


class Compare(msgspec.Struct, frozen=True):
    """True if the value is of the literal's type and stands to it as asked."""

    field: Field
    op: Op
    value: Scalar

    def __post_init__(self) -> None:
        _check(self.field, self.op, (self.value,))


class OneOf(msgspec.Struct, frozen=True):
    """True if the value equals one of these."""

    field: Field
    values: tuple[Scalar, ...]

    def __post_init__(self) -> None:
        if not 0 < len(self.values) <= limits.FILTER_MAX_VALUES:
            raise LimitExceeded(
                f"a list holds 1 to {limits.FILTER_MAX_VALUES} values", hint="ask for less at once"
            )
        _check(self.field, "in", self.values)


class Contains(msgspec.Struct, frozen=True):
    """True if the value is a text with this part, or a list with this element."""

    field: Field
    value: Scalar

    def __post_init__(self) -> None:
        _check(self.field, "contains", (self.value,))


class StartsWith(msgspec.Struct, frozen=True):
    """True if the value is a text that begins so, or one of a record's tags does."""

    field: Field
    value: str

    def __post_init__(self) -> None:
        _check(self.field, "starts with", (self.value,))


class Missing(msgspec.Struct, frozen=True):
    """True if there is no value: the field is empty, absent, or one of the other unit."""

    field: Field

    def __post_init__(self) -> None:
        _check(self.field, "=", ())


class Not(msgspec.Struct, frozen=True):
    """True if its term is false."""

    term: Node


class And(msgspec.Struct, frozen=True):
    """True if all of its terms are."""

    terms: tuple[Node, ...]

    def __post_init__(self) -> None:
        _check_several(self.terms)


class Or(msgspec.Struct, frozen=True):
    """True if one of its terms is."""

    terms: tuple[Node, ...]

    def __post_init__(self) -> None:
        _check_several(self.terms)


Leaf = Compare | OneOf | Contains | StartsWith | Missing
Node = Leaf | Not | And | Or


class Filter(msgspec.Struct, frozen=True):
    """A whole expression; ``str(filter)`` is its canonical text."""

    root: Node

    def __post_init__(self) -> None:
        _check_size(self.root)
        if len(str(self)) > limits.FILTER_MAX_CHARS:
            raise too_long()

    def matches(self, row: VersionRow | EpisodeRow) -> bool:
        """True if a row is one that the filter asks for; the meaning that SQL has to keep."""
        return _holds(self.root, _View(row))

    def __str__(self) -> str:
        return _shown(self.root)


def has(unit: Unit, field: Field) -> bool:
    """True if rows of a unit have a field."""
    if isinstance(field, Path):
        return field.root in OBJECTS[unit]
    return field.name in FIELDS[unit]


def type_of(field: Field) -> Type:
    """The type of a field's values."""
    return "json" if isinstance(field, Path) else TYPES[field.name]


# --- checks


def _check(field: Field, verb: Verb, values: tuple[Scalar, ...]) -> None:
    """Refuses a term that is badly typed, or not in its canonical form."""
    check_verb(field, verb)
    for value in values:
        if canonical(field, value) != value:
            raise InvalidInput(f"{_literal(value)} is not how {field} is stored")
        if verb in _ORDER and isinstance(value, bool):
            raise InvalidInput("true and false have no order", hint="use = or !=")
        if verb == "starts with" and not isinstance(value, str):
            raise InvalidInput(f"{field} can only start with a text, not {_literal(value)}")
        if verb in _PART and value == "":
            raise InvalidInput(f"every text {verb} ''", hint="leave that term out")


def check_verb(field: Field, verb: Verb) -> None:
    """Refuses a question that a field does not take."""
    takes = TAKES[type_of(field)]
    if verb not in takes:
        raise InvalidInput(f"{field} does not take {verb!r}", hint=f"use {', '.join(takes)}")


def canonical(field: Field, value: Scalar) -> Scalar:
    """A literal in the form in which the field is stored; one of another type is refused."""
    kind = type_of(field)
    if isinstance(value, str):
        _check_characters(value)
    if not _fits(kind, value):
        noun = _NOUNS.get(kind, "a text")
        raise InvalidInput(f"{field} compares with {noun}, not with {_literal(value)}")
    if not isinstance(value, str):
        return _checked_number(value)
    if kind == "instant":
        return _checked_instant(value)
    if kind in ("name", "names"):
        return unicodedata.normalize("NFC", value)
    words = WORDS.get(str(field))
    if words is not None and value not in words:
        raise InvalidInput(f"{field} is never {_literal(value)}", hint=f"use {', '.join(words)}")
    return value


def _fits(kind: Type, value: Scalar) -> bool:
    """True if a literal is of a field's type."""
    if kind == "json":
        return True
    if kind == "boolean" or isinstance(value, bool):
        return kind == "boolean" and isinstance(value, bool)
    return isinstance(value, str) == (kind != "number")


def _checked_instant(value: str) -> str:
    try:
        return instant(value)
    except InvalidInput as error:
        hint = "write '2026-01-31' or '2026-01-31T09:30:00+01:00'"
        raise InvalidInput(error.message, hint=hint) from error


def _checked_number(value: int | float) -> int | float:
    """A number that JSON can hold exactly."""
    if isinstance(value, int) and abs(value) > limits.INTEGER_MAX:
        raise InvalidInput("an integer lies beyond ±(2^53 - 1)")
    if not math.isfinite(value):
        raise InvalidInput("a number is too large")
    return value


def _check_characters(value: str) -> None:
    """No text that is stored holds these, and engines disagree on them."""
    if "\0" in value or any("\ud800" <= c <= "\udfff" for c in value):
        raise InvalidInput("a text holds U+0000 or a lone surrogate")


def _check_several(terms: tuple[Node, ...]) -> None:
    if len(terms) < 2:
        raise InvalidInput("'and' and 'or' join at least two terms")


def _check_size(root: Node) -> None:
    """Counts depth and terms without recursion, so that no expression is too deep to refuse."""
    terms, waiting = 0, [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > limits.FILTER_MAX_DEPTH:
            raise too_deep()
        if isinstance(node, Not):
            waiting.append((node.term, depth + 1))
        elif isinstance(node, And | Or):
            waiting += [(term, depth + 1) for term in node.terms]
        else:
            terms += 1
    if terms > limits.FILTER_MAX_TERMS:
        raise LimitExceeded(
            f"the filter has more than {limits.FILTER_MAX_TERMS} terms", hint="use in (…)"
        )


def too_deep() -> LimitExceeded:
    """The refusal of an expression with too much inside each other."""
    return LimitExceeded(
        f"the filter is nested deeper than {limits.FILTER_MAX_DEPTH}", hint="take parentheses away"
    )


def too_long() -> LimitExceeded:
    """The refusal of a text that goes on too long."""
    return LimitExceeded(
        f"the filter is longer than {limits.FILTER_MAX_CHARS:,} characters",
        hint="ask for less at once",
    )


def known(units: Units) -> str:
    """The fields to choose from, as a hint."""
    names = [*FIELDS[units], *(f"{root}.<key>" for root in OBJECTS[units])]
    return f"use one of {', '.join(names)}"


# --- meaning


class _View:
    """One row as a filter sees it; its JSON is decoded at most once."""

    def __init__(self, row: VersionRow | EpisodeRow) -> None:
        self._row = row
        self._unit: Unit = "record" if isinstance(row, VersionRow) else "episode"

    def value(self, field: Field) -> Json:
        """The value of a field; None if there is none."""
        if not has(self._unit, field):
            return None
        if isinstance(field, Path):
            return self._reach(field.keys)
        cell: str | int | float | None = getattr(self._row, field.name)
        if field.name == "tags":
            return list(unpack_names(str(cell)))
        return bool(cell) if TYPES[field.name] == "boolean" else cell

    def _reach(self, keys: tuple[str, ...]) -> Json:
        value: Json = self._object
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    @cached_property
    def _object(self) -> dict[str, Json]:
        row = self._row
        return unpack_object(row.data if isinstance(row, VersionRow) else row.metadata)


def _holds(node: Node, row: _View) -> bool:
    if isinstance(node, And):
        return all(_holds(term, row) for term in node.terms)
    if isinstance(node, Or):
        return any(_holds(term, row) for term in node.terms)
    if isinstance(node, Not):
        return not _holds(node.term, row)
    return _leaf_holds(node, row.value(node.field))


def _leaf_holds(leaf: Leaf, value: Json) -> bool:
    match leaf:
        case Compare():
            return _sign(value, leaf.value) in HOLDS[leaf.op]
        case OneOf():
            return any(_sign(value, literal) == 0 for literal in leaf.values)
        case Contains():
            return _contains(value, leaf.value)
        case StartsWith():
            texts = value if isinstance(value, list) and type_of(leaf.field) == "names" else [value]
            return any(isinstance(text, str) and text.startswith(leaf.value) for text in texts)
        case Missing():
            return value is None
        case _:
            assert_never(leaf)


def _contains(value: Json, literal: Scalar) -> bool:
    if isinstance(value, str):
        return isinstance(literal, str) and literal in value
    return isinstance(value, list) and any(_sign(item, literal) == 0 for item in value)


def _sign(value: Json, literal: Scalar) -> int | None:
    """-1, 0 or 1 as a value lies before, at or after a literal; None if the types differ."""
    if isinstance(value, str) and isinstance(literal, str):
        return (value > literal) - (value < literal)
    if isinstance(value, bool) != isinstance(literal, bool):
        return None
    if isinstance(value, int | float) and isinstance(literal, int | float):
        return (value > literal) - (value < literal)
    return None


# --- canonical text


def _shown(node: Node) -> str:
    match node:
        case And():
            return " and ".join(_enclosed(term) for term in node.terms)
        case Or():
            return " or ".join(_enclosed(term) for term in node.terms)
        case Not():
            return f"not {_enclosed(node.term)}"
        case Compare():
            return f"{node.field} {node.op} {_literal(node.value)}"
        case OneOf():
            return f"{node.field} in ({', '.join(map(_literal, node.values))})"
        case Contains():
            return f"{node.field} contains {_literal(node.value)}"
        case StartsWith():
            return f"{node.field} starts with {_literal(node.value)}"
        case Missing():
            return f"{node.field} = null"
        case _:
            assert_never(node)


def _enclosed(node: Node) -> str:
    return f"({_shown(node)})" if isinstance(node, And | Or) else _shown(node)


def _literal(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _quoted(value) if isinstance(value, str) else repr(value)


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
