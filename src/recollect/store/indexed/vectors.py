"""The vectors of one embedder, kept as packed blocks with the ledger.

Responsible for reading the blocks into this process, and for adding one. Leaves the search to
``store.nearest`` and keeping blocks to ``store.indexed.ledger``. Invariant: a text that an event
erased is in no block that is added after it, and in no answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from recollect.index.reads import Reads
from recollect.store.indexed.blocks import FLOAT, packed, unpacked
from recollect.store.indexed.ledger import Block
from recollect.store.nearest import Nearest, ScoredText

if TYPE_CHECKING:
    from recollect.store.indexed.follower import Follower
    from recollect.store.port import Accept, Matrix, Vector


class KeptVectors:
    """The vectors of one embedder for one space."""

    keeps = True

    def __init__(self, space: Follower, name: str, dimensions: int) -> None:
        self._space = space
        self._name = f"{name} {dimensions}"
        self._dimensions = dimensions
        self._seen = -1  # how often the blocks had changed when they were read
        self._through = 0
        self._texts: dict[int, Matrix] = {}
        self._nearest: Nearest | None = None

    def through(self) -> int:
        """The position up to which every text has its rows."""
        with self._space.inside():
            self._read()
            return self._through

    def add(self, after: int, through: int, texts: Sequence[tuple[int, Matrix]]) -> None:
        """Adds the rows of all texts after one position, up to another."""
        with self._space.inside() as index:
            self._read()
            if not after <= self._through < through:
                return
            gone = Reads(index.db).erased_between(self._through, through)
            new = {
                seq: np.array(rows, FLOAT)
                for seq, rows in texts
                if seq > self._through and seq not in gone
            }
            about = Block(self._name, self._through, through, b"")
            block = packed(self._space.place, about, new)
            # It may be refused: something was erased, or the master key is not here. The rows stay.
            self._seen += self._space.ledger.keep_block(self._space.epoch, block)
            self._texts.update(new)
            self._through, self._nearest = through, None

    def forget(self) -> None:
        """The next use reads the blocks again: some were removed."""
        self._seen, self._through, self._nearest = -1, 0, None
        self._texts = {}

    def expect(self, queries: Matrix) -> None:
        """Announces the next queries, so that all of them are scored in one pass."""
        self._all().expect(queries)

    def best(self, query: Vector, n: int, accept: Accept) -> list[ScoredText]:
        """The accepted texts that are nearest to a row, best first."""
        return self._all().best(query, n, accept)

    def scores(self, query: Vector, seqs: Iterable[int]) -> dict[int, float]:
        """The scores of those of these texts that have rows."""
        return self._all().scores(query, seqs)

    def _read(self) -> None:
        """Reads the blocks that were added since the last time.

        What is after a gap, or after a block that cannot be used, is made again.
        """
        if self._seen == self._space.blocks:
            return
        for block in self._space.ledger.blocks(self._name, self._through):
            if block.after > self._through:
                break
            texts = unpacked(self._space.place, block, self._dimensions)
            if texts is None:
                break
            self._texts.update(texts)
            self._through = max(self._through, block.through)  # two may have made the same
        self._seen, self._nearest = self._space.blocks, None

    def _all(self) -> Nearest:
        with self._space.inside():
            self._read()
            if self._nearest is None:
                texts = dict(sorted(self._texts.items()))
                counts = [len(rows) for rows in texts.values()]
                seqs = np.repeat(np.fromiter(texts, np.int64), counts)
                none = np.zeros((0, self._dimensions), np.float32)
                self._nearest = Nearest(seqs, np.vstack([none, *texts.values()]))
            return self._nearest
