"""What is kept of a long tree."""

from __future__ import annotations

import pytest

from recollect.ledger.tiles import LEVEL, WIDTH, Tiles, decode, tile_root
from recollect.ledger.tree import Frontier, includes, inclusion, leaf, root_of

LEAVES = [leaf(number.to_bytes(32)) for number in range(5_000)]


def tiles_over(count: int) -> Tiles:
    made = Tiles()
    for tile in range(count // WIDTH):
        made.add(tile_root(LEAVES[tile * WIDTH : (tile + 1) * WIDTH]))
    return made


@pytest.mark.parametrize("size", [1, 255, 256, 257, 511, 512, 1_024, 4_999, 5_000])
def test_proofs_are_those_of_the_whole_tree(size: int) -> None:
    kept = decode(tiles_over(size).encode())
    assert kept.count == size // WIDTH

    def node(level: int, index: int) -> bytes:
        if level >= LEVEL:
            return kept.node(level, index)
        return tile_root(LEAVES[index << level : (index + 1) << level])

    root = Frontier().plus(LEAVES[:size]).root
    assert root_of(size, node) == root
    for index in {0, size // 2, size - 1, min(300, size - 1)}:
        assert includes(root, size, index, LEAVES[index], inclusion(index, size, node))


def test_bytes_that_are_something_else_are_no_tiles() -> None:
    good = tiles_over(5_000).encode()
    assert decode(good).count == 19
    for bad in (b"", b"x", good[:-1], good + b"x", good[:-32], good + bytes(32), bytes(8)):
        assert decode(bad).count == 0
    assert decode((2**63).to_bytes(8) + good[8:]).count == 0
