"""Finding one event in a ledger's bytes without reading all of them.

Responsible for the search by halves over lines, which stand in the order of their numbers. Leaves
reading to its caller. Invariant: an offset is returned only if the line of that event begins there;
in bytes that are not in order, none may be found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from recollect.ledger.line import seq_of

Read = Callable[[int, int], bytes]  # at an offset, at most so many bytes

FRONT_MAX_BYTES: Final = 1024  # longer than the part of a header that has its number
_STEP_BYTES: Final = 1 << 14


def offset_of(seq: int, size: int, read: Read) -> int | None:
    """Where the line of an event begins in so many bytes of a ledger; None if it is not found."""
    low, high = 0, size  # a line that begins in [low, high) may be the one
    while low < high:
        middle = (low + high) // 2
        start = _line_from(middle, high, read)
        found = seq_of(read(start, FRONT_MAX_BYTES)) if start < high else seq + 1
        if found == seq:
            return start
        if found is None:
            return None  # damaged: a search by halves cannot tell which half
        low, high = (start + 1, high) if found < seq else (low, middle)
    return None


def _line_from(offset: int, high: int, read: Read) -> int:
    """The first beginning of a line at an offset or after it; ``high`` if there is none before."""
    at = offset - 1  # a line begins after a newline
    while 0 <= at < high:
        piece = read(at, _STEP_BYTES)
        newline = piece.find(b"\n")
        if newline >= 0:
            return min(at + newline + 1, high)
        at += len(piece) or high
    return min(max(at, 0), high)
