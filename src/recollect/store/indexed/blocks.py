"""Blocks of vectors as bytes: the rows of many texts, packed.

Responsible for that form, and for a mark by which a block is known. Leaves keeping blocks to
``store.indexed.ledger`` and their use to ``store.indexed.vectors``. Invariants: packing what was
unpacked gives the same rows; bytes that were changed, or were packed for another ledger, embedder
or position, are refused.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Final

import msgspec

from recollect.store.indexed.ledger import Block

if TYPE_CHECKING:  # numpy is loaded only if there are vectors
    from recollect.store.port import Matrix

FLOAT: Final = "<f4"


class _Rows(msgspec.Struct, array_like=True):
    """What a block holds: texts, how many rows each has, the rows, and a mark over all of it."""

    seqs: list[int]
    counts: list[int]
    rows: bytes
    mark: int = 0

    def each(self) -> dict[int, bytes]:
        """The rows of each text."""
        width = len(self.rows) // max(sum(self.counts), 1)
        ends = [count * width for count in accumulate(self.counts)]
        starts = [0, *ends]
        return {
            seq: self.rows[start:end]
            for seq, start, end in zip(self.seqs, starts, ends, strict=False)
        }


def packed(place: int, about: Block, texts: Mapping[int, Matrix]) -> Block:
    """A block of these texts, for a ledger."""
    rows = b"".join(one.astype(FLOAT).tobytes() for one in texts.values())
    counts = [len(one) for one in texts.values()]
    return _marked(place, about, _Rows([*texts], counts, rows))


def unpacked(place: int, block: Block, dimensions: int) -> dict[int, Matrix] | None:
    """The texts of a block, each with its rows; None if it is not one of this ledger."""
    import numpy as np

    held = _opened(place, block)
    if held is None:
        return None
    return {
        seq: np.frombuffer(rows, FLOAT).astype(np.float32).reshape(-1, dimensions)
        for seq, rows in held.each().items()
    }


def without(place: int, block: Block, targets: Collection[int]) -> Block | None:
    """The same block without some texts; None if it is not one of this ledger."""
    held, gone = _opened(place, block), {*targets}
    if held is None:
        return None
    counts = dict(zip(held.seqs, held.counts, strict=True))
    left = {seq: rows for seq, rows in held.each().items() if seq not in gone}
    rows = _Rows([*left], [counts[seq] for seq in left], b"".join(left.values()))
    return _marked(place, block, rows)


def _marked(place: int, about: Block, held: _Rows) -> Block:
    held.mark = _mark(place, about, held)
    return about._replace(rows=msgspec.msgpack.encode(held))


def _opened(place: int, block: Block) -> _Rows | None:
    try:
        held = msgspec.msgpack.decode(block.rows, type=_Rows)
    except msgspec.MsgspecError:
        return None
    return held if held.mark == _mark(place, block, held) else None


def _mark(place: int, about: Block, held: _Rows) -> int:
    front = [place, about.embedder, about.after, about.through, held.seqs, held.counts]
    return zlib.crc32(held.rows, zlib.crc32(msgspec.msgpack.encode(front)))
