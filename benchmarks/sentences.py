"""Sentences to remember: about fifteen words, never the same twice, words as common as in speech.

Responsible for texts whose full text costs what real text costs. Invariant: the same seed gives
the same sentences, so that two runs measure the same work.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Final

_WORDS_PER_SENTENCE: Final = 14
_VOCABULARY_COUNT: Final = 4_000
_ONSETS: Final = "b br c ch d dr f g gr h j k l m n p pl qu r s sh st t tr v w".split()
_RIMES: Final = (
    "a ack ain all ar ate ead eal ear eed ell ent er ide ill ine ing oad old on ow".split()
)


def vocabulary() -> list[str]:
    """Pronounceable words, commonest (and shortest) first."""
    syllables = [onset + rime for onset, rime in itertools.product(_ONSETS, _RIMES)]
    random.Random(1).shuffle(syllables)
    longer = (first + second for first, second in itertools.product(syllables, syllables[:10]))
    return [*syllables, *longer][:_VOCABULARY_COUNT]


def sentences(count: int, *, seed: int) -> list[str]:
    """The first of them."""
    return list(itertools.islice(endless(seed), count))


def endless(seed: int) -> Iterator[str]:
    """Sentence after sentence; the number in each sets it apart from all others of this seed."""
    chance = random.Random(seed)
    words = vocabulary()
    weights = list(itertools.accumulate(1 / rank for rank in range(1, len(words) + 1)))
    for number in itertools.count():
        drawn = chance.choices(words, cum_weights=weights, k=_WORDS_PER_SENTENCE)
        yield f"{' '.join(drawn)} {seed}x{number}.".capitalize()
