"""The filter expression: a small typed language over the fields of records and episodes.

Responsible for its types, its meaning and its canonical text (``docs/reference/filters.md``).
``fields`` and ``tree`` define its parts, ``checks`` refuses invalid ones, ``match`` evaluates it,
``expression`` writes it as text, ``parse`` reads that text, and ``sql`` narrows down the rows.
Invariant: a ``Filter`` that exists is well typed, within its limits and names known fields only.
"""

from recollect.index.filter.expression import Filter
from recollect.index.filter.fields import Column, Path, Units
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

__all__ = [
    "And",
    "Column",
    "Compare",
    "Contains",
    "Filter",
    "Missing",
    "Node",
    "Not",
    "OneOf",
    "Or",
    "Path",
    "StartsWith",
    "Units",
]
