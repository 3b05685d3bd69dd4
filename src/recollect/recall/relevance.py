"""One relevance for every unit: signals of a candidate, a linear mix of them, a calibration.

Responsible for the meaning of each signal and for their sum. Leaves finding candidates to
``finding.candidates`` and the weights to ``recall.weights``. Invariant: pure and additive: a score
is the sum of the shares of its signals, and a signal that a unit or configuration lacks is 0.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from operator import mul
from typing import Final, Literal, NamedTuple

import msgspec

from recollect.index.words.bm25 import Parts, Statistics
from recollect.index.words.facts import Facts
from recollect.model.values import Strength
from recollect.recall.asking import ParsedQuery

Configuration = Literal["text", "static", "sentence", "full"]

_SCAFFOLD_WEIGHT: Final = 0.3
_SHORT_WORDS: Final = 80  # a turn up to this length uses its neighbours in full
# Of a text without a vector, as the mean of those that have one: dev questions of set B.
_LIKELY_LEAST: Final = 0.21
_LIKELY_SLOPE: Final = 0.97
RIVALS: Final = 5  # candidates that a score is compared with
# By chance, the nearest of many turns is nearer than the nearest of a few. That is taken off: the
# spread of a question's cosines over a memory (on dev .11 by sentences and .09 by chunks, of which
# half is better), times how far the greatest of so many random numbers is above their mean, in
# units of their spread, here of 1, 2, 4, 8, ... 256.
_SPREAD: Final[dict[Literal["sentence", "chunk"], float]] = {"sentence": 0.1, "chunk": 0.05}
_GREATEST: Final = (0.0, 0.564, 1.029, 1.424, 1.766, 2.07, 2.343, 2.59, 2.82)
TURNS_MAX_COUNT: Final = 2 ** (len(_GREATEST) - 1)  # that are counted

_Session = tuple[float, float, float]  # of one session: words, the closest sentence and chunk

RANKING_SIGNALS: Final = (
    "words",  # BM25 of the text, as a share of the best candidate's
    "coverage",  # how much of the query it covers, a short turn together with its neighbours
    "session_words",  # how much of the query people's turns of the session cover together
    "sentence",  # the closest sentence, by a sentence encoder
    "session_sentence",  # the closest sentence of the session, less what is chance
    "chunk",  # the closest chunk, by static vectors
    "session_chunk",  # the same of chunks
    "assistant",  # an assistant said it
    "assistant_overview",  # and the query asks for an overview
    "asks",  # it ends with a question
    "own",  # a statement in the first person
    "answers",  # for a short turn: the turn before asks and matches
    "date",  # it was said at the time that the query names
    "standing",  # a standing instruction, and the query is a request
    "preference",  # a stated preference, and the query is a request
    "names",  # how much of the query its key, subject and tags cover
)

STRONG_MIN: Final = 0.8  # right four times in five, or more often
LIKELY_MIN: Final = 0.5  # more often right than wrong

Features = tuple[float, ...]  # one for each of RANKING_SIGNALS


def strength_of(relevance: float) -> Strength:
    """The word for a relevance."""
    if relevance >= STRONG_MIN:
        return "strong"
    return "likely" if relevance >= LIKELY_MIN else "weak"


class Terms(NamedTuple):
    """The terms of a query, their weights (the sum is 1) and the average length of a text."""

    terms: tuple[str, ...]
    worth: tuple[float, ...]
    average: float

    def share(self, found: Sequence[float]) -> float:
        """The weighted sum of these parts, from 0 to 1."""
        return math.fsum(map(mul, self.worth, found)) if any(found) else 0.0

    def coverage(self, found: Sequence[float]) -> float:
        """The same with square roots: the presence of a term counts more than its frequency."""
        return math.fsum(map(mul, self.worth, map(math.sqrt, found))) if any(found) else 0.0

    def likely_nearness(self, found: Sequence[float], words: int) -> float:
        """How near a text without a vector is likely to be: what is missing is unknown, not 0.

        A cosine of two texts grows with the share of their words that they have in common, of the
        one as of the other. Nothing is known of a text without a word of the query.
        """
        shared = [worth for worth, part in zip(self.worth, found, strict=True) if part]
        if not shared:
            return 0.0
        common = math.fsum(shared) * math.sqrt(min(1.0, len(shared) / max(1, words)))
        return min(1.0, _LIKELY_LEAST + _LIKELY_SLOPE * common)


# Structs, because a recall makes hundreds of these, and a named tuple takes five times as long.
class Match(msgspec.Struct, frozen=True, gc=False):
    """How a text matches a query; None for a leg that is not available."""

    parts: Parts = ()
    words: float = 0.0
    sentence: float | None = None
    chunk: float | None = None

    @property
    def near(self) -> float:
        """One number for a neighbour: half words, half the best available encoder."""
        dense = self.sentence if self.sentence is not None else self.chunk
        return self.words if dense is None else (self.words + dense) / 2


NOTHING: Final = Match()


class Candidate(msgspec.Struct, frozen=True, gc=False):
    """A text that may be an answer. Without a session it has no neighbours.

    A neighbour is a person's turn or a short question: other turns of an assistant repeat.
    """

    match: Match
    facts: Facts
    date: float = 0.0
    names: float = 0.0
    is_assistant: bool = False
    counts: bool = True  # False if it can be no hit, and only says what its session is about
    session: Hashable | None = None
    turns: int = 1  # of its session
    before: Match = NOTHING
    after: Match = NOTHING
    before_asks: bool = False


class Calibration(NamedTuple):
    """From a score to the probability that a text answers the query.

    A score alone says little: in a large memory many texts share words with any query. So it also
    counts how far a score is ahead of the rivals, the best of the other candidates.
    """

    slope: float  # of the score
    lead: float  # of its distance from the rivals
    offset: float

    def relevance(self, score: float, rivals: float) -> float:
        """Between 0 and 1, rising with the score."""
        return self.relevances([score], rivals)[0]

    def relevances(self, scores: Sequence[float], rivals: float) -> list[float]:
        """The same for many scores."""
        slope, lead, offset = self
        raw = [slope * score + lead * (score - rivals) + offset for score in scores]
        bounded = [each if -60.0 < each < 60.0 else math.copysign(60.0, each) for each in raw]
        return [1 / (1 + math.exp(-each)) for each in bounded]


def rivals_of(scores: Sequence[float], missing: float = 0.0) -> float:
    """The mean of the few best of these scores, best first, with a score for missing ones."""
    found = [max(0.0, score) for score in scores[:RIVALS]]
    return (math.fsum(found) + missing * (RIVALS - len(found))) / RIVALS


def by_chance(turns: int) -> float:
    """How far the greatest of so many random numbers is above their mean, in their spreads."""
    steps = math.log2(min(max(turns, 1), TURNS_MAX_COUNT))
    low = int(steps)
    rest = steps - low
    above = _GREATEST[min(low + 1, len(_GREATEST) - 1)]
    return _GREATEST[low] + rest * (above - _GREATEST[low])


def terms_of(asked: ParsedQuery, statistics: Statistics) -> Terms:
    """``statistics`` are those of the terms and the scaffold, in this order."""
    weights = [1.0] * len(asked.terms) + [_SCAFFOLD_WEIGHT] * len(asked.scaffold)
    rarity = statistics.worth or statistics.weights
    worth = [mine * rare for mine, rare in zip(weights, rarity, strict=True)]
    total = math.fsum(worth) or 1.0
    return Terms(
        asked.terms + asked.scaffold, tuple(each / total for each in worth), statistics.average
    )


def features(asked: ParsedQuery, terms: Terms, candidates: Sequence[Candidate]) -> list[Features]:
    """One row for each candidate."""
    best = max((c.match.words for c in candidates if c.counts), default=0.0) or 1.0
    sessions = _sessions(terms, candidates)
    return [_row(asked, terms, c, best, sessions) for c in candidates]


def score_of(row: Features, weights: Sequence[float]) -> float:
    """The sum of its shares."""
    return math.fsum(map(mul, row, weights))


def shares_of(row: Features, weights: Sequence[float]) -> dict[str, float]:
    """What each signal adds to the score; signals that add nothing are left out."""
    named = zip(RANKING_SIGNALS, map(mul, row, weights), strict=True)
    return {name: share for name, share in named if share}


def _row(
    asked: ParsedQuery,
    terms: Terms,
    c: Candidate,
    best: float,
    sessions: Mapping[Hashable, _Session],
) -> Features:
    match, facts, is_assistant = c.match, c.facts, c.is_assistant
    lean = 1.0 if facts.words <= _SHORT_WORDS else _SHORT_WORDS / facts.words
    sentence, chunk = match.sentence or 0.0, match.chunk or 0.0
    is_alone = c.before is NOTHING and c.after is NOTHING
    coverage = terms.coverage(match.parts if is_alone else _with_beside(c, lean))
    session = sessions[c.session] if c.session is not None else (coverage, sentence, chunk)
    is_request = asked.is_request and not is_assistant
    return (
        match.words / best,
        coverage,
        session[0],
        sentence,
        session[1],
        chunk,
        session[2],
        1.0 if is_assistant else 0.0,
        1.0 if is_assistant and asked.is_overview else 0.0,
        1.0 if facts.asks else 0.0,
        1.0 if facts.is_own and not is_assistant else 0.0,
        lean * c.before.near if c.before_asks else 0.0,
        c.date,
        1.0 if is_request and facts.is_standing else 0.0,
        1.0 if is_request and facts.prefers else 0.0,
        c.names,
    )


def _with_beside(c: Candidate, lean: float) -> Sequence[float]:
    """The share of each term in a text or, weighted by its shortness, in its neighbours."""
    found: Sequence[float] = c.match.parts
    part = lean * lean  # squared, because coverage takes the root
    for beside in (c.before, c.after):
        if beside.words:
            pairs = zip(found, beside.parts, strict=True)
            found = [max(own, part * its) for own, its in pairs]
    return found


def _sessions(terms: Terms, candidates: Sequence[Candidate]) -> dict[Hashable, _Session]:
    """Totals over the candidates of each session: the best share of each term."""
    of: dict[Hashable, list[Candidate]] = {}
    for c in candidates:
        if c.session is not None:
            of.setdefault(c.session, []).append(c)
    return {session: _together(terms, members) for session, members in of.items()}


def _together(terms: Terms, members: Sequence[Candidate]) -> _Session:
    said = [c.match.parts for c in members if c.match.words and not c.is_assistant]
    best = said[0] if len(said) == 1 else [*map(max, zip(*said, strict=True))]
    chance = by_chance(members[0].turns)
    return (
        terms.coverage(best),
        _nearest([c.match.sentence for c in members], _SPREAD["sentence"] * chance),
        _nearest([c.match.chunk for c in members], _SPREAD["chunk"] * chance),
    )


def _nearest(found: Sequence[float | None], chance: float) -> float:
    """The greatest of these, less what is chance; 0 without a leg."""
    known = [each for each in found if each is not None]
    return max(0.0, max(known) - chance) if known else 0.0
