"""One relevance for every unit: features of a candidate, a linear mix of them, a calibration.

Responsible for what each signal means and how they add up. Leaves finding candidates and their
matches to the index. Invariant: pure and additive: a score is the sum of its signals' shares, and a
signal that a unit or a configuration lacks is 0, which is neutral.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from benchmarks.recall.asking import Asked
from benchmarks.recall.pieces import Facts

_SHORT_WORDS: Final = 40  # a turn this short or shorter leans on its neighbours in full

FEATURES: Final = (
    "words",  # BM25 of the unit's words, as a share of the most a unit could have
    "words_best",  # the same, as a share of the best unit's
    "session_words",  # BM25 of the session's words, as a share of the most
    "sentence",  # the closest sentence, by a sentence encoder
    "session_sentence",  # the closest sentence of the session
    "chunk",  # the closest chunk, by static vectors
    "session_chunk",  # the closest chunk of the session
    "assistant",  # an assistant said it
    "assistant_told",  # and the question asks for what was told
    "assistant_overview",  # and the question asks for the whole course of something
    "asks",  # it ends with a question
    "own",  # somebody's own statement in the first person
    "replies",  # somebody begins by taking up what was said before
    "before",  # how the turn before matches, for a short turn
    "after",  # how the turn after matches, for a short turn
    "answers",  # the turn before asks, and matches
    "date",  # it was said when the question says
    "standing",  # an instruction that stands, and the question is a request
    "preference",  # a stated preference, and the question is a request
)

Features = tuple[float, ...]


class Match(NamedTuple):
    """How a unit matches a question, each from 0 to 1; a leg that is not there gives None."""

    words: float = 0.0
    sentence: float | None = None
    chunk: float | None = None

    @property
    def near(self) -> float:
        """One figure for a neighbour: half words, half the best encoder there is."""
        dense = self.sentence if self.sentence is not None else self.chunk
        return self.words if dense is None else (self.words + dense) / 2


NOTHING: Final = Match()


class Candidate(NamedTuple):
    """A unit that may answer. A record without a session has neither neighbours nor a session."""

    match: Match
    facts: Facts
    is_assistant: bool = False
    session: str | None = None
    session_words: float = 0.0
    date: float = 0.0
    before: Match = NOTHING
    after: Match = NOTHING
    before_asks: bool = False


class Calibration(NamedTuple):
    """From a score to the chance that a unit is what was asked for."""

    slope: float
    offset: float

    def relevance(self, score: float) -> float:
        """Between 0 and 1, rising with the score."""
        return 1 / (1 + math.exp(-max(-60.0, min(60.0, self.slope * score + self.offset))))


def features(asked: Asked, candidates: Sequence[Candidate]) -> list[Features]:
    """One row for each candidate, in the order of ``FEATURES``."""
    best = max((c.match.words for c in candidates), default=0.0) or 1.0
    sentence = _best_of_sessions(candidates, 1)
    chunk = _best_of_sessions(candidates, 2)
    return [_row(asked, c, best, sentence, chunk) for c in candidates]


def _row(
    asked: Asked,
    c: Candidate,
    best: float,
    sentence: Mapping[str, float],
    chunk: Mapping[str, float],
) -> Features:
    match, facts = c.match, c.facts
    lean = min(1.0, _SHORT_WORDS / max(1, facts.words))
    own_sentence, own_chunk = match.sentence or 0.0, match.chunk or 0.0
    person = not c.is_assistant
    return (
        match.words,
        match.words / best,
        match.words if c.session is None else c.session_words,
        own_sentence,
        own_sentence if c.session is None else sentence.get(c.session, 0.0),
        own_chunk,
        own_chunk if c.session is None else chunk.get(c.session, 0.0),
        float(c.is_assistant),
        float(c.is_assistant and asked.about_told),
        float(c.is_assistant and asked.is_overview),
        float(facts.asks),
        float(person and facts.is_own),
        float(person and facts.replies),
        lean * c.before.near,
        lean * c.after.near,
        lean * c.before.near * c.before_asks,
        c.date,
        float(person and asked.is_request and facts.is_standing),
        float(person and asked.is_request and facts.prefers),
    )


def _best_of_sessions(candidates: Sequence[Candidate], leg: int) -> dict[str, float]:
    """The best match of each session among the candidates, by one leg of ``Match``."""
    found: dict[str, float] = {}
    for c in candidates:
        value = c.match[leg]
        if c.session is not None and value is not None:
            found[c.session] = max(found.get(c.session, 0.0), value)
    return found


def shares(row: Features, weights: Sequence[float]) -> list[float]:
    """What each signal adds to a score."""
    return [value * weight for value, weight in zip(row, weights, strict=True)]


def score(row: Features, weights: Sequence[float]) -> float:
    """The sum of its shares."""
    return math.fsum(shares(row, weights))
