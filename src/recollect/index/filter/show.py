"""A filter as text, in its canonical form.

Responsible for how an expression is written. Leaves reading it to ``index.filter.parse``.
Invariant: ``parse(shown(node))`` gives the node again.
"""

from __future__ import annotations

from typing import assert_never

from recollect.index.filter.fields import literal
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
