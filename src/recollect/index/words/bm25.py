"""BM25, computed exactly as FTS5 does.

Responsible for the weight of a term and its frequency in a text. Leaves counting texts to full
text, and reading the texts of a past position to ``index.words.past``. Invariant: the same counts
give the same score to the last bit on every engine.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, cast

import msgspec

from recollect.index import caches
from recollect.index.rows import Row
from recollect.index.words.text import parts, split, token_list

_K1: Final = 1.2
_B: Final = 0.75
_LEAST: Final = 1e-6  # weight of a term that more than half of the texts contain
_MANY: Final = 1_000  # texts from which on common words are not searched for
_MANY_TERMS: Final = 32
_FEW: Final = 20  # with fewer texts, how many contain a term says little


Parts = tuple[float, ...]  # of each term in a text


class Statistics(msgspec.Struct, frozen=True):
    """Counts over all texts that the score of one text needs."""

    weights: tuple[float, ...]  # of each term
    average: float  # length of a text
    worth: tuple[float, ...] = ()  # of each term beside the others of a query; empty: as weights
    count: int = 0  # of texts

    def telling(self, terms: Sequence[str]) -> tuple[str, ...]:
        """Those of the first terms that are worth searching for.

        In a large memory a word that half of the texts contain chooses none of them and finds all
        of them. It still counts in the texts that other words find; if there is no other word, it
        is searched for.
        """
        if self.count < _MANY:
            return tuple(terms)
        pairs = zip(terms, self.weights, strict=False)
        return tuple(term for term, weight in pairs if weight > _LEAST) or tuple(terms)


def statistics(count: int, length: int, holding: Sequence[int]) -> Statistics:
    """The statistics, from the number of texts, their total length and the texts of each term."""
    weights = tuple(_weight(count, held) for held in holding)
    worth = tuple(_worth(count, held) for held in holding) if count < _FEW else ()
    return Statistics(weights, length / count if count else 0.0, worth, count)


def tokens_of(text: str) -> tuple[str, ...]:
    """The tokens of a text; cached, because recalls look at the same texts repeatedly."""
    if len(text) <= caches.SHORT_MAX_CHARS:
        return _of_short(text)
    return _of_long(text) if len(text) <= caches.LONG_MAX_CHARS else _tokens_of(text)


def parts_of(
    texts: Iterable[tuple[str, str | None]], terms: Sequence[str], average: float
) -> list[Parts]:
    """The share of each term in each of these texts, from 0 to 1.

    It grows with the count of the term, less in a long text. A text comes with its tokens if they
    are known, in one string. A recall looks at hundreds of texts, so tokens are counted in such a
    string, in which each has a blank on both sides: that is faster than in a list for few terms.
    """
    none, found = (0.0,) * len(terms), list[Parts]()
    marks = [f" {term} " for term in terms]
    for text, known in texts:
        tokens = " ".join(tokens_of(text)) if known is None else known
        spread = f" {tokens.replace(' ', '  ')} "
        if len(terms) < _MANY_TERMS:
            counts = [spread.count(mark) for mark in marks]
        else:  # one look for each term takes longer, and no other thread works meanwhile
            here = Counter[str]()
            for part in parts(split(tokens)):
                here.update(part)
            counts = [here.get(term, 0) for term in terms]
        if any(counts):
            norm = _norm(spread.count("  ") + 1, average)
            found.append(tuple([count / (count + norm) if count else 0.0 for count in counts]))
        else:
            found.append(none)
    return found


def score(length: int, times: Sequence[int], found: Statistics) -> float:
    """The score of a text of so many tokens, of how often it has each term; 0 if it has none."""
    total = 0.0
    norm = _norm(length, found.average) if length else 0.0
    for count, weight in zip(times, found.weights, strict=True):
        if count:
            total += weight * ((count * (_K1 + 1.0)) / (count + norm))
    return total


def _norm(length: int, average: float) -> float:
    return _K1 * (1 - _B + _B * length / average) if average else _K1


def _weight(count: int, holding: int) -> float:
    """The weight of a term that this many texts contain."""
    # Counts of a damaged index may be inconsistent; that must not stop a recall.
    found = math.log((max(count - holding, 0) + 0.5) / (holding + 0.5))
    return found if found > 0.0 else _LEAST


def _worth(count: int, holding: int) -> float:
    """What a term says in a small memory, where half of the texts may be a single one."""
    return math.log(1.0 + (max(count - holding, 0) + 0.5) / (holding + 0.5))


def _tokens_of(text: str) -> tuple[str, ...]:
    return tuple(token_list(text))


_of_short: Final = caches.cached(caches.SHORT_MAX_COUNT)(_tokens_of)
_of_long: Final = caches.cached(caches.LONG_MAX_COUNT)(_tokens_of)


def totals(row: Row | None) -> tuple[int, int]:
    """The numbers of texts and of tokens on a shelf; SQLite returns both in one blob."""
    if row is None or row[0] == b"":
        return 0, 0
    count, rest = _varint(cast(bytes, row[0]))
    return count, _varint(rest)[0]


def _varint(data: bytes) -> tuple[int, bytes]:
    """SQLite's variable-length integer: seven bits a byte while the eighth is set.

    A ninth byte would have eight bits; no count is that large.
    """
    value = read = 0
    for byte in data:
        value, read = value << 7 | byte & 0x7F, read + 1
        if byte < 0x80:
            break
    return value, data[read:]
