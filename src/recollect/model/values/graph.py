"""The value of a graph: records and the links between them.

Responsible for its shape. Leaves which records and links it shows to ``finding.graph``. Invariant:
nothing in it belongs to another user, or is hidden from the read that gave it.
"""

from __future__ import annotations

from recollect.model.values.records import Link, Record, Value


class Graph(Value, frozen=True, kw_only=True):
    """Records and links between them; ``more`` is true if a limit left something out.

    ``neighbours`` lists the nearest records first, ``path`` the records in the order of the path,
    each link after the one before it, and ``graph`` the records that changed last first.
    """

    records: tuple[Record, ...] = ()
    links: tuple[Link, ...] = ()
    more: bool = False
