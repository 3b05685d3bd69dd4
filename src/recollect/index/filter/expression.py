"""The whole expression.

Responsible for its size. Leaves its parts to ``index.filter.tree``. Invariant: a ``Filter`` that
exists is well typed, within its limits and names known fields only.
"""

from __future__ import annotations

import msgspec

from recollect.errors import LimitExceeded
from recollect.index.filter.checks import too_deep, too_long
from recollect.index.filter.match import View, holds
from recollect.index.filter.show import shown
from recollect.index.filter.tree import And, Node, Not, Or
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
