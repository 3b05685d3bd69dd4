"""BM25 over the texts of a past position, exactly as full text scored them then.

Responsible for the score of each text, from nothing but the texts that stood on a shelf. Leaves
which those were to SQL and everything after the score to ``recall``. Invariants: the formula is
FTS5's, operation by operation, so that a score is the same to the last bit; memory holds no more
than the answer, because the texts are walked twice in place of being kept.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import msgspec

from recollect.index.text import tokens

Text = tuple[int, str, str | None]  # number, words, user
Texts = Callable[[], Iterable[Text]]

_K1: Final = 1.2
_B: Final = 0.75
_LEAST: Final = 1e-6  # of a term that more than half of the texts hold


class Statistics(msgspec.Struct, frozen=True):
    """What the score of one text needs to know of all."""

    weights: tuple[float, ...]  # of each term
    average: float  # length of a text


def bm25(
    texts: Texts, terms: Sequence[str], limit: int, user: str | None = None
) -> list[tuple[int, float]]:
    """Texts that hold any of the terms, best first, each with its score.

    With a user only theirs; the statistics are everybody's.
    """
    statistics = statistics_of(texts(), terms)
    found = _scored(texts(), terms, statistics, user)
    return heapq.nsmallest(limit, found, key=lambda doc: (-doc[1], -doc[0]))


def statistics_of(texts: Iterable[Text], terms: Sequence[str]) -> Statistics:
    """One walk over all texts."""
    count = length = 0
    holding = [0] * len(terms)
    for _, text, _ in texts:
        words = tokens(text).split()
        count += 1
        length += len(words)
        known = set(words)
        for place, term in enumerate(terms):
            holding[place] += term in known
    weights = tuple(_weight(count, held) for held in holding)
    return Statistics(weights, length / count if count else 0.0)


def score(words: Sequence[str], terms: Sequence[str], statistics: Statistics) -> float:
    """How well a text answers; 0 if it holds none of the terms."""
    total = 0.0
    norm = _K1 * (1 - _B + _B * len(words) / statistics.average) if words else 0.0
    for term, weight in zip(terms, statistics.weights, strict=True):
        times = float(words.count(term))
        if times:
            total += weight * ((times * (_K1 + 1.0)) / (times + norm))
    return total


def _scored(
    texts: Iterable[Text], terms: Sequence[str], statistics: Statistics, user: str | None
) -> Iterator[tuple[int, float]]:
    for doc, text, owner in texts:
        if user is None or owner == user:
            found = score(tokens(text).split(), terms, statistics)
            if found > 0.0:
                yield doc, found


def _weight(count: int, holding: int) -> float:
    """What a term is worth that so many of the texts hold."""
    found = math.log((count - holding + 0.5) / (holding + 0.5))
    return found if found > 0.0 else _LEAST
