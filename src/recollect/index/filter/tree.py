"""The nodes of a filter: terms on fields, and their combinations.

Responsible for the parts of an expression. Leaves evaluating them to ``index.filter.match``
and their text to ``index.filter.expression``. Invariant: a node that exists is well typed.
"""

from __future__ import annotations

import msgspec

from recollect.errors import InvalidInput, LimitExceeded
from recollect.index.filter.checks import check
from recollect.index.filter.fields import Field, Op, Scalar
from recollect.model import limits


class Compare(msgspec.Struct, frozen=True):
    """True if the value has the literal's type and the comparison holds."""

    field: Field
    op: Op
    value: Scalar

    def __post_init__(self) -> None:
        check(self.field, self.op, (self.value,))


class OneOf(msgspec.Struct, frozen=True):
    """True if the value equals one of these."""

    field: Field
    values: tuple[Scalar, ...]

    def __post_init__(self) -> None:
        if not 0 < len(self.values) <= limits.FILTER_MAX_VALUES:
            raise LimitExceeded(
                f"a list must hold 1 to {limits.FILTER_MAX_VALUES} values", hint="use fewer values"
            )
        check(self.field, "in", self.values)


class Contains(msgspec.Struct, frozen=True):
    """True if the value is a text that contains this, or a list with this element."""

    field: Field
    value: Scalar

    def __post_init__(self) -> None:
        check(self.field, "contains", (self.value,))


class StartsWith(msgspec.Struct, frozen=True):
    """True if the value is a text that starts with this, or one of a record's tags does."""

    field: Field
    value: str

    def __post_init__(self) -> None:
        check(self.field, "starts with", (self.value,))


class Missing(msgspec.Struct, frozen=True):
    """True if there is no value: the field is empty, absent, or belongs to the other unit."""

    field: Field

    def __post_init__(self) -> None:
        check(self.field, "=", ())


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


def _check_several(terms: tuple[Node, ...]) -> None:
    if len(terms) < 2:
        raise InvalidInput("'and' and 'or' need at least two terms")
