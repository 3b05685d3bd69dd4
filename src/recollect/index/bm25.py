"""BM25 as FTS5 computes it, operation by operation.

Responsible for what a term is worth and how much of it a text has. Leaves counting texts to the
engines and walking those of a past position to ``index.past``. Invariant: the same counts give the
same score to the last bit, whatever engine counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import msgspec

from recollect.index.caches import cached
from recollect.index.text import token_list

_K1: Final = 1.2
_B: Final = 0.75
_LEAST: Final = 1e-6  # of a term that more than half of the texts hold
_KEPT_MAX_CHARS: Final = 4_000
_KEPT_MAX_COUNT: Final = 2_048


class Statistics(msgspec.Struct, frozen=True):
    """What the score of one text needs to know of all."""

    weights: tuple[float, ...]  # of each term
    average: float  # length of a text


def statistics(count: int, length: int, holding: Sequence[int]) -> Statistics:
    """From how many texts there are, how long they are together, and how many hold each term."""
    weights = tuple(_weight(count, held) for held in holding)
    return Statistics(weights, length / count if count else 0.0)


def tokens_of(text: str) -> tuple[str, ...]:
    """The tokens of a text; recalls look at the same texts again and again, so some are kept."""
    return _kept(text) if len(text) <= _KEPT_MAX_CHARS else _tokens_of(text)


def parts(tokens: Sequence[str], terms: Sequence[str], average: float) -> tuple[float, ...]:
    """How much of each term a text has, from 0 to 1: more for each time, less in a long text."""
    here = set(terms).intersection(tokens)
    if not here:
        return (0.0,) * len(terms)
    norm = _norm(len(tokens), average)
    return tuple([_part(tokens.count(term), norm) if term in here else 0.0 for term in terms])


def score(words: Sequence[str], terms: Sequence[str], found: Statistics) -> float:
    """How well a text answers; 0 if it holds none of the terms."""
    total = 0.0
    norm = _norm(len(words), found.average) if words else 0.0
    for term, weight in zip(terms, found.weights, strict=True):
        times = float(words.count(term))
        if times:
            total += weight * ((times * (_K1 + 1.0)) / (times + norm))
    return total


def _norm(length: int, average: float) -> float:
    return _K1 * (1 - _B + _B * length / average) if average else _K1


def _weight(count: int, holding: int) -> float:
    """What a term is worth that so many of the texts hold."""
    # Counts of a damaged index may not fit each other; that must not stop a recall.
    found = math.log((max(count - holding, 0) + 0.5) / (holding + 0.5))
    return found if found > 0.0 else _LEAST


def _part(times: int, norm: float) -> float:
    return times / (times + norm)


def _tokens_of(text: str) -> tuple[str, ...]:
    return tuple(token_list(text))


_kept: Final = cached(_KEPT_MAX_COUNT)(_tokens_of)
