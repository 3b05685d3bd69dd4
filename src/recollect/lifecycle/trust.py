"""The tiers of trust, compared.

Responsible for their order. Leaves what trust something has to ``lifecycle.lineage``. Invariant:
nothing here raises trust.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from recollect.model.events import TRUST_RANK, Trust


def at_least(trust: str, other: str) -> bool:
    """True if the first tier is not below the second."""
    return TRUST_RANK[trust] >= TRUST_RANK[other]


def lowest(tiers: Iterable[str]) -> Trust:
    """The lowest of these tiers."""
    return cast(Trust, min(tiers, key=TRUST_RANK.__getitem__))
