"""Reading a ledger's events many at a time.

Responsible for events, and for hashes, in batches of whole appends. Leaves judging the bytes after
the last whole append to the scanner. Invariant: the batches have the events that ``ledger.scan``
and ``ledger.codec.decode`` give, in the same order, and fail at the same event.
"""

from __future__ import annotations

from binascii import unhexlify
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from recollect.ledger.cipher import Ciphers
from recollect.ledger.codec import decode, decode_columns
from recollect.ledger.line import Line
from recollect.ledger.plain import Columns, columns
from recollect.ledger.scan import Scanner
from recollect.ledger.stretch import BLOCK_BYTES, Stretch, stretches
from recollect.model.events import Event, Head


class Batch(NamedTuple):
    """The events of one or more whole appends, and the lines they come from."""

    lines: Columns | tuple[Line, ...]
    head: Head  # after them
    decode: Callable[[], list[Event]]  # raises the error of the first that cannot be decoded

    def hash_of(self, seq: int) -> str:
        """The hash of one of these events."""
        place = seq - self.head.seq - 1  # counted from the end
        if isinstance(self.lines, Columns):
            return self.lines.hashes[place].decode()
        return self.lines[place].hash

    def erased_by(self) -> list[int]:
        """The events that the marks of erased bodies name."""
        if isinstance(self.lines, Columns):
            return []
        return [line.erased_by or 0 for line in self.lines if line.data is None]


def batches(
    scanner: Scanner,
    pieces: Iterable[bytes],
    through: int,
    size: int = BLOCK_BYTES,
    ciphers: Ciphers | None = None,
) -> Iterator[Batch]:
    """The whole appends up to a position; the scanner moves with them."""
    for stretch in stretches(pieces, size, scanner.head):
        batch = _usual(scanner, stretch, through, ciphers)
        if batch is not None:
            scanner.skip(batch.head, len(stretch.data))
            yield batch
            continue
        for append in scanner.feed(stretch.data):
            if append.head.seq > through:
                return
            yield Batch(append.lines, append.head, partial(_decoded, append.lines, ciphers))


def hashes(scanner: Scanner, pieces: Iterable[bytes], through: int) -> Iterator[bytes]:
    """The hashes of the events up to a position, joined for each batch; bodies stay undecoded."""
    for stretch in stretches(pieces, head=scanner.head):
        lines = _checked(scanner, stretch, through)
        if lines is not None:
            scanner.skip(lines.head, len(stretch.data))
            yield unhexlify(b"".join(lines.hashes))
            continue
        for append in scanner.feed(stretch.data):
            if append.head.seq > through:
                return
            yield b"".join([bytes.fromhex(line.hash) for line in append.lines])


def _usual(
    scanner: Scanner, stretch: Stretch, through: int, ciphers: Ciphers | None
) -> Batch | None:
    """All of a stretch, if its lines are usual, within bounds, and can be decoded."""
    lines = _checked(scanner, stretch, through)
    if lines is None:
        return None
    events = decode_columns(lines, ciphers)
    return None if events is None else Batch(lines, lines.head, lambda: events)


def _checked(scanner: Scanner, stretch: Stretch, through: int) -> Columns | None:
    """All lines of a stretch, if they are usual and within bounds."""
    lines = columns(stretch.data, scanner.head) if scanner.stands_at(stretch.head) else None
    return None if lines is None or lines.head.seq > through else lines


def _decoded(lines: tuple[Line, ...], ciphers: Ciphers | None) -> list[Event]:
    return [decode(line, ciphers) for line in lines]
