"""From ranked candidates to hits.

Responsible for dropping hidden rows, and for merging an episode into the record that it is evidence
for. Leaves finding to ``finding.candidates`` and the order to ``recall.relevance``.
Invariant: nothing is reordered here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar

import msgspec

from recollect.index.cards import card_of
from recollect.index.rows import Card, EpisodeRow, VersionRow, unpack_names
from recollect.index.values import episode_of, record_of, source_of
from recollect.model.values import Hit, Include
from recollect.model.values.records import REFUTED
from recollect.recall.relevance import RANKING_SIGNALS, Features, shares_of, strength_of
from recollect.recall.visibility import is_name, why_episode_hidden, why_hidden

if TYPE_CHECKING:  # loaded only when a filter is used
    from recollect.index.filter import Filter

TextRow = VersionRow | EpisodeRow
AnyTextRow = TypeVar("AnyTextRow", bound=TextRow)
AnyRow = TypeVar("AnyRow", bound=TextRow | Card)

# A text with no word of the query, in it or beside it, is shown if it is this relevant or this near
# in meaning (a cosine), or if it was said on a date that the query names. If the best hit is likely
# enough, a part of its score will do: there may be several answers.
_UNSAID_MIN: Final = 0.20
_NEAR_MIN: Final = 0.20
_BEST_MIN: Final = 0.30
_BEST_PART: Final = 0.25
COVERAGE, _SENTENCE, _CHUNK, _DATE = map(
    RANKING_SIGNALS.index, ("coverage", "sentence", "chunk", "date")
)


class Library(Protocol):
    """What hits need of the index beyond their cards."""

    def supports(self, episode: Card, record: Card) -> bool:
        """True if a record that names an episode rests on it."""
        ...

    def rows(self, cards: Sequence[Card]) -> Mapping[int, TextRow]:
        """The whole rows of these cards, by number in full text."""
        ...


class Ended(NamedTuple):
    """An earlier value: the last row that had it, when it was replaced, and what holds now."""

    row: VersionRow
    until: str
    head: VersionRow
    card: Card  # of the row


class Ranked(msgspec.Struct, gc=False):
    """A candidate with its signals, their score, and the relevance of that score."""

    row: Card
    features: Features
    score: float
    relevance: float = 0.0  # set when the scores of all candidates are known
    extra: tuple[tuple[str, float], ...] = ()  # what a conversation adds (``recall.talk``)
    said: int = 1
    last_said: str | None = None
    repeated_by: str | None = None  # the best one that says the same
    corrects: tuple[str, ...] = ()
    corrected_by: str | None = None
    ended: Ended | None = None  # of an earlier value

    @property
    def has_words(self) -> bool:
        """True if it, or a turn beside it, contains a word of the query."""
        return self.features[COVERAGE] > 0.0

    @property
    def holder(self) -> str:
        """The id of what holds now: its own, or of what replaced it."""
        return self.row.id if self.ended is None else self.ended.head.id


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller may and wants to see."""

    unit: str
    user: str | None
    filter: Filter | None
    include: frozenset[Include]
    position: int
    now: str
    valid_at: str
    min_relevance: float | None  # None: leave out only what is noise

    def including(self, word: Include) -> Wish:
        """The same, also with what is hidden for this reason."""
        return msgspec.structs.replace(self, include=self.include | {word})

    def may_see(self, row: TextRow | Card) -> bool:
        """True if the caller may see a row."""
        return self.user is None or row.user == self.user

    def wants(self, row: TextRow) -> bool:
        """True if a row has the right unit and passes the filter."""
        has_unit = self.wants_unit(is_record=isinstance(row, VersionRow))
        return has_unit and (self.filter is None or self.filter.matches(row))

    def recalls(self, row: EpisodeRow | Card) -> bool:
        """True unless it says nothing to keep, and that was not asked for."""
        return not (row.transient or is_name(row)) or "transient" in self.include

    def wants_unit(self, *, is_record: bool) -> bool:
        """True if the caller wants records, or wants episodes."""
        return self.unit == "any" or (self.unit == "record") == is_record


def card_for(row: TextRow, wish: Wish) -> Card:
    """The card of a whole row, as a caller wants it."""
    card = card_of(row)
    return card._replace(is_wanted=wish.recalls(card) and wish.wants(row))


def showing(rows: Iterable[AnyRow], wish: Wish) -> list[AnyRow]:
    """The candidates that may be trusted hits or be quoted by them."""
    include, user = wish.include, wish.user
    return [
        row
        for row in rows
        if (user is None or row.user == user)
        and ((hidden := hidden_as(row, wish)) is None or hidden in include)
    ]


def hidden_as(row: TextRow | Card, wish: Wish) -> Include | None:
    """The word for why a default recall leaves a row out. A list shows what was refuted."""
    if isinstance(row, VersionRow) or (isinstance(row, Card) and row.role is None):
        hidden = why_hidden(row, wish.position, wish.now, wish.valid_at)
        return "refuted" if hidden is None and row.confidence <= REFUTED else hidden
    return why_episode_hidden(row)


def enough(order: Sequence[Ranked], wish: Wish) -> list[Ranked]:
    """The candidates that are relevant enough.

    By default a text with a word of the query is. One that was found by its meaning alone must be
    more than just the nearest one that exists.
    """
    if wish.min_relevance is not None:
        return [one for one in order if one.relevance >= wish.min_relevance]
    best = next((one for one in order if one.row.is_wanted), None)
    return [one for one in order if one.features[COVERAGE] > 0.0 or (best and _is_worth(one, best))]


def _is_worth(one: Ranked, best: Ranked) -> bool:
    """True if a text without a word of the query is worth showing."""
    near = max(one.features[_SENTENCE], one.features[_CHUNK])
    if one.relevance >= _UNSAID_MIN or near >= _NEAR_MIN or one.features[_DATE]:
        return True
    return best.relevance >= _BEST_MIN and one.score >= _BEST_PART * best.score


def hits(
    order: Sequence[Ranked], weights: Sequence[float], library: Library, at_most: int
) -> list[Hit]:
    """The first hits in this order; an episode is quoted under the record that rests on it.

    Only if that record is among the hits: otherwise the episode is a hit of its own.
    """
    wanted = [one for one in order if one.repeated_by is None and one.row.is_wanted]
    episodes = {one.row.id: one.row for one in order if one.row.role is not None}
    told = _told(wanted, episodes, library)
    while True:  # ends: each round has fewer episodes
        first = [one for one in wanted if one.row.id not in told][:at_most]
        here = told & _told(first, episodes, library)
        if here == told:
            break
        told = here
    quoted = {one.row.text_seq: _resting(one.row, episodes, library) for one in first}
    rows = library.rows([*(one.row for one in first), *chain.from_iterable(quoted.values())])
    return [
        _hit(
            one,
            rows[one.row.text_seq] if one.ended is None else one.ended.row,
            shares_with(one, weights),
            [rows[episode.text_seq] for episode in quoted[one.row.text_seq]],
        )
        for one in first
    ]


def shares_with(one: Ranked, weights: Sequence[float]) -> dict[str, float]:
    """What each signal adds to a candidate's score, and what the conversation around it does."""
    shares = shares_of(one.features, weights)
    return {**shares, **dict(one.extra)} if one.extra else shares


def _told(order: Sequence[Ranked], episodes: Mapping[str, Card], library: Library) -> set[str]:
    """The episodes that are quoted by records among these."""
    if not episodes:
        return set()
    records = (one.row for one in order if one.row.evidence != "[]")
    return {each.id for row in records for each in _resting(row, episodes, library)}


def _resting(record: Card, episodes: Mapping[str, Card], library: Library) -> list[Card]:
    """Those of these episodes that a record rests on."""
    if record.evidence == "[]" or not episodes:
        return []
    named = (episodes[name] for name in unpack_names(record.evidence) if name in episodes)
    return [episode for episode in named if library.supports(episode, record)]


def _hit(one: Ranked, row: TextRow, shares: dict[str, float], quoted: Sequence[TextRow]) -> Hit:
    if isinstance(row, EpisodeRow):
        return Hit(
            id=row.id,
            unit="episode",
            text=row.text,
            relevance=one.relevance,
            strength=strength_of(one.relevance),
            trust=row.trust,
            at=row.said_at,
            episode=episode_of(row),
            score=one.score,
            shares=shares,
            said=one.said,
            last_said=one.last_said,
            corrects=one.corrects,
            corrected_by=one.corrected_by,
        )
    return Hit(
        id=row.id,
        unit="record",
        text=row.text,
        relevance=one.relevance,
        strength=strength_of(one.relevance),
        trust=row.trust,
        at=row.said_at or row.at,
        record=record_of(row),
        sources=tuple(source_of(each) for each in quoted if isinstance(each, EpisodeRow)),
        score=one.score,
        shares=shares,
        corrects=one.corrects,
        corrected_by=one.corrected_by,
        until=None if one.ended is None else one.ended.until,
        current=None if one.ended is None else record_of(one.ended.head),
    )
