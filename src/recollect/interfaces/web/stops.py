"""The positions at which a memory stood still: after each command.

Responsible for the stop before and after a position, for the time bar. Leaves reading to
``memory``. Invariant: a stop is a position that ``memory.at`` gives back unchanged.
"""

from __future__ import annotations

from recollect.memory import Memory


def before(memory: Memory, position: int) -> int | None:
    """The last stop before a position; None at the beginning."""
    return memory.at(position - 1).position if position > 0 else None


def after(memory: Memory, position: int, head: int) -> int | None:
    """The first stop after a position; None at the end."""
    if position >= head:
        return None
    step, high = 1, head
    while position + step < head:  # in doubling steps until a stop lies between
        reached = memory.at(position + step).position
        if reached > position:
            high = reached
            break
        step *= 2
    low = position + step // 2  # not yet at a stop
    while low + 1 < high:
        middle = (low + high) // 2
        reached = memory.at(middle).position
        low, high = (middle, high) if reached <= position else (low, reached)
    return high
