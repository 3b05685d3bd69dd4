"""Cutting a ledger's bytes into stretches: whole appends that can be checked by themselves.

Responsible for where a stretch ends, and for the head that the next one claims to follow. Leaves
every check to ``ledger.plain`` and ``ledger.scan``. Invariants: the stretches, joined, are the
bytes; a head is only a claim, which the reader of the stretches compares with the head it reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from recollect.ledger.line import claimed
from recollect.model.events import GENESIS, VERSION, Head

# Enough lines that the cost of a block does not matter, and so few that an unusual line does not
# send many others to the strict parser with it.
BLOCK_BYTES: Final = 1 << 18
# A longer append is left to the strict parser, which takes it in pieces.
STRETCH_MAX_BYTES: Final = 1 << 24


class Stretch(NamedTuple):
    """Some bytes, and the head before them if they claim to follow a whole append."""

    data: bytes
    head: Head | None


def stretches(
    pieces: Iterable[bytes], size: int = BLOCK_BYTES, head: Head | None = GENESIS
) -> Iterator[Stretch]:
    """All bytes, in stretches of about this size; a longer append makes a longer one."""
    held = bytearray()
    for piece in pieces:
        held += piece
        while cut := _cut(held, size):
            yield (stretch := _taken(held, cut, head))
            head = _head_after(stretch.data)
    while held:
        yield (stretch := _taken(held, _end_within(held, len(held)) or len(held), head))
        head = _head_after(stretch.data)


def _taken(held: bytearray, cut: int, head: Head | None) -> Stretch:
    stretch = Stretch(bytes(held[:cut]), head)
    del held[:cut]
    return stretch


def _cut(held: bytearray, size: int) -> int:
    """Where the next stretch ends; 0 if more bytes are needed to say."""
    while size <= len(held):
        if cut := _end_within(held, size):
            return cut
        size *= 2
    return len(held) if len(held) > STRETCH_MAX_BYTES else 0


def _end_within(held: bytearray, size: int) -> int:
    """Where the last append that is whole within so many bytes ends; 0 if there is none."""
    end = held.rfind(b"\n", 0, size) + 1
    start = held.rfind(b"\n", 0, max(end - 1, 0)) + 1
    found = claimed(bytes(held[start:end]))
    if found is None or found.last == found.head.seq:
        return end  # whatever else a line is, the strict parser must see it
    first = b'{"v":%d,"seq":%d,"tx":[%d,' % (VERSION, found.first, found.first)
    return 0 if held.startswith(first) else held.rfind(b"\n" + first, 0, start) + 1


def _head_after(data: bytes) -> Head | None:
    """The head after these bytes, if their last line claims to end an append."""
    found = claimed(data[data.rfind(b"\n", 0, -1) + 1 :])
    return found.head if found is not None and found.last == found.head.seq else None
