"""Which operators and literals a field accepts.

Responsible for refusing a term that is badly typed, too large, or not in its canonical form. Leaves
the terms to ``index.filter.tree``. Invariant: a refusal says what to write instead.
"""

from __future__ import annotations

import math
import unicodedata
from typing import Final

from recollect.errors import InvalidInput, LimitExceeded
from recollect.index.filter.fields import (
    WORDS,
    Field,
    Scalar,
    Type,
    Verb,
    check_characters,
    literal,
    type_of,
)
from recollect.model import limits
from recollect.model.instants import instant
from recollect.model.words import WORDS as WORD_OF

_EQUAL: Final[tuple[Verb, ...]] = ("=", "!=", "in")
_ORDER: Final[tuple[Verb, ...]] = ("<", "<=", ">", ">=")
_PART: Final[tuple[Verb, ...]] = ("contains", "starts with")
TAKES: Final[dict[Type, tuple[Verb, ...]]] = {
    "text": (*_EQUAL, *_ORDER, *_PART),
    "name": (*_EQUAL, *_ORDER, *_PART),
    "word": _EQUAL,  # alphabetical order is meaningless: "person" < "unverified"
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


def check(field: Field, verb: Verb, values: tuple[Scalar, ...]) -> None:
    """Refuses a term that is badly typed, or not in its canonical form."""
    check_verb(field, verb)
    for value in values:
        if canonical(field, value) != value:
            raise InvalidInput(f"{literal(value)} is not a stored form of {field}")
        if verb in _ORDER and isinstance(value, bool):
            raise InvalidInput("true and false cannot be ordered", hint="use = or !=")
        if verb == "starts with" and not isinstance(value, str):
            raise InvalidInput(f"{field} can only start with text, not {literal(value)}")
        if verb in _PART and value == "":
            raise InvalidInput(f"every text {verb} ''", hint="remove that term")


def check_verb(field: Field, verb: Verb) -> None:
    """Refuses an operator that a field does not support."""
    takes = TAKES[type_of(field)]
    if verb not in takes:
        raise InvalidInput(f"{field} does not support {verb!r}", hint=f"use {', '.join(takes)}")


def canonical(field: Field, value: Scalar) -> Scalar:
    """A literal in the form in which the field is stored; one of another type is refused."""
    kind = type_of(field)
    if isinstance(value, str):
        check_characters(value)
    if not _fits(kind, value):
        noun = _NOUNS.get(kind, "a text")
        raise InvalidInput(f"{field} compares with {noun}, not with {literal(value)}")
    if not isinstance(value, str):
        return _checked_number(value)
    if kind == "instant":
        return _checked_instant(value)
    if kind in ("name", "names"):
        return unicodedata.normalize("NFC", value)
    if str(field) in ("status", "reason"):  # codes, in filters that ledgers keep
        value = WORD_OF.get(value, value)
    words = WORDS.get(str(field))
    if words is not None and value not in words:
        raise InvalidInput(
            f"unknown value {literal(value)} for {field}", hint=f"use {', '.join(words)}"
        )
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
        raise InvalidInput("an integer is beyond ±(2^53 - 1)")
    if not math.isfinite(value):
        raise InvalidInput("a number is too large")
    return value


def too_deep() -> LimitExceeded:
    """The error for an expression that is nested too deeply."""
    return LimitExceeded(
        f"the filter is nested deeper than {limits.FILTER_MAX_DEPTH}", hint="use fewer parentheses"
    )


def too_long() -> LimitExceeded:
    """The error for a text that is too long."""
    return LimitExceeded(
        f"the filter is longer than {limits.FILTER_MAX_CHARS:,} characters",
        hint="make the filter shorter",
    )
