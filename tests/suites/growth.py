"""How the time of a call grows with its input.

Processor time of this process, so that what else runs on the machine counts little; the best of
five, so that a pause counts for nothing, or of two if these are clear already. Twice the input may
take 2.6 times as long: twice for the work itself, and some room for caches. Quadratic work takes
four times as long. Of a call that is flat, eight times the input may take no longer than that: work
that follows the input takes eight times as long.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator

GROWTH_MAX_RATIO = 2.6
CLEAR_RATIO = 2.2  # quadratic work is seen like this only if both short runs took twice their time
BEST_OF = 5
TWICE, FLAT = 2, 8  # how much larger the second input is
_ROUNDS = 3

Call = Callable[[], object]


def growth(
    prepare: Callable[[int], Call], size: int, *, most: int | None = None, times: int = TWICE
) -> float:
    """How many times as long the call takes with twice the input, or with so many times as much.

    ``prepare`` makes the input of a size and returns the call to be timed; each run asks for it
    again, so that no run finds what an earlier one kept. A ratio that is too high is measured
    again with larger inputs, up to the most that the call takes: noise goes, quadratic work stays.
    """
    ratio = 0.0
    for ratio in _ratios(prepare, size, most, times):
        if ratio < GROWTH_MAX_RATIO:
            break
    return ratio


def noticed(
    prepare: Callable[[int], Call], size: int, *, most: int | None = None, times: int = TWICE
) -> bool:
    """Whether a call that does more than its input asks for exceeds the limit: for controls.

    Noise works against a control in the other direction, so one measurement of three is enough.
    """
    return any(ratio > GROWTH_MAX_RATIO for ratio in _ratios(prepare, size, most, times))


def _ratios(
    prepare: Callable[[int], Call], size: int, most: int | None, times: int
) -> Iterator[float]:
    for round in range(_ROUNDS):
        larger = size << round
        yield _ratio(prepare, larger if most is None else min(larger, most // times), times)


def _ratio(prepare: Callable[[int], Call], size: int, times: int) -> float:
    once: list[float] = []
    twice: list[float] = []
    for count in range(1, BEST_OF + 1):
        once.append(spent(prepare(size)))
        twice.append(spent(prepare(times * size)))
        if count > 1 and min(twice) < CLEAR_RATIO * min(once):
            break
    return min(twice) / min(once)


def spent(call: Call) -> float:
    """Processor seconds that a call takes."""
    gc.disable()
    try:
        before = time.process_time()
        call()
        return time.process_time() - before
    finally:
        gc.enable()
