"""Proofs that an event is in a ledger, under a signed checkpoint.

Responsible for finding the lines and the hashes that a proof needs. Leaves what is shown to whom to
``memory.proof.evidence`` and the tree to ``ledger``. Invariants: a proof is compared with the
signed root before it is returned; making one reads a few hundred lines, and once the events that
are new.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from typing import cast

import msgspec

from recollect.errors import IntegrityError
from recollect.ledger import tiles
from recollect.ledger.erasure import lines_of
from recollect.ledger.line import BadLine, claimed, parse
from recollect.ledger.tree import includes, inclusion, leaf
from recollect.proof.checkpoints import Checkpoint
from recollect.store.checkpoints.key_ring import KeyRing
from recollect.store.port import Space


class Shown(msgspec.Struct, frozen=True):
    """An event of a ledger: its exact line without the newline, and its way to the root."""

    line: bytes
    path: tuple[bytes, ...]


class Prover:
    """Makes proofs under one checkpoint."""

    def __init__(self, space: Space, ring: KeyRing, checkpoint: Checkpoint) -> None:
        self._space = space
        self._ring = ring
        self._size, self._root = checkpoint.size, checkpoint.root
        self._tiles = tiles.decode(ring.tree())
        self._leaves: dict[int, list[bytes]] = {}  # of the tiles that were read

    def shown(self, seq: int) -> Shown:
        """An event, which the checkpoint must cover."""
        line, index = line_of(self._space, seq), seq - 1
        node = leaf(bytes.fromhex(parse(line).hash))
        for _ in range(2):
            self._grow()
            path = tuple(inclusion(index, self._size, self._node))
            if includes(self._root, self._size, index, node, path):
                return Shown(line, path)
            self._tiles, self._leaves = tiles.Tiles(), {}  # what was kept may be at fault
        raise IntegrityError(
            f"the ledger is not the one that was signed in the checkpoint of {self._size:,}",
            hint="run `recollect admin verify` to see which event was changed",
        )

    def _grow(self) -> None:
        """Adds the tiles up to the checkpoint that are not kept yet, and keeps them."""
        before, wanted = self._tiles.count, self._size >> tiles.LEVEL
        if before >= wanted:
            return
        leaves: list[bytes] = []
        for found in _leaves(self._space, before << tiles.LEVEL, wanted << tiles.LEVEL):
            leaves.append(found)
            if len(leaves) == tiles.WIDTH:
                self._tiles.add(tiles.tile_root(leaves))
                leaves = []
        self._ring.keep_tree(self._tiles.encode())

    def _node(self, level: int, index: int) -> bytes:
        if level >= tiles.LEVEL:
            return self._tiles.node(level, index)
        start = index << level
        tile, place = divmod(start, tiles.WIDTH)
        return tiles.tile_root(self._tile(tile)[place : place + (1 << level)])

    def _tile(self, tile: int) -> list[bytes]:
        if tile not in self._leaves:
            start = tile << tiles.LEVEL
            end = min(start + tiles.WIDTH, self._size)
            self._leaves[tile] = list(_leaves(self._space, start, end))
        return self._leaves[tile]


def line_of(space: Space, seq: int) -> bytes:
    """The line of an event, without its newline."""
    line = space.line(seq)
    if line is None:
        raise BadLine(
            f"event {seq} is missing from the ledger",
            hint="run `recollect admin doctor` to find the damage",
        )
    return line


def _leaves(space: Space, start: int, end: int) -> Iterator[bytes]:
    """The leaves from one index to before another; what the lines claim, compared later."""
    at = start
    for raw in _lines(space, start):
        if at >= end:
            return
        claim = claimed(raw)
        if claim is None or claim.head.seq != at + 1:
            break
        yield leaf(_hash(claim.head.hash))
        at += 1
    if at < end:
        raise BadLine(
            f"event {at + 1} could not be read from the ledger",
            hint="run `recollect admin doctor` to find the damage",
        )


def _hash(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""  # no hash: the root will differ


def _lines(space: Space, after: int) -> Iterator[bytes]:
    with closing(cast("Generator[bytes, None, None]", space.pieces(after))) as pieces:
        yield from lines_of(pieces)
