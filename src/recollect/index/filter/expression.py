"""The whole expression, and its canonical text.

Responsible for its size and for how it is written. Leaves its parts to ``index.filter.tree`` and
reading it to ``index.filter.parse``. Invariants: a ``Filter`` that exists is well typed, within its
limits and names known fields only; ``parse(shown(node))`` gives the node again.
"""

from __future__ import annotations

from typing import assert_never

import msgspec

from recollect.errors import LimitExceeded
from recollect.index.filter.checks import too_deep, too_long
from recollect.index.filter.fields import literal
from recollect.index.filter.match import View, holds
from recollect.index.filter.tree import (
    And,
    Compare,
    Contains,
    Missing,
    Node,
    Not,
    OneOf,
    Or,
    StartsWith,
)
from recollect.index.rows import EpisodeRow, VersionRow
from recollect.model import limits


class Filter(msgspec.Struct, frozen=True):
    """A whole expression; ``str(filter)`` is its canonical text."""

    root: Node

    def __post_init__(self) -> None:
        _check_size(self.root)
        if len(str(self)) > limits.FILTER_MAX_CHARS:
            raise too_long()

    def matches(self, row: VersionRow | EpisodeRow) -> bool:
        """True if a row matches; the SQL condition must agree with this."""
        return holds(self.root, View(row))

    def __str__(self) -> str:
        return shown(self.root)


def _check_size(root: Node) -> None:
    """Checks depth and terms without recursion, so that it cannot overflow the stack."""
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


def shown(node: Node) -> str:
    match node:
        case And():
            return " and ".join(_enclosed(term) for term in node.terms)
        case Or():
            return " or ".join(_enclosed(term) for term in node.terms)
        case Not():
            return f"not {_enclosed(node.term)}"
        case Compare():
            return f"{node.field} {node.op} {literal(node.value)}"
        case OneOf():
            return f"{node.field} in ({', '.join(map(literal, node.values))})"
        case Contains():
            return f"{node.field} contains {literal(node.value)}"
        case StartsWith():
            return f"{node.field} starts with {literal(node.value)}"
        case Missing():
            return f"{node.field} = null"
        case _:
            assert_never(node)


def _enclosed(node: Node) -> str:
    return f"({shown(node)})" if isinstance(node, And | Or) else shown(node)
