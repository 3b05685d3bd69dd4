"""What a filter means: whether a row matches it.

Responsible for the exact meaning of a filter. Leaves narrowing down to ``index.filter.sql``.
Invariant: values of different types never compare, and nothing here can fail.
"""

from __future__ import annotations

from functools import cached_property
from typing import assert_never

from recollect.index.filter.fields import HOLDS, TYPES, Field, Path, Scalar, has, type_of
from recollect.index.filter.tree import (
    And,
    Compare,
    Contains,
    Leaf,
    Missing,
    Node,
    Not,
    OneOf,
    Or,
    StartsWith,
)
from recollect.index.rows import EpisodeRow, VersionRow, unpack_names, unpack_object
from recollect.model.validate import Json
from recollect.model.values import Unit
from recollect.model.words import COLUMNS, reason_of, status_of


class View:
    """One row as a filter sees it; its JSON is decoded at most once."""

    def __init__(self, row: VersionRow | EpisodeRow) -> None:
        self._row = row
        self._unit: Unit = "record" if isinstance(row, VersionRow) else "episode"

    def value(self, field: Field) -> Json:
        """The value of a field, or None."""
        if not has(self._unit, field):
            return None
        if isinstance(field, Path):
            return self._reach(field.keys)
        if isinstance(self._row, VersionRow) and field.name in ("status", "reason"):
            return self._word(self._row, field.name)
        name = COLUMNS.get(field.name, field.name)
        cell: str | int | float | None = getattr(self._row, name)
        if field.name == "tags":
            return list(unpack_names(str(cell)))
        return bool(cell) if TYPES[field.name] == "boolean" else cell

    @staticmethod
    def _word(row: VersionRow, name: str) -> str | None:
        return status_of(row.status, row.reason) if name == "status" else reason_of(row.reason)

    def _reach(self, keys: tuple[str, ...]) -> Json:
        value: Json = self._object
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    @cached_property
    def _object(self) -> dict[str, Json]:
        row = self._row
        return unpack_object(row.data if isinstance(row, VersionRow) else row.metadata)


def holds(node: Node, row: View) -> bool:
    if isinstance(node, And):
        return all(holds(term, row) for term in node.terms)
    if isinstance(node, Or):
        return any(holds(term, row) for term in node.terms)
    if isinstance(node, Not):
        return not holds(node.term, row)
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
    """-1, 0 or 1 if a value is less than, equal to or above a literal; None if types differ."""
    if isinstance(value, str) and isinstance(literal, str):
        return (value > literal) - (value < literal)
    if isinstance(value, bool) != isinstance(literal, bool):
        return None
    if isinstance(value, int | float) and isinstance(literal, int | float):
        return (value > literal) - (value < literal)
    return None
