"""What a query finds: the candidates of every leg, and the signals of each.

Responsible for choosing the texts to look at and for reading what the signals need. Leaves the
meaning of the signals to ``recall.relevance`` and which candidates become hits to
``finding.search``. Invariants: the signals of a trusted text come only from trusted texts, so its
candidates, neighbours, sessions and statistics do not depend on unverified ones; a neighbour that
may not be recalled, or belongs to another user, counts as absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from recollect.index.reads import Reads
from recollect.index.rows import EpisodeRow, VersionRow, recallable_episode, recallable_record
from recollect.recall.asking import ParsedQuery, closeness, understand
from recollect.recall.facts import asks, facts
from recollect.recall.rank import Ranked, TextRow, Wish, doc_of, showing
from recollect.recall.relevance import (
    NOTHING,
    Candidate,
    Configuration,
    Features,
    Match,
    features,
    score_of,
    terms_of,
)
from recollect.recall.weights import WEIGHTS, RankingWeights

if TYPE_CHECKING:  # numpy is loaded only if there are vectors
    from recollect.store.port import Vector, Vectors

Grain = Literal["sentence", "chunk"]
Doc = tuple[int, float]

_SESSIONS_MIN_COUNT: Final = 4  # too few sessions do not show which names are frequent
_RECENT_MAX_COUNT: Final = 5_000  # episodes that are searched for a name
_WITH_NEIGHBOURS: Final = 20  # candidates of each leg whose neighbours are added
_ASKING_MAX_CHARS: Final = 300
_DEEPER: Final = 16  # how many times deeper full text is searched with a filter


class Near(NamedTuple):
    """A leg of vectors, and the vector of a query."""

    grain: Grain
    vectors: Vectors
    row: Vector


class Question(NamedTuple):
    """A query, parsed and encoded: everything that a search needs."""

    query: str
    asked: ParsedQuery
    legs: tuple[Near, ...] = ()
    embedder: str | None = None  # the embedder that encoded it
    degraded: str | None = None

    @property
    def configuration(self) -> Configuration:
        """The configuration, by the legs that are available."""
        grains = {leg.grain for leg in self.legs}
        if len(grains) == 2:
            return "full"
        return "sentence" if "sentence" in grains else "static" if grains else "text"

    @property
    def weights(self) -> RankingWeights:
        """The weights of the signals for these legs."""
        return WEIGHTS[self.configuration]


class Candidates(NamedTuple):
    """Visible candidates, their signals, and whether there are no others."""

    rows: list[TextRow]
    features: list[Features]
    is_all: bool
    has_all_words: bool  # no other text contains a word of the query


def understood(reads: Reads, query: str) -> ParsedQuery:
    """A query, parsed for this memory."""
    recent: list[tuple[int, int]] = []

    def runs_through(token: str) -> bool:
        """True if at least half of the recent sessions contain it."""
        if not recent:
            recent.append(reads.sessions(_RECENT_MAX_COUNT))
        first, sessions = recent[0]
        if sessions < _SESSIONS_MIN_COUNT:
            return False
        return 2 * reads.sessions_holding(token, first) >= sessions

    return understand(query, runs_through)


def expect(questions: Sequence[Question]) -> None:
    """Lets each leg search once for all of these queries."""
    rows: dict[int, list[Near]] = {}
    for question in questions:
        for leg in question.legs:
            rows.setdefault(id(leg.vectors), []).append(leg)
    for some in rows.values():
        if len(some) > 1:
            import numpy as np

            some[0].vectors.expect(np.stack([leg.row for leg in some]))


def ranked(question: Question, rows: Sequence[TextRow], found: Sequence[Features]) -> list[Ranked]:
    """Candidates by score, best first; the newest first among equals."""
    weights, calibration, _ = question.weights
    made: list[Ranked] = []
    for row, signals in zip(rows, found, strict=True):
        score = score_of(signals, weights)
        made.append(Ranked(row, signals, score, calibration.relevance(score)))
    return sorted(made, key=lambda one: (-one.score, -doc_of(one.row)))


class CandidateSearch:
    """The search for one query by one handle; a deeper search does not read a row twice."""

    def __init__(self, reads: Reads, question: Question, wish: Wish) -> None:
        asked = question.asked
        self._reads = reads
        self.rests = reads.supports
        self._question = question
        self._asked = asked
        self._wish = wish
        self._terms = terms_of(asked, reads.statistics(asked.terms + asked.scaffold))
        self._rows: dict[int, TextRow | None] = {}
        self._near: list[dict[int, float]] = [{} for _ in question.legs]
        self._beside: dict[int, tuple[int | None, int | None]] = {}
        self._matches: dict[int, Match] = {}

    def __call__(self, depth: int) -> Candidates:
        """The best candidates of each leg down to a depth, and the neighbours of the first few."""
        legs = [self._by_words(depth), *self._by_vectors(depth)]
        found = {doc for docs, _ in legs for doc, _ in docs}
        best = [doc for docs, _ in legs for doc in self._best(docs)]
        beside = [near for pair in self._neighbours(best).values() for near in pair if near]
        rows = showing(self._found(sorted(found | set(beside))), self._wish)
        return Candidates(rows, self.signals(rows), all(is_all for _, is_all in legs), legs[0][1])

    def signals(self, rows: Sequence[TextRow]) -> list[Features]:
        """The signals of these rows, relative to each other."""
        spoken = [row.seq for row in rows if isinstance(row, EpisodeRow)]
        beside = self._neighbours(spoken)
        near = self._found(seq for pair in beside.values() for seq in pair if seq)
        self._measure(map(doc_of, (*rows, *(row for row in near if not _echoes(row)))))
        return features(self._asked, self._terms, [self._candidate(row) for row in rows])

    def _by_words(self, depth: int) -> tuple[list[Doc], bool]:
        """Texts by BM25 of the query's terms. Hidden texts are on the other shelf."""
        docs, is_all = self._matched(depth)
        if self._wish.include:
            rest = self._included(depth)
            docs = sorted([*docs, *rest], key=lambda doc: (-doc[1], -doc[0]))
            is_all = is_all and len(rest) < depth
        return docs, is_all

    def _matched(self, depth: int) -> tuple[list[Doc], bool]:
        """The best recallable texts of the handle's user, until enough pass the filter.

        Most handles see most texts, and a read for one user is slower, so it is used only if texts
        of others are among the best.
        """
        terms, user = self._asked.terms, None
        docs = self._reads.match("recallable", terms, depth)
        if self._wish.user is not None and len(self._ours(docs)) < len(docs):
            user = self._wish.user
            docs = self._reads.match("recallable", terms, depth, user)
        look = depth
        while len(docs) == look < _DEEPER * depth and len(self._wanted(docs)) < depth:
            look *= 4
            docs = self._reads.match("recallable", terms, look, user)
        wanted = self._wanted(docs[depth:])
        return docs[:depth] + [doc for doc in docs[depth:] if doc[0] in wanted], len(docs) < look

    def _ours(self, docs: Sequence[Doc]) -> list[TextRow]:
        return [row for row in self._found(doc for doc, _ in docs) if self._wish.may_see(row)]

    def _wanted(self, docs: Sequence[Doc]) -> set[int]:
        """Those of these texts that have the right unit and pass the filter."""
        wish = self._wish
        if wish.unit == "any" and wish.filter is None:
            return {doc for doc, _ in docs}
        return {doc_of(row) for row in self._found(doc for doc, _ in docs) if wish.wants(row)}

    def _included(self, depth: int) -> list[Doc]:
        """The same among hidden texts. Many of them are not included, so the search goes deeper
        until enough are: otherwise unverified texts would displace the others.
        """
        look = depth
        while True:  # ends: each round searches deeper, until there are no more texts
            docs = self._reads.match("rest", self._asked.terms, look, self._wish.user)
            shown = set(map(doc_of, showing(self._found(doc for doc, _ in docs), self._wish)))
            found = [each for each in docs if each[0] in shown]
            if len(found) >= depth or len(docs) < look:
                return found[:depth]
            look *= 4

    def _by_vectors(self, depth: int) -> list[tuple[list[Doc], bool]]:
        """The nearest acceptable texts of each leg."""
        made: list[tuple[list[Doc], bool]] = []
        for leg, known in zip(self._question.legs, self._near, strict=True):
            docs = leg.vectors.best(leg.row, depth, self._acceptable)
            known.update(docs)
            made.append((docs, len(docs) < depth))
        return made

    def _best(self, found: Sequence[Doc]) -> list[int]:
        """The best visible candidates of a leg; hidden ones must not displace them."""
        docs = [doc for doc, _ in found]
        if self._wish.include or self._wish.user is not None:  # otherwise hardly any text is hidden
            docs = [doc_of(row) for row in showing(self._found(docs), self._wish)]
        return docs[:_WITH_NEIGHBOURS]

    def _acceptable(self, docs: Sequence[int]) -> set[int]:
        """Those of these texts that the handle may see and the query wants."""
        wish = self._wish
        rows = showing(self._found(docs), wish)
        return {
            doc_of(row) for row in rows if (wish.include or _is_recallable(row)) and wish.wants(row)
        }

    def _found(self, docs: Iterable[int]) -> list[TextRow]:
        """The rows of these texts, where they exist."""
        docs = list(docs)
        missing = [doc for doc in docs if doc not in self._rows]
        if missing:
            past = "superseded" in self._wish.include
            self._rows.update(dict.fromkeys(missing))
            versions = self._reads.versions_of(missing, past=past)
            self._rows.update((row.text_seq, row) for row in versions)
            self._rows.update((row.seq, row) for row in self._reads.episodes_of(missing))
        return [row for doc in docs if (row := self._rows[doc]) is not None]

    def _neighbours(self, docs: Sequence[int]) -> dict[int, tuple[int | None, int | None]]:
        missing = [doc for doc in docs if doc not in self._beside]
        if missing:
            self._beside.update(dict.fromkeys(missing, (None, None)))
            self._beside.update(self._reads.neighbours(missing))
        return {doc: self._beside[doc] for doc in docs}

    def _measure(self, docs: Iterable[int]) -> None:
        """How near each of these texts is, for every leg."""
        docs = list(docs)
        for leg, known in zip(self._question.legs, self._near, strict=True):
            missing = [doc for doc in docs if doc not in known]
            if missing:
                known.update(leg.vectors.scores(leg.row, missing))

    def _candidate(self, row: TextRow) -> Candidate:
        match = self._match(row)
        if isinstance(row, VersionRow):
            return Candidate(match, facts(row.text))
        about = facts(row.text, of_person=row.role != "assistant")
        days = self._asked.days
        date = closeness(days, datetime.fromisoformat(row.said_at)) if days else 0.0
        if row.session is None:
            return Candidate(match, about, row.role == "assistant", date=date)
        before, after = (self._neighbour(row, seq) for seq in self._beside[row.seq])
        return Candidate(
            match,
            about,
            row.role == "assistant",
            session=(row.user, row.session),
            date=date,
            before=self._match(before) if before else NOTHING,
            after=self._match(after) if after else NOTHING,
            before_asks=before is not None and asks(before.text),
        )

    def _neighbour(self, row: EpisodeRow, seq: int | None) -> EpisodeRow | None:
        """The turn next to it, if it is a person's or a short question; other turns repeat."""
        found = None if seq is None else self._rows[seq]
        if not isinstance(found, EpisodeRow) or found.user != row.user:
            return None
        return found if _is_recallable(found) and not _echoes(found) else None

    def _match(self, row: TextRow) -> Match:
        doc = doc_of(row)
        if doc in self._matches:
            return self._matches[doc]
        parts = self._terms.parts_of(row.text)
        near: dict[Grain, float] = {}
        for leg, known in zip(self._question.legs, self._near, strict=True):
            if doc in known:  # the better of two legs with the same unit of text
                near[leg.grain] = max(min(1.0, known[doc]), near.get(leg.grain, 0.0))
        words = self._terms.share(parts) if any(parts) else 0.0
        match = Match(parts, words, near.get("sentence"), near.get("chunk"))
        self._matches[doc] = match
        return match


def _echoes(row: TextRow) -> bool:
    """True for an assistant's turn, unless it is a short question."""
    if not isinstance(row, EpisodeRow) or row.role != "assistant":
        return False
    return len(row.text) > _ASKING_MAX_CHARS or not asks(row.text)


def _is_recallable(row: TextRow) -> bool:
    """True for a row on the recallable shelf."""
    return recallable_episode(row) if isinstance(row, EpisodeRow) else recallable_record(row)
