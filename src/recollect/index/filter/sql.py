"""The filter expression as a SQL condition.

Responsible for a condition that is true for every row the filter matches, and for few others.
Leaves the rest to ``Filter.matches``, which runs over the rows that SQL found. Invariants: the text
consists only of constants of this module, and every value of the caller is a bound parameter; NOT
is never applied to a condition that is wider than its term.

Rows are named ``v`` (versions) and ``e`` (episodes). Text columns compare by code point.
"""

from __future__ import annotations

import re
from typing import Final, assert_never, cast

from recollect.index.filter.expression import Filter
from recollect.index.filter.fields import FIELDS, Column, Op, Scalar, has
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
from recollect.index.rows import Cell, pack_names
from recollect.model.values import Unit
from recollect.model.words import COLUMNS, WORDS

# What people read in place of the codes of rows (``model.words``).
_WHENS: Final = " ".join(f"WHEN '{code}' THEN '{word}'" for code, word in WORDS.items())
_IS_REPLACED: Final = "v.status = 'archived' AND v.reason = 'superseded'"
WORDS_OF_V: Final = {
    "status": f"CASE WHEN {_IS_REPLACED} THEN 'replaced' ELSE CASE v.status {_WHENS} ELSE v.status "
    "END END",
    "reason": f"CASE v.reason {_WHENS} ELSE v.reason END",
}
_COLUMNS: Final[dict[Unit, dict[str, str]]] = {
    "record": {name: f'v."{COLUMNS.get(name, name)}"' for name in FIELDS["record"]} | WORDS_OF_V,
    "episode": {name: f'e."{name}"' for name in FIELDS["episode"]},
}
_SIGNS: Final[dict[Op, str]] = {"=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
# The slot for a filter; without a filter the statement runs as written.
_SLOT: Final = re.compile(r"TRUE /\* filter: (record|episode) \*/")
_CONSTANTS: Final = {True: "TRUE", False: "FALSE"}


def compile_sql(filter: Filter, unit: Unit) -> tuple[str, dict[str, Cell]]:
    """A condition on rows of a unit, and its parameters."""
    compiler = _Compiler(unit)
    return compiler.condition(filter.root, wanted=True), compiler.params


def narrowed(statement: str, where: Filter) -> tuple[str, dict[str, Cell]]:
    """A statement with a filter in its slot, and the filter's parameters."""
    slot = _SLOT.search(statement)
    if slot is None:
        raise ValueError("this statement does not support a filter")
    condition, params = compile_sql(where, cast(Unit, slot[1]))
    return statement[: slot.start()] + condition + statement[slot.end() :], params


class _Compiler:
    """Gathers the parameters of one condition."""

    def __init__(self, unit: Unit) -> None:
        self.params: dict[str, Cell] = {}
        self._unit: Unit = unit

    def condition(self, node: Node, *, wanted: bool) -> str:
        """True at least where the node is true, or false if negated; leaves carry the negation."""
        match node:
            case Not():
                return self.condition(node.term, wanted=not wanted)
            case And() | Or():
                word = " AND " if isinstance(node, And) == wanted else " OR "
                terms = (self.condition(term, wanted=wanted) for term in node.terms)
                return f"({word.join(terms)})"
            case _:
                return self._leaf(node, wanted=wanted)

    def _leaf(self, leaf: Leaf, *, wanted: bool) -> str:
        if not has(self._unit, leaf.field):  # the unit lacks the field, so only `= null` matches
            return _CONSTANTS[isinstance(leaf, Missing) == wanted]
        if not isinstance(leaf.field, Column):
            return "TRUE"  # JSON paths: SQLite compares otherwise, so SQL does not narrow down
        column = _COLUMNS[self._unit][leaf.field.name]
        if isinstance(leaf, Missing):
            return f"{column} IS NULL" if wanted else f"{column} IS NOT NULL"
        # A list as JSON; one tag may be the end of another.
        if leaf.field.name == "tags" and isinstance(leaf, Contains | StartsWith):
            return self._tagged(column, leaf) if wanted else "TRUE"
        found = self._found(column, leaf)
        return found if wanted else f"({column} IS NULL OR NOT ({found}))"

    def _found(self, column: str, leaf: Compare | OneOf | Contains | StartsWith) -> str:
        """The condition on a column that has a value; true and false are stored as 1 and 0."""
        match leaf:
            case Compare():
                return f"{column} {_SIGNS[leaf.op]} {self._bound(leaf.value)}"
            case OneOf():
                return f"{column} IN ({', '.join(map(self._bound, leaf.values))})"
            case Contains():
                return self._holds(column, str(leaf.value))
            case StartsWith():
                length = self._bound(len(leaf.value))
                return f"substr({column}, 1, {length}) = {self._bound(leaf.value)}"
            case _:
                assert_never(leaf)

    def _tagged(self, column: str, leaf: Contains | StartsWith) -> str:
        """Matches at least the lists with a tag that equals, or starts with, the value."""
        tag = pack_names((str(leaf.value),))[1:-1]
        return self._holds(column, tag[:-1] if isinstance(leaf, StartsWith) else tag)

    def _holds(self, column: str, part: str) -> str:
        return f"instr({column}, {self._bound(part)}) > 0"

    def _bound(self, value: Scalar) -> str:
        name = f"filter_{len(self.params)}"
        self.params[name] = int(value) if isinstance(value, bool) else value
        return f":{name}"
