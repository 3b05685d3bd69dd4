"""Two ways of doing the same work, taken in turns.

Responsible for figures that survive a noisy machine: many short rounds, both sides in each, the
order changing from round to round; a ratio for each round, then the median. Invariant: what
disturbs the machine for longer than a round disturbs both sides alike. Work that waits for nothing
is timed by the processor time it took, which other processes hardly change.
"""

from __future__ import annotations

import gc
import resource
from collections.abc import Callable, Sequence
from statistics import fmean, median, quantiles
from time import perf_counter, process_time, thread_time
from typing import Final, NamedTuple, TypeVar

import msgspec

T = TypeVar("T")
Work = Callable[[int], object]  # is given the number of the round


class Clock(NamedTuple):
    """What counts as time, by the word that the page uses for it."""

    name: str
    read: Callable[[], float]


def _worked_s() -> float:
    """Processor seconds of all threads, and of child processes that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


# What a caller waits for: the disk, other processes, a server.
WALL: Final = Clock("wall", perf_counter)
# For work that one thread does alone.
THREAD: Final = Clock("thread", thread_time)
# For work that may be split among threads or processes.
PROCESS: Final = Clock("process", _worked_s)


class Paired(msgspec.Struct, frozen=True, kw_only=True):
    """What the rounds took, in seconds, and how many operations are in each."""

    bare_s: tuple[float, ...]
    ours_s: tuple[float, ...]
    operations: int
    clock: str = WALL.name

    @property
    def speed(self) -> float:
        """The bare engine's time in ours: 1.0 is as fast as bare, higher is better."""
        return median(self._ratios())

    @property
    def cost(self) -> float:
        """Our time in the bare engine's: 1.0 is as fast as bare, lower is better."""
        return median(1 / ratio for ratio in self._ratios())

    @property
    def mean_speed(self) -> float:
        """The same from all rounds together, so that rare long waits count."""
        return fmean(self.bare_s) / fmean(self.ours_s)

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

    @property
    def means_us(self) -> dict[str, float]:
        """Microseconds for one operation, the average of all."""
        return {
            "bare": fmean(self.bare_s) / self.operations * 1e6,
            "ours": fmean(self.ours_s) / self.operations * 1e6,
        }

    def _ratios(self) -> list[float]:
        return [bare / ours for bare, ours in zip(self.bare_s, self.ours_s, strict=True)]


def in_turns(
    *,
    bare: Work,
    ours: Work,
    rounds: int,
    operations: int,
    clock: Clock = WALL,
    before: Work | None = None,
    advance: Callable[[], None] | None = None,
) -> Paired:
    """Runs both sides ``rounds`` times, and once before that without being timed.

    ``before`` runs ahead of each side's turn and is not timed.
    """
    bare_s: list[float] = []
    ours_s: list[float] = []
    for number in range(rounds + 1):
        sides = [(bare, bare_s), (ours, ours_s)]
        for work, times in sides if number % 2 else reversed(sides):
            gc.collect()
            if before is not None:
                before(number)
            started = clock.read()
            work(number)
            times.append(clock.read() - started)
        if advance is not None:
            advance()
    return Paired(
        bare_s=tuple(bare_s[1:]),
        ours_s=tuple(ours_s[1:]),
        operations=operations,
        clock=clock.name,
    )


def slices(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """Consecutive pieces of equal length."""
    return [items[start : start + size] for start in range(0, len(items), size)]
