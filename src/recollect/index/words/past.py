"""BM25 over the texts of a past position, with the scores that full text gave then.

Responsible for the score of each text, computed from the texts that were on a shelf. Leaves
finding those texts to SQL, the formula to ``index.bm25`` and everything after the score to
``recall``. Invariant: each text is read once, and of it only numbers are kept in memory.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from recollect.index.words.bm25 import Statistics, score, statistics
from recollect.index.words.text import tokens

Text = tuple[int, str, str | None]  # number, words, user


class _Counted(NamedTuple):
    """A text that has some of the terms."""

    doc: int
    length: int
    times: tuple[int, ...]  # of each term


def bm25(
    texts: Iterable[Text], terms: Sequence[str], limit: int, user: str | None = None
) -> list[tuple[int, float]]:
    """Texts that contain any of the terms, best first, each with its score.

    With a user only that user's texts; the statistics cover all texts.
    """
    of_all, counted = _counted(texts, terms, user)
    scored = ((each.doc, score(each.length, each.times, of_all)) for each in counted)
    found = (doc for doc in scored if doc[1] > 0.0)
    return heapq.nsmallest(limit, found, key=lambda doc: (-doc[1], -doc[0]))


def statistics_of(texts: Iterable[Text], terms: Sequence[str]) -> Statistics:
    """The statistics, from one pass over all texts."""
    return _counted(texts, terms, None)[0]


def _counted(
    texts: Iterable[Text], terms: Sequence[str], user: str | None
) -> tuple[Statistics, list[_Counted]]:
    """The statistics of all texts, and the counts of those of a user that have a term."""
    count = length = 0
    holding = [0] * len(terms)
    found: list[_Counted] = []
    for doc, text, owner in texts:
        words = tokens(text).split()
        count += 1
        length += len(words)
        known = set(words)
        times = tuple([words.count(term) if term in known else 0 for term in terms])
        if any(times):
            holding = [held + bool(here) for held, here in zip(holding, times, strict=True)]
            if user is None or owner == user:
                found.append(_Counted(doc, len(words), times))
    return statistics(count, length, holding), found
