"""From the texts that a search found to hits, in one call.

Responsible for matching each text once, for the signals of each candidate, for the order and the
choice that follow from them, and for the share that lifts an earlier value above the one that
replaced it. Leaves reading rows to ``finding.candidates``, the meaning of the signals to
``recall.relevance`` and the shape of a hit to ``recall.rank``. Invariants: pure; a neighbour that
may not be recalled, or belongs to another user, counts as absent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import islice
from math import fsum
from operator import mul
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from msgspec.structs import replace

from recollect.index.cards import measured
from recollect.index.rows import Card, recallable_episode, recallable_record, unpack_names
from recollect.index.words.bm25 import Parts, Statistics
from recollect.index.words.facts import Facts, asks
from recollect.model.values import Hit
from recollect.recall.asked_for import lacks
from recollect.recall.asking import ParsedQuery, closeness
from recollect.recall.rank import COVERAGE, Ended, Library, Ranked, Wish, enough, hits
from recollect.recall.relevance import (
    LIKELY_MIN,
    NOTHING,
    RIVALS,
    Candidate,
    Features,
    Match,
    features,
    rivals_of,
    score_of,
    terms_of,
)
from recollect.recall.weights import WEIGHTS, RankingWeights

if TYPE_CHECKING:
    from recollect.recall.talk import Former

Grain = Literal["sentence", "chunk"]
Beside = tuple[int | None, int | None]  # the turns before and after

_ASKING_MAX_CHARS: Final = 300
_AROUND_MAX_CHARS: Final = 20_000  # of a text that may lack what was asked for
_TEXT: Final = WEIGHTS["text"]
_EMBEDDER_MAX_LOSS: Final = 0.04
_DOUBT: Final = 0.49  # below ``LIKELY_MIN``, whatever the relevance was


class Surroundings(NamedTuple):
    """What was read about texts and their neighbours, by number in full text."""

    rows: Mapping[int, Card | None]
    beside: Mapping[int, Beside]  # of each candidate in a session
    near: Sequence[tuple[Grain, Mapping[int, float]]]  # for each leg of vectors
    turns: Mapping[tuple[str | None, str | None], int]  # of a user's session, if there are vectors


class Judged(NamedTuple):
    """Hits, all candidates in order, and those that are relevant enough."""

    hits: list[Hit]
    order: list[Ranked]
    kept: list[Ranked]
    left_out: set[bool]  # for each wanted text that is not kept: has it a word of the query?


class Scoring:
    """The scores of one query. Each text is matched once, however often it is ranked."""

    def __init__(
        self,
        asked: ParsedQuery,
        weights: RankingWeights,
        statistics: Statistics,
        around: Surroundings,
    ) -> None:
        self._asked = asked
        self._weights = weights
        self._terms = terms_of(asked, statistics)
        self._around = around
        self._matches: dict[int, Match] = {}
        self._facts: dict[int, Facts] = {}
        self._names: dict[int, float] = {}  # how much of the query the names of a record cover

    def judged(
        self,
        rows: Sequence[Card],
        wish: Wish,
        library: Library,
        former: Former,
        k: int,
        earlier: Sequence[Ended] = (),
    ) -> Judged:
        """The best k hits among these candidates, and what became of the others.

        ``earlier`` values of some of the candidates are ranked with them.
        """
        order = self._settled(self._scored(rows), former)
        if earlier:
            order = self._with_earlier(order, earlier)
        order = self._doubted(relevant(order, self._weights))
        kept = enough(order, wish)
        if earlier:  # with their earlier values, and with what replaced them
            names = {one.holder for one in kept}
            kept = [one for one in order if one.holder in names]
        made = hits(kept, self._weights.weights, library, k)
        if len(kept) == len(order):
            return Judged(made, order, kept, set())
        here = {one.row.text_seq for one in kept}
        others = (one for one in order if one.row.is_wanted and one.row.text_seq not in here)
        return Judged(made, order, kept, {one.has_words for one in others})

    def _doubted(self, order: list[Ranked]) -> list[Ranked]:
        """The same, where a text that lacks the thing asked for is at most half as relevant.

        Only what would count as likely is looked at: the rest is doubtful as it is.
        """
        if self._asked.needs:
            for one in order:
                if one.relevance >= LIKELY_MIN and lacks(
                    self._asked.needs, self._around_text(one.row)
                ):
                    one.relevance *= _DOUBT
        return order

    def _around_text(self, row: Card) -> str:
        """The beginning of a text, with its names and the beginnings of the turns beside it."""
        pair = self._neighbours(row) if row.role is not None and row.session is not None else ()
        beside = " ".join(each.text[:_AROUND_MAX_CHARS] for each in pair if each)
        text = row.text[:_AROUND_MAX_CHARS]
        return f"{text} {row.key or ''} {row.about or ''} {row.tags} {beside}"

    def _settled(self, order: list[Ranked], former: Former) -> list[Ranked]:
        """The order with what a conversation adds to it, if there is one among the candidates."""
        if len(order) < 2 or all(one.row.role is None for one in order):
            return order
        from recollect.recall.talk import settled  # a memory of records alone does not load it

        return settled(order, self._asked, self._weights, former)

    def _with_earlier(self, order: Sequence[Ranked], earlier: Sequence[Ended]) -> list[Ranked]:
        """The order with earlier values, which are matched as if they were candidates too."""
        ended = {each.row.text_seq: each for each in earlier}
        rows = [*(one.row for one in order), *(each.card for each in earlier)]
        made = {one.row.text_seq: one for one in self._scored(rows)}
        found = [replace(made[doc], ended=each) for doc, each in ended.items()]
        return with_earlier(order, found, self._weights)

    def ranked(self, rows: Sequence[Card]) -> list[Ranked]:
        """Candidates by score, each with its relevance; the newest first among equals."""
        return relevant(self._scored(rows), self._weights)

    def _scored(self, rows: Sequence[Card]) -> list[Ranked]:
        pairs = {
            row.seq: self._neighbours(row)
            for row in rows
            if row.role is not None and row.session is not None
        }
        self._match([*rows, *(each for pair in pairs.values() for each in pair if each)])
        made = features(self._asked, self._terms, self._candidates(rows, pairs))
        found = zip(rows, made, strict=True)
        # A text that only asks says what its session is about, and that is all.
        return by_score((one for one in found if not is_passed_over(one[0])), self._weights)

    def _neighbours(self, row: Card) -> tuple[Card | None, Card | None]:
        before, after = self._around.beside[row.seq]
        return self._neighbour(row, before), self._neighbour(row, after)

    def _neighbour(self, row: Card, seq: int | None) -> Card | None:
        """The turn next to it, if it is a person's or a short question; other turns repeat."""
        found = None if seq is None else self._around.rows[seq]
        if found is None or found.user != row.user or echoes(found):
            return None
        return found if recallable_episode(found) else None

    def _match(self, rows: Iterable[Card]) -> None:
        """Matches those of these texts that are not matched yet."""
        terms, has_vectors = self._terms, bool(self._around.near)
        missing = {row.text_seq: row for row in rows if row.text_seq not in self._matches}
        found, facts, of_names = measured(missing.values(), terms.terms, terms.average)
        share, matches = terms.share, self._matches
        if has_vectors:
            for doc, parts, about in zip(missing, found, facts, strict=True):
                matches[doc] = Match(parts, share(parts), *self._nearness(doc, parts, about.words))
        else:
            for doc, parts in zip(missing, found, strict=True):
                matches[doc] = Match(parts, share(parts))
        self._facts.update(zip(missing, facts, strict=True))
        for doc, parts in of_names.items():
            self._names[doc] = terms.coverage(parts)

    def _nearness(self, doc: int, parts: Parts, words: int) -> tuple[float | None, float | None]:
        """How near a text is by its sentences and by its chunks; None without such a leg.

        Of what one leg lacks, the other one or the words tell how near it is likely to be.
        """
        near: dict[Grain, float] = {}
        lacking: set[Grain] = set()
        for grain, known in self._around.near:
            if doc in known:  # the better of two legs with the same unit of text
                near[grain] = max(min(1.0, known[doc]), near.get(grain, 0.0))
            else:
                lacking.add(grain)
        for grain in lacking - near.keys():
            likely = next(iter(near.values()), None)
            near[grain] = self._terms.likely_nearness(parts, words) if likely is None else likely
        return near.get("sentence"), near.get("chunk")

    def _candidates(
        self, rows: Iterable[Card], pairs: Mapping[int, tuple[Card | None, Card | None]]
    ) -> list[Candidate]:
        """One loop, because a recall makes a hundred or more."""
        matches, facts, has_days = self._matches, self._facts, bool(self._asked.days)
        turns = self._around.turns
        made: list[Candidate] = []
        for row in rows:
            doc, role = row.text_seq, row.role
            date = self._closeness(row) if has_days else 0.0
            if role is None:
                names = self._names.get(doc, 0.0)
                made.append(Candidate(matches[doc], facts[doc], date, names))
                continue
            is_assistant = role == "assistant"
            if row.session is None:
                counts = not is_passed_over(row)
                made.append(Candidate(matches[doc], facts[doc], date, 0.0, is_assistant, counts))
                continue
            before, after = pairs[doc]
            made.append(
                Candidate(
                    matches[doc],
                    facts[doc],
                    date,
                    0.0,
                    is_assistant,
                    not is_passed_over(row),
                    (row.user, row.session),
                    turns.get((row.user, row.session), 1),
                    matches[before.seq] if before else NOTHING,
                    matches[after.seq] if after else NOTHING,
                    before is not None and facts[before.seq].asks and not row.transient,
                )
            )
        return made

    def _closeness(self, row: Card) -> float:
        """How well the instant it was said fits the dates of the query; few records have one."""
        if row.said_at is None:
            return 0.0
        return closeness(self._asked.days, datetime.fromisoformat(row.said_at))


def by_score(found: Iterable[tuple[Card, Features]], weights: RankingWeights) -> list[Ranked]:
    """Candidates by score, best first; the newest first among equals. Relevance comes later."""
    each_of = weights.weights  # as in ``score_of``, without a call for each
    scored = [(-fsum(map(mul, each, each_of)), -row.text_seq, row, each) for row, each in found]
    scored.sort()  # numbers of texts are unique, so rows are not compared
    return [Ranked(row, each, -score) for score, _, row, each in scored]


def relevant(made: list[Ranked], weights: RankingWeights) -> list[Ranked]:
    """The same candidates in their order, each with its relevance.

    What was corrected or replaced, or is said again by a better one, contends with nothing. An
    embedder that disagrees must not make a good match of words look bad: the first hit is at most
    a little less relevant than by words alone. On dev questions this is closer to the truth.
    """
    # Vectors have a nearest text for every query: to be the only one says nothing then.
    missing = (
        0.0 if made and made[0].features[COVERAGE] else max((m.score for m in made), default=0.0)
    )
    contending = (
        (one.score, one.row)
        for one in made
        if one.repeated_by is None and one.corrected_by is None and one.ended is None
    )
    rivals = _rivals(contending, missing)
    found = weights.calibration.relevances([one.score for one in made], rivals)
    for one, relevance in zip(made, found, strict=True):
        one.relevance = relevance
    if made and weights is not _TEXT:
        holding = [one for one in made if one.ended is None]
        least = _by_words(holding) - _EMBEDDER_MAX_LOSS
        made[0].relevance = max(made[0].relevance, least)
    return made


def _by_words(order: Sequence[Ranked]) -> float:
    """The relevance of the first candidate if there were no vectors; 0 if it has no word."""
    first = order[0]
    if not first.has_words:
        return 0.0
    score = score_of(first.features, _TEXT.weights)
    others = [one for one in order[1:] if one.has_words]
    scored = [(score_of(one.features, _TEXT.weights), one.row) for one in others]
    scored.sort(key=lambda one: -one[0])
    return _TEXT.calibration.relevance(score, _rivals([(score, first.row), *scored]))


def _rivals(scored: Iterable[tuple[float, Card]], missing: float = 0.0) -> float:
    """The rivals of the first of these candidates, which come best first.

    Only what is wanted contends. The first one's own evidence and the same words do not, and
    neither do texts that may not be recalled: they must not change how relevant others are.
    """
    wanted = [one for one in scored if one[1].is_wanted]
    if len(wanted) < 2:
        return rivals_of([], missing) if wanted else 0.0
    recallable = (one for one in wanted if is_recallable(one[1]))
    first = next(recallable, None)
    _, best = first or wanted[0]
    evidence = unpack_names(best.evidence)
    others = (
        score
        for score, row in (recallable if first else wanted[1:])
        if row.text != best.text and row.id not in evidence
    )
    return rivals_of(list(islice(others, RIVALS)), missing)


def echoes(row: Card) -> bool:
    """True for an assistant's turn, unless it is a short question."""
    if row.role != "assistant":
        return False
    text = row.text
    return len(text) > _ASKING_MAX_CHARS or not (text.endswith("?") or asks(text))


def is_passed_over(row: Card) -> bool:
    """True for a text that only asks, where the caller wants answers."""
    return bool(row.transient) and not row.is_wanted


def is_recallable(row: Card) -> bool:
    """True for a row on the recallable shelf."""
    return recallable_record(row) if row.role is None else recallable_episode(row)


EARLIER_SIGNAL: Final = "earlier"
_ABOVE: Final = 0.001


def with_earlier(
    order: Sequence[Ranked], earlier: Sequence[Ranked], weights: RankingWeights
) -> list[Ranked]:
    """The candidates with earlier values, each just before the one that replaced it.

    A value and its earlier ones rank by the best of them, because the question is about all. Of
    several earlier values of one record, which come newest first, the newest is first.
    """
    of: dict[str, list[Ranked]] = {}
    for one in earlier:
        of.setdefault(one.holder, []).append(one)
    made: list[Ranked] = []
    for one in order:
        former = of.get(one.row.id, [])
        best = max(each.score for each in (one, *former))
        made.append(_lifted(one, best, weights))
        made += [
            _lifted(each, best + _ABOVE * (len(former) - place), weights)
            for place, each in enumerate(former)
        ]
    return sorted(made, key=lambda one: (-one.score, -one.row.text_seq))


def _lifted(one: Ranked, score: float, weights: RankingWeights) -> Ranked:
    """A candidate with the share that lifts it to a score."""
    if one.score >= score:
        return one
    extra = (*one.extra, (EARLIER_SIGNAL, score - one.score))
    own = map(mul, one.features, weights.weights)
    return replace(
        one, extra=extra, score=math.fsum((*own, *(share for _, share in extra)))
    )  # to the last bit what its shares say
