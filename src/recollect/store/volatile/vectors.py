"""Vectors that live as long as this process.

Responsible for the rows of one embedder. Leaves the search to ``store.nearest``. Invariant: the
rows of an erased text are removed under the same lock as the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import numpy as np

from recollect.index.reads import Reads
from recollect.store.nearest import Nearest, ScoredText

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recollect.store.port import Accept, Matrix, Vector

    Numbers = NDArray[np.int64]


class MemoryVectors:
    """The vectors of one embedder, in this process."""

    keeps = True

    def __init__(
        self, dimensions: int, reads: Callable[[], Reads], turn: AbstractContextManager[object]
    ) -> None:
        self._reads = reads
        self._turn = turn  # that of the space, so that an erasure comes before or after
        self._through = 0
        self._texts: dict[int, Matrix] = {}
        self._dimensions = dimensions
        self._nearest: Nearest | None = None

    def through(self) -> int:
        """The position up to which every text has its rows."""
        return self._through

    def add(self, after: int, through: int, texts: Sequence[tuple[int, Matrix]]) -> None:
        """Adds the rows of all texts after one position, up to another."""
        with self._turn:
            if after <= self._through < through:
                gone = self._reads().erased_between(self._through, through)
                for seq, rows in texts:
                    if seq > self._through and seq not in gone:
                        self._texts[seq] = np.array(rows, np.float32)
                self._through = through
                self._nearest = None

    def drop(self, seqs: Iterable[int]) -> None:
        """Removes the rows of erased texts."""
        with self._turn:
            for seq in seqs:
                self._texts.pop(seq, None)
            self._nearest = None

    def expect(self, queries: Matrix) -> None:
        """Announces the next queries, so that all of them are scored in one pass."""
        self._all().expect(queries)

    def best(self, query: Vector, n: int, accept: Accept) -> list[ScoredText]:
        """The accepted texts that are nearest to a row, best first."""
        return self._all().best(query, n, accept)

    def scores(self, query: Vector, seqs: Iterable[int]) -> dict[int, float]:
        """The scores of those of these texts that have rows."""
        return self._all().scores(query, seqs)

    def _all(self) -> Nearest:
        with self._turn:
            if self._nearest is None:
                counts = [len(rows) for rows in self._texts.values()]
                seqs = np.repeat(np.fromiter(self._texts, np.int64), counts)
                none = np.zeros((0, self._dimensions), np.float32)
                self._nearest = Nearest(seqs, np.vstack([none, *self._texts.values()]))
            return self._nearest
