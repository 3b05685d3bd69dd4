"""The promotion of triples under its name in S2.

Responsible for that name. Leaves the work to ``triples``. Invariant: it is the same function.
"""

from __future__ import annotations

from recollect.contracts.episodic.triples import PromoteTriplesToFacts

__all__ = ["PromoteTriplesToFacts"]
