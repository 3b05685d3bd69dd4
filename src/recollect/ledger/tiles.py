"""The roots of all full subtrees of 256 leaves and more: what is kept of a long tree.

Responsible for these nodes, for adding to them and for their bytes. Leaves smaller subtrees to
callers that read the ledger, and where the bytes are kept to ``store``. Invariant: nothing here is
believed; a proof made from it is compared with a signed root.

For a million events it is 250 kB.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from recollect.ledger.tree import parent

LEVEL: Final = 8
WIDTH: Final = 1 << LEVEL  # leaves of one tile
_HASH_BYTES: Final = 32
_COUNT_BYTES: Final = 8


class Tiles:
    """The nodes over the first tiles of a tree, each level complete."""

    def __init__(self, levels: Iterable[bytes] = ()) -> None:
        self._levels = [bytearray(level) for level in levels]

    @property
    def count(self) -> int:
        """How many tiles there are."""
        return len(self._levels[0]) // _HASH_BYTES if self._levels else 0

    def node(self, level: int, index: int) -> bytes:
        """The root of a full subtree, at level 8 or above."""
        start = index * _HASH_BYTES
        return bytes(self._levels[level - LEVEL][start : start + _HASH_BYTES])

    def add(self, root: bytes) -> None:
        """Adds the root of the next tile, and of each larger subtree that it completes."""
        at = 0
        while True:
            if at == len(self._levels):
                self._levels.append(bytearray())
            level = self._levels[at]
            level += root
            if len(level) // _HASH_BYTES % 2:
                return
            root = parent(bytes(level[-64:-32]), root)
            at += 1

    def encode(self) -> bytes:
        """Their bytes: the number of tiles, then each level."""
        return b"".join((self.count.to_bytes(_COUNT_BYTES), *self._levels))


def decode(data: bytes) -> Tiles:
    """The tiles that these bytes are; none if they are something else."""
    count, place = int.from_bytes(data[:_COUNT_BYTES]), _COUNT_BYTES
    levels: list[bytes] = []
    while count and place < len(data):
        levels.append(data[place : place + count * _HASH_BYTES])
        place += count * _HASH_BYTES
        count >>= 1
    return Tiles(levels) if place == len(data) and not count else Tiles()


def tile_root(leaves: list[bytes]) -> bytes:
    """The root over the leaves of a full subtree."""
    while len(leaves) > 1:
        leaves = [
            parent(left, right) for left, right in zip(leaves[::2], leaves[1::2], strict=True)
        ]
    return leaves[0]
