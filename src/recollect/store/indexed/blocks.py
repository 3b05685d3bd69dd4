"""Blocks of vectors as bytes: the rows of many texts, packed.

Responsible for that form. Leaves keeping blocks to ``store.indexed.ledger`` and their use to
``store.indexed.vectors``. Invariant: packing what was unpacked gives the same rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Final

import msgspec

from recollect.store.indexed.ledger import Block

if TYPE_CHECKING:  # numpy is loaded only if there are vectors
    from recollect.store.port import Matrix

FLOAT: Final = "<f4"


class _Rows(msgspec.Struct, array_like=True):
    """What a block holds: texts, how many rows each has, and the rows."""

    seqs: list[int]
    counts: list[int]
    rows: bytes

    def each(self) -> dict[int, bytes]:
        """The rows of each text."""
        width = len(self.rows) // max(sum(self.counts), 1)
        ends = [count * width for count in accumulate(self.counts)]
        starts = [0, *ends]
        return {
            seq: self.rows[start:end]
            for seq, start, end in zip(self.seqs, starts, ends, strict=False)
        }


def packed(texts: Mapping[int, Matrix]) -> bytes:
    """The rows of these texts."""
    rows = b"".join(one.astype(FLOAT).tobytes() for one in texts.values())
    counts = [len(one) for one in texts.values()]
    return msgspec.msgpack.encode(_Rows([*texts], counts, rows))


def unpacked(data: bytes, dimensions: int) -> dict[int, Matrix]:
    """The texts of a block, each with its rows."""
    import numpy as np

    found = msgspec.msgpack.decode(data, type=_Rows).each()
    return {
        seq: np.frombuffer(rows, FLOAT).astype(np.float32).reshape(-1, dimensions)
        for seq, rows in found.items()
    }


def without(block: Block, targets: Collection[int]) -> Block:
    """The same block without some texts."""
    held, gone = msgspec.msgpack.decode(block.rows, type=_Rows), {*targets}
    counts = dict(zip(held.seqs, held.counts, strict=True))
    left = {seq: rows for seq, rows in held.each().items() if seq not in gone}
    rows = _Rows([*left], [counts[seq] for seq in left], b"".join(left.values()))
    return block._replace(rows=msgspec.msgpack.encode(rows))
