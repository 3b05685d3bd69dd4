"""Exact vector search, each text scored by its best piece.

Responsible for scores, their order and for searching further until enough texts are accepted.
Leaves storing the rows to the engines. Invariants: every row is compared; memory grows only by one
score for each row and expected query; a score does not depend on where its row is stored, because
the fast first pass, in single precision and in any order, only proposes candidates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recollect.store.port import Accept, Matrix, Vector

    Numbers = NDArray[np.int64]
    Scores = NDArray[np.float64]

ScoredText = tuple[int, float]

_BLOCK_TEXTS: Final = 1_024  # texts whose rows are converted to double precision at a time
_ERROR: Final = 1e-5  # more than the error of single precision for two unit vectors
_SPARE: Final = 8  # texts beyond n, where each costs the caller a row
_WIDER: Final = 4


class Nearest:
    """The current rows, ordered by the number of their text."""

    def __init__(self, seqs: Numbers, rows: Matrix) -> None:
        self._rows = rows
        self._starts: Numbers = np.flatnonzero(np.diff(seqs, prepend=-1)).astype(np.int64)
        self._texts = seqs[self._starts]
        self._ends: Numbers = np.append(self._starts[1:], len(seqs))
        self._expected: dict[bytes, Vector] = {}

    def expect(self, queries: Matrix) -> None:
        """Scores several queries in one pass; each result is removed when it is used."""
        scores = queries @ self._rows.T
        self._expected = {query.tobytes(): row for query, row in zip(queries, scores, strict=True)}

    def best(self, query: Vector, n: int, accept: Accept) -> list[ScoredText]:
        """The accepted texts that are nearest to a row, best first."""
        check_row(query, self._rows.shape[1])
        found: list[ScoredText] = []
        for some in self._in_order(query, n):
            accepted = accept([seq for seq, _ in some])
            found += [each for each in some if each[0] in accepted]
            if len(found) >= n:
                break
        return found[:n]

    def scores(self, query: Vector, seqs: Iterable[int]) -> dict[int, float]:
        """The scores of those of these texts that have rows."""
        check_row(query, self._rows.shape[1])
        wanted = np.unique(np.fromiter(seqs, np.int64))
        places = np.searchsorted(self._texts, wanted)
        there = places < len(self._texts)
        places = places[there][self._texts[places[there]] == wanted[there]]
        scores = self._exact(query, places).tolist()
        return dict(zip(self._texts[places].tolist(), scores, strict=True))

    def _in_order(self, query: Vector, n: int) -> Iterator[list[ScoredText]]:
        """All texts, best first, in growing lists.

        By its rough score, every text that a list leaves out is below the last one in it.
        """
        total = len(self._texts)
        if not total:
            return
        rough = self._rough(query)
        if total < len(rough):
            rough = np.maximum.reduceat(rough, self._starts)
        held: list[ScoredText] = []
        seen = np.zeros(total, bool)
        look = n + _SPARE
        while look < total:
            floor = float(np.partition(rough, total - look)[total - look])
            held += self._scored(query, np.flatnonzero(~seen & (rough >= floor - 2 * _ERROR)))
            seen |= rough >= floor - 2 * _ERROR
            held.sort(key=_order)
            sure = sum(score >= floor - _ERROR for _, score in held)
            yield held[:sure]
            held = held[sure:]
            look *= _WIDER
        held += self._scored(query, np.flatnonzero(~seen))
        yield sorted(held, key=_order)

    def _scored(self, query: Vector, places: Numbers) -> list[ScoredText]:
        scores = self._exact(query, places).tolist()
        return list(zip(self._texts[places].tolist(), scores, strict=True))

    def _rough(self, query: Vector) -> Vector:
        """A fast, approximate score for each row."""
        expected = self._expected.pop(query.tobytes(), None)
        if expected is not None:
            return expected
        scores: Vector = self._rows @ query
        return scores

    def _exact(self, query: Vector, places: Numbers) -> Scores:
        """The best score of each of these texts, in double precision, rounded to single."""
        scores: Scores = np.zeros(len(places), np.float64)
        wide = query.astype(np.float64)
        for first in range(0, len(places), _BLOCK_TEXTS):
            some = places[first : first + _BLOCK_TEXTS]
            counts = self._ends[some] - self._starts[some]
            begin = np.cumsum(counts) - counts
            rows = np.arange(counts.sum()) + np.repeat(self._starts[some] - begin, counts)
            products = self._rows[rows].astype(np.float64) @ wide
            scores[first : first + len(some)] = np.maximum.reduceat(products, begin)
        return scores.astype(np.float32).astype(np.float64)


def check_row(row: Vector, dimensions: int) -> None:
    """Refuses a vector with the wrong dimensions."""
    if row.shape != (dimensions,):
        raise InvalidInput(f"a row of {row.shape} numbers cannot be compared with {dimensions}")


def _order(found: ScoredText) -> tuple[float, int]:
    return -found[1], -found[0]
