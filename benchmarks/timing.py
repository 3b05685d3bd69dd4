"""Two ways of doing the same work, taken in turns.

Responsible for figures that survive a noisy machine: many short rounds, both sides in each, the
order changing from round to round; a ratio for each round, then the median. Invariant: what
disturbs the machine for longer than a round disturbs both sides alike.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from statistics import median, quantiles
from time import perf_counter

import msgspec

Work = Callable[[int], object]  # is given the number of the round


class Paired(msgspec.Struct, frozen=True, kw_only=True):
    """What the rounds took, in seconds, and how many operations are in each."""

    bare_s: tuple[float, ...]
    ours_s: tuple[float, ...]
    operations: int

    @property
    def speed(self) -> float:
        """The bare engine's time in ours: 1.0 is as fast as bare, higher is better."""
        return median(self._ratios())

    @property
    def cost(self) -> float:
        """Our time in the bare engine's: 1.0 is as fast as bare, lower is better."""
        return median(1 / ratio for ratio in self._ratios())

    @property
    def quartiles(self) -> tuple[float, float]:
        """Half of all rounds had a ``speed`` between these two."""
        ratios = self._ratios()
        if len(ratios) < 2:
            return ratios[0], ratios[0]
        low, _, high = quantiles(ratios, n=4, method="inclusive")
        return low, high

    @property
    def medians_us(self) -> dict[str, float]:
        """Microseconds for one operation."""
        return {
            "bare": median(self.bare_s) / self.operations * 1e6,
            "ours": median(self.ours_s) / self.operations * 1e6,
        }

    def _ratios(self) -> list[float]:
        return [bare / ours for bare, ours in zip(self.bare_s, self.ours_s, strict=True)]


def in_turns(
    *,
    bare: Work,
    ours: Work,
    rounds: int,
    operations: int,
    advance: Callable[[], None] | None = None,
) -> Paired:
    """Runs both sides ``rounds`` times, and once before that without being timed."""
    bare_s: list[float] = []
    ours_s: list[float] = []
    for number in range(rounds + 1):
        sides = [(bare, bare_s), (ours, ours_s)]
        for work, times in sides if number % 2 else reversed(sides):
            gc.collect()
            started = perf_counter()
            work(number)
            times.append(perf_counter() - started)
        if advance is not None:
            advance()
    return Paired(bare_s=tuple(bare_s[1:]), ours_s=tuple(ours_s[1:]), operations=operations)


def slices(items: Sequence[str], size: int) -> list[Sequence[str]]:
    """Consecutive pieces of equal length."""
    return [items[start : start + size] for start in range(0, len(items), size)]
