"""The mix over an index in memory: what the engine is to do, small enough to fit weights with.

Responsible for candidates and their matches. Leaves features and the mix to ``relevance``.
Invariant: whatever finds a candidate, its features come from the question and the unit alone, its
neighbours and its session.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.recall.asking import SCAFFOLD_WEIGHT, Asked, closeness, understand
from benchmarks.recall.legs import ASSISTANT_WEIGHT, Encode, Floats, Postings, counted
from benchmarks.recall.pieces import Facts, chunks, facts, sentences
from benchmarks.recall.relevance import NOTHING, Candidate, Match, features, score
from benchmarks.recall.sets import Turn
from benchmarks.recall.weights import WEIGHTS, Weights

_RUNS_THROUGH: Final = 0.5  # of the sessions
_SESSIONS_MIN: Final = 4  # fewer tell nothing about what runs through a memory
_FOUND_BY_LEG: Final = 150
_WITH_NEIGHBOURS: Final = 40  # of the best of each leg

_facts = lru_cache(maxsize=200_000)(facts)


class Encoders(NamedTuple):
    """What a configuration looks with beside words."""

    sentence: Encode | None = None
    chunk: Encode | None = None

    @property
    def legs(self) -> str:
        """The configuration's name."""
        return "full" if self.sentence else "static" if self.chunk else "text"


class Pieces:
    """The vectors of every unit's pieces."""

    def __init__(self, pieces: Sequence[Sequence[str]], encode: Encode) -> None:
        self._encode = encode
        self._vectors = encode([piece for unit in pieces for piece in unit])
        sizes = [len(unit) for unit in pieces]
        self._starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)

    def match(self, text: str) -> Floats:
        """The closest piece of each unit, from 0 to 1."""
        close = self._vectors @ self._encode([text])[0]
        found: Floats = np.clip(np.maximum.reduceat(close, self._starts), 0, 1)
        return found


class Looked(NamedTuple):
    """What one question found: places of candidates, and their features."""

    places: list[int]
    rows: list[tuple[float, ...]]


class Prototype:
    """Ranks the turns of one haystack."""

    def __init__(
        self, turns: Sequence[Turn], encoders: Encoders, weights: Weights | None = None
    ) -> None:
        self._turns = turns
        self._weights = weights or WEIGHTS[encoders.legs]
        self._facts = [_facts(turn.text) for turn in turns]
        self._said = [None if t.at is None else datetime.fromisoformat(t.at) for t in turns]
        docs = counted(turn.text for turn in turns)
        self._words = Postings(docs, [doc.total() for doc in docs])
        numbers: dict[str, int] = {}
        self._session = np.array([numbers.setdefault(t.session, len(numbers)) for t in turns])
        self._sessions, self._held = _session_postings(turns, docs, self._session, len(numbers))
        self._sentence = encoders.sentence and Pieces(
            [sentences(turn.text) for turn in turns], encoders.sentence
        )
        self._chunk = encoders.chunk and Pieces([chunks(t.text) for t in turns], encoders.chunk)

    def rank(self, text: str, asked_at: str | None, k: int) -> list[tuple[int, float]]:
        """The best turns, with their relevance."""
        found = self.look(text)
        scored = [
            (place, score(row, self._weights.weights))
            for place, row in zip(found.places, found.rows, strict=True)
        ]
        scored.sort(key=lambda one: (-one[1], -one[0]))
        relevance = self._weights.calibration.relevance
        return [(place, relevance(value)) for place, value in scored[:k]]

    def close(self) -> None:
        """Nothing is held."""

    def look(self, text: str) -> Looked:
        """The candidates of a question and their features."""
        asked = understand(text, self._runs_through)
        weighted = [(t, 1.0) for t in asked.terms] + [(t, SCAFFOLD_WEIGHT) for t in asked.scaffold]
        words = self._words.score(weighted)
        sentence = self._sentence.match(asked.plain) if self._sentence else None
        chunk = self._chunk.match(asked.plain) if self._chunk else None
        session = self._sessions.score(weighted)[self._session]
        places = self._places([leg for leg in (words, sentence, chunk) if leg is not None])
        matches = _Matches(words, sentence, chunk)
        made = [self._candidate(place, asked, matches, float(session[place])) for place in places]
        return Looked(places, features(asked, made))

    def _runs_through(self, word: str) -> bool:
        many = self._held >= _SESSIONS_MIN
        return many and self._sessions.share(next(iter(counted([word])[0]), "")) >= _RUNS_THROUGH

    def _places(self, legs: Sequence[Floats]) -> list[int]:
        """The best of each leg, and the neighbours of the very best."""
        found: set[int] = set()
        for leg in legs:
            best = _best(leg, _FOUND_BY_LEG)
            found.update(best)
            for place in best[:_WITH_NEIGHBOURS]:
                found.update(near for near in (place - 1, place + 1) if self._same(place, near))
        return sorted(found)

    def _same(self, place: int, near: int) -> bool:
        inside = 0 <= near < len(self._turns)
        return inside and bool(self._session[place] == self._session[near])

    def _candidate(
        self, place: int, asked: Asked, matches: _Matches, session_words: float
    ) -> Candidate:
        turn, said = self._turns[place], self._said[place]
        has_before, has_after = self._same(place, place - 1), self._same(place, place + 1)
        return Candidate(
            match=matches.of(place),
            facts=self._facts[place],
            is_assistant=turn.role == "assistant",
            session=turn.session,
            session_words=session_words,
            date=closeness(asked.days, said) if said and asked.days else 0.0,
            before=matches.of(place - 1) if has_before else NOTHING,
            after=matches.of(place + 1) if has_after else NOTHING,
            before_asks=has_before and self._facts[place - 1].asks,
        )


class _Matches(NamedTuple):
    """Every unit's match, leg by leg."""

    words: Floats
    sentence: Floats | None
    chunk: Floats | None

    def of(self, place: int) -> Match:
        return Match(
            float(self.words[place]),
            None if self.sentence is None else float(self.sentence[place]),
            None if self.chunk is None else float(self.chunk[place]),
        )


def _best(leg: Floats, at_most: int) -> list[int]:
    """Places of the highest scores above nothing, best first."""
    order = np.argsort(-leg, kind="stable")[:at_most]
    return [int(place) for place in order if leg[place] > 0]


def _session_postings(
    turns: Sequence[Turn], docs: Sequence[Counter[str]], session: NDArray[np.int64], count: int
) -> tuple[Postings, int]:
    """Each session as one text, in which an assistant's words count little."""
    texts: list[Counter[str]] = [Counter() for _ in range(count)]
    lengths = [0.0] * count
    for place, doc in enumerate(docs):
        weight = ASSISTANT_WEIGHT if turns[place].role == "assistant" else 1.0
        held = texts[session[place]]
        for term, times in doc.items():
            held[term] += weight * times
        lengths[session[place]] += weight * doc.total()
    return Postings(texts, lengths), count


__all__ = ["Encoders", "Facts", "Looked", "Prototype"]
