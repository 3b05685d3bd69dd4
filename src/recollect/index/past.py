"""BM25 over the texts of a past position, with the scores that full text gave then.

Responsible for the score of each text, computed from the texts that were on a shelf. Leaves
finding those texts to SQL, the formula to ``index.bm25`` and everything after the score to
``recall``. Invariant: only the answer is kept in memory, because the texts are read twice instead
of being stored.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence

from recollect.index.bm25 import Statistics, score, statistics
from recollect.index.text import tokens

Text = tuple[int, str, str | None]  # number, words, user
Texts = Callable[[], Iterable[Text]]


def bm25(
    texts: Texts, terms: Sequence[str], limit: int, user: str | None = None
) -> list[tuple[int, float]]:
    """Texts that contain any of the terms, best first, each with its score.

    With a user only that user's texts; the statistics cover all texts.
    """
    found = _scored(texts(), terms, statistics_of(texts(), terms), user)
    return heapq.nsmallest(limit, found, key=lambda doc: (-doc[1], -doc[0]))


def statistics_of(texts: Iterable[Text], terms: Sequence[str]) -> Statistics:
    """The statistics, from one pass over all texts."""
    count = length = 0
    holding = [0] * len(terms)
    for _, text, _ in texts:
        words = tokens(text).split()
        count += 1
        length += len(words)
        known = set(words)
        for place, term in enumerate(terms):
            holding[place] += term in known
    return statistics(count, length, holding)


def _scored(
    texts: Iterable[Text], terms: Sequence[str], of_all: Statistics, user: str | None
) -> Iterator[tuple[int, float]]:
    for doc, text, owner in texts:
        if user is None or owner == user:
            found = score(tokens(text).split(), terms, of_all)
            if found > 0.0:
                yield doc, found
