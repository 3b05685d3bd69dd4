"""The one rule of scoring that S4 names: how uses become a signal.

Responsible for its name. Leaves the sum to ``recall.presets``, which ranks with it. Invariant: no
use is 0.0, the most used is 1.0.
"""

from __future__ import annotations

from recollect.recall.presets import log_normalise


def log_normalise_reinforcement(count: int, max_count: int) -> float:
    """A count of uses as a signal from 0 to 1, next to the highest one."""
    return log_normalise(count, max_count)
