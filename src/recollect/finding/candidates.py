"""What a query finds: the candidates of every leg, with the rows that their signals need.

Responsible for choosing the texts to look at and for reading them. Leaves the signals of each and
which of them become hits to ``recall.scoring``. Invariant: the signals of a trusted text come only
from trusted texts, so its candidates, neighbours, sessions and statistics do not depend on
unverified ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from recollect.index.cards import Cards
from recollect.index.reads import Reads
from recollect.index.rows import Card, VersionRow
from recollect.recall.asking import ParsedQuery, understand
from recollect.recall.rank import Ranked, Wish, card_for, showing
from recollect.recall.relevance import TURNS_MAX_COUNT, Configuration
from recollect.recall.scoring import (
    Beside,
    Grain,
    Judged,
    Scoring,
    Surroundings,
    echoes,
    is_recallable,
)
from recollect.recall.weights import WEIGHTS, RankingWeights

if TYPE_CHECKING:  # numpy is loaded only if there are vectors
    from recollect.store.port import Vector, Vectors

Doc = tuple[int, float]

_SESSIONS_MIN_COUNT: Final = 4  # too few sessions do not show which names are frequent
_RECENT_MAX_COUNT: Final = 5_000  # episodes that are searched for a name
_WITH_NEIGHBOURS: Final = 20  # candidates of each leg whose neighbours are added
_FORMER_MAX_COUNT: Final = 16  # earlier texts of a record whose echoes sink
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
    """Visible candidates; ``is_all`` if a deeper search would find no more."""

    rows: list[Card]
    is_all: bool
    has_all_words: bool  # no other text contains a word of the query


def understood(reading: Callable[[], Reads], query: str) -> ParsedQuery:
    """A query, parsed for this memory, which is read only if the query may contain a name."""
    recent: list[tuple[int, int]] = []

    def runs_through(token: str) -> bool:
        """True if at least half of the recent sessions contain it."""
        reads = reading()
        if not recent:
            recent.append(reads.sessions(_RECENT_MAX_COUNT))
        first, sessions = recent[0]
        if sessions < _SESSIONS_MIN_COUNT:
            return False
        return 2 * reads.sessions_holding(token, first) >= sessions

    return understand(query, runs_through)


def wished(question: Question, wish: Wish) -> Wish:
    """What a caller wants, with earlier questions if this one is about them."""
    return wish.including("transient") if question.asked.is_about_asking else wish


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


def marked(cards: Cards, found: list[Card], wish: Wish) -> list[Card]:
    """These cards, each with whether the caller wants it; a filter needs the whole rows."""
    if wish.filter is not None:
        rows = cards.rows(found)
        return [_as(card, wish.recalls(card) and wish.wants(rows[card.text_seq])) for card in found]
    if wish.unit != "any":
        found = [_as(card, wish.wants_unit(is_record=card.role is None)) for card in found]
    return [
        _as(card, False)
        if (card.transient or card.text == card.about) and not wish.recalls(card)
        else card
        for card in found
    ]


def _as(card: Card, is_wanted: bool) -> Card:
    return card._replace(is_wanted=is_wanted)


class CandidateSearch:
    """The search for one query through one handle. Each row is read once, however deep it goes."""

    def __init__(self, reads: Reads, question: Question, wish: Wish) -> None:
        asked = question.asked
        self._reads = reads
        self.cards = Cards(reads)
        self._question = question
        self._asked = asked
        self._wish = wish
        self._rows: dict[int, Card | None] = {}
        self._beside: dict[int, Beside] = {}
        self._sizes: dict[tuple[str | None, str | None], int] = {}  # turns of a user's session
        self._near: list[dict[int, float]] = [{} for _ in question.legs]
        near = [(leg.grain, known) for leg, known in zip(question.legs, self._near, strict=True)]
        found = reads.statistics(asked.terms + asked.scaffold)
        self.terms = found.telling(asked.terms)  # those that are searched for
        self._scoring = Scoring(
            asked,
            question.weights,
            found,
            Surroundings(self._rows, self._beside, near, self._sizes),
        )

    def __call__(self, depth: int) -> Candidates:
        """The best candidates of each leg down to a depth, and the neighbours of the first few."""
        legs = [self._by_words(depth), *self._by_vectors(depth)]
        found = {doc for docs, _ in legs for doc, _ in docs}
        rows = showing(self._found(sorted(found)), self._wish)
        best = [doc for docs, _ in legs for doc in self._best(docs)]
        beside = {near for pair in self._neighbours(best) for near in pair if near} - found
        if beside:
            rows += showing(self._turns(sorted(beside)), self._wish)
        return Candidates(rows, all(is_all for _, is_all in legs), legs[0][1])

    def judged(self, rows: Sequence[Card], k: int) -> Judged:
        """The best k hits among these candidates, and what became of the others."""
        self._read_for(rows)
        return self._scoring.judged(rows, self._wish, self.cards, self._former, k)

    def answered(self, rows: Sequence[Card], k: int) -> Judged:
        """The same; for a question about an earlier value with earlier values among the hits."""
        made = self.judged(rows, k)
        is_asked = self._asked.is_earlier or self._asked.is_then
        if not is_asked or "replaced" in self._wish.include:
            return made
        from recollect.finding.earlier import (
            HEADS_MAX_COUNT,
            earlier_values,
            found_by_earlier,
            held_then,
        )

        kept = [one.row for one in made.kept if one.row.role is None][:HEADS_MAX_COUNT]
        whole = self.cards.rows(kept)
        heads = {card.id: cast("VersionRow", whole[card.text_seq]) for card in kept}
        heads |= {
            row.id: row
            for row in found_by_earlier(self._reads, self._wish, self.terms)
            if row.id not in heads
        }
        earlier = earlier_values(self._reads, self._wish, list(heads.values()))
        if self._asked.is_then:
            earlier = held_then(self._reads, earlier, self._question.query, self._wish.now)
        if not earlier:
            return made
        found = {row.text_seq for row in rows}
        replaced = (each.head for each in earlier)
        more = {row.id: card_for(row, self._wish) for row in replaced if row.text_seq not in found}
        every = [*rows, *more.values()]
        self._read_for([*every, *(each.card for each in earlier)])
        return self._scoring.judged(every, self._wish, self.cards, self._former, k, earlier)

    def _former(self, row: Card) -> list[str]:
        """The last texts that a record had before: its own, and that of the one it replaced."""
        has_changed = row.at != row.created_at
        versions = self._reads.earlier_texts(row, _FORMER_MAX_COUNT) if has_changed else []
        texts = [version.text for version in versions]
        if has_changed or row.supersedes is not None:
            from recollect.finding.earlier import predecessors

            texts += [before.text for before in predecessors(self._reads, row)]
        return [text for text in dict.fromkeys(texts) if text != row.text]

    def ranked(self, rows: Sequence[Card]) -> list[Ranked]:
        """These rows by score, with their signals relative to each other."""
        self._read_for(rows)
        return self._scoring.ranked(rows)

    def _read_for(self, rows: Sequence[Card]) -> None:
        """Reads what the signals of these rows need: their neighbours, and how near each is."""
        episodes = {row.seq: row for row in rows if row.role is not None}
        self._rows.update(episodes)
        pairs = self._neighbours(list(episodes))
        near = self._turns([seq for pair in pairs for seq in pair if seq])
        if self._question.legs:
            beside = (row for row in near if not echoes(row))
            self._measure(row.text_seq for row in (*rows, *beside))
            self._count_turns(episodes.values())

    def _count_turns(self, episodes: Iterable[Card]) -> None:
        """How many turns the session of each of these has."""
        sessions = {row.seq: (row.user, row.session) for row in episodes if row.session is not None}
        one_of = {name: seq for seq, name in sessions.items() if name not in self._sizes}
        if one_of:
            counts = self._reads.turns(one_of.values(), TURNS_MAX_COUNT)
            self._sizes.update((name, counts.get(seq, 1)) for name, seq in one_of.items())

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
        terms, user = self.terms, None
        docs = self._reads.match("recallable", terms, depth)
        if self._wish.user is not None and len(self._ours(docs)) < len(docs):
            user = self._wish.user
            docs = self._reads.match("recallable", terms, depth, user)
        look = depth
        # Texts that only ask are among most chats, so that a few of them are no reason to go on.
        least = depth if self._is_filtered else depth // 2
        while len(docs) == look < _DEEPER * depth and len(self._wanted(docs)) < least:
            look *= 4
            docs = self._reads.match("recallable", terms, look, user)
        wanted = self._wanted(docs[depth:])
        return docs[:depth] + [doc for doc in docs[depth:] if doc[0] in wanted], len(docs) < look

    @property
    def _is_filtered(self) -> bool:
        return self._wish.unit != "any" or self._wish.filter is not None

    def _ours(self, docs: Sequence[Doc]) -> list[Card]:
        return [row for row in self._found(doc for doc, _ in docs) if self._wish.may_see(row)]

    def _wanted(self, docs: Sequence[Doc]) -> set[int]:
        """Those of these texts that the caller wants."""
        return {row.text_seq for row in self._found(doc for doc, _ in docs) if row.is_wanted}

    def _included(self, depth: int) -> list[Doc]:
        """The same among hidden texts. Many of them are not included, so the search goes deeper
        until enough are: otherwise unverified texts would displace the others.
        """
        look = depth
        while True:  # ends: each round searches deeper, until there are no more texts
            docs = self._reads.match("rest", self.terms, look, self._wish.user)
            rows = showing(self._found(doc for doc, _ in docs), self._wish)
            shown = {row.text_seq for row in rows}
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
        """The best visible candidates of a leg; hidden ones must not displace them.

        Neither must texts that only ask: their neighbours, which may answer, come in addition.
        """
        rows = self._found(doc for doc, _ in found)
        if self._wish.include or self._wish.user is not None:  # otherwise hardly any text is hidden
            rows = showing(rows, self._wish)
        asking = [row.text_seq for row in rows if row.transient and not row.is_wanted]
        if not asking:
            return [row.text_seq for row in rows[:_WITH_NEIGHBOURS]]
        best = [row.text_seq for row in rows if row.is_wanted or not row.transient]
        return best[:_WITH_NEIGHBOURS] + asking[:_WITH_NEIGHBOURS]

    def _acceptable(self, docs: Sequence[int]) -> set[int]:
        """Those of these texts that the handle may see and the query wants."""
        wish = self._wish
        rows = showing(self._found(docs), wish)
        return {
            row.text_seq for row in rows if (wish.include or is_recallable(row)) and row.is_wanted
        }

    def _found(self, docs: Iterable[int]) -> list[Card]:
        """The cards of these texts, where they exist."""
        docs, rows = list(docs), self._rows
        missing = [doc for doc in docs if doc not in rows]
        if missing:
            self._keep(missing, self.cards.of(missing, past="replaced" in self._wish.include))
        return [row for doc in docs if (row := rows[doc]) is not None]

    def _turns(self, seqs: Sequence[int]) -> list[Card]:
        """The same of turns in sessions, which are episodes."""
        rows = self._rows
        missing = [seq for seq in seqs if seq not in rows]
        if missing:
            self._keep(missing, self.cards.of_episodes(missing))
        return [row for seq in seqs if (row := rows[seq]) is not None]

    def _keep(self, missing: Iterable[int], found: list[Card]) -> None:
        self._rows.update(dict.fromkeys(missing))
        self._rows.update((row.text_seq, row) for row in marked(self.cards, found, self._wish))

    def _neighbours(self, docs: Sequence[int]) -> list[Beside]:
        """The turns before and after each of these texts that is a turn of a session."""
        spoken = [doc for doc in docs if self._is_turn(doc)]
        missing = [doc for doc in spoken if doc not in self._beside]
        if missing:
            self._beside.update(dict.fromkeys(missing, (None, None)))
            self._beside.update(self._reads.neighbours(missing))
        return [self._beside[doc] for doc in spoken]

    def _is_turn(self, doc: int) -> bool:
        row = self._rows[doc]
        return row is not None and row.session is not None  # a record's card has none

    def _measure(self, docs: Iterable[int]) -> None:
        """How near each of these texts is, for every leg."""
        docs = list(docs)
        for leg, known in zip(self._question.legs, self._near, strict=True):
            missing = [doc for doc in docs if doc not in known]
            if missing:
                known.update(leg.vectors.scores(leg.row, missing))
