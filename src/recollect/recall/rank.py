"""From ranked candidates to hits.

Responsible for dropping hidden rows, and for merging an episode into the record that it is evidence
for. Leaves finding to ``finding.candidates`` and the order to ``recall.relevance``.
Invariant: nothing is reordered here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import msgspec

from recollect.index.rows import (
    EpisodeRow,
    VersionRow,
    episode_of,
    record_of,
    source_of,
    unpack_names,
)
from recollect.model.values import Hit, Include
from recollect.recall.relevance import RANKING_SIGNALS, Features, shares_of, strength_of
from recollect.recall.visibility import why_episode_hidden, why_hidden

if TYPE_CHECKING:  # loaded only when a filter is used
    from recollect.index.filter import Filter

TextRow = VersionRow | EpisodeRow
AnyTextRow = TypeVar("AnyTextRow", bound=TextRow)
Rests = Callable[[EpisodeRow, VersionRow], bool]  # of an episode that a version names

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


class Ended(NamedTuple):
    """An earlier value: the last row that had it, when it was replaced, and what holds now."""

    row: VersionRow
    until: str
    head: VersionRow


class Ranked(NamedTuple):
    """A candidate with its signals, their score, and the relevance of that score."""

    row: TextRow
    features: Features
    score: float
    relevance: float
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

    def may_see(self, row: TextRow) -> bool:
        """True if the caller may see a row."""
        return self.user is None or row.user == self.user

    def wants(self, row: TextRow) -> bool:
        """True if a row has the right unit and passes the filter."""
        of_unit = self.unit == "any" or (self.unit == "record") == isinstance(row, VersionRow)
        return of_unit and (self.filter is None or self.filter.matches(row))


def doc_of(row: TextRow) -> int:
    """The number of a row in full text."""
    return row.text_seq if isinstance(row, VersionRow) else row.seq


def showing(rows: Iterable[AnyTextRow], wish: Wish) -> list[AnyTextRow]:
    """The candidates that may be trusted hits or be quoted by them."""
    shown: list[AnyTextRow] = []
    for row in rows:
        hidden = hidden_as(row, wish)
        if (hidden is None or hidden in wish.include) and wish.may_see(row):
            shown.append(row)
    return shown


def hidden_as(row: TextRow, wish: Wish) -> Include | None:
    """The word for why a default recall leaves a row out."""
    if isinstance(row, VersionRow):
        return why_hidden(row, position=wish.position, now=wish.now, valid_at=wish.valid_at)
    return why_episode_hidden(row)


def enough(order: Sequence[Ranked], wish: Wish) -> list[Ranked]:
    """The candidates that are relevant enough.

    By default a text with a word of the query is. One that was found by its meaning alone must be
    more than just the nearest one that exists.
    """
    if wish.min_relevance is not None:
        return [one for one in order if one.relevance >= wish.min_relevance]
    best = next((one for one in order if wish.wants(one.row)), None)
    return [one for one in order if one.has_words or (best and _is_worth(one, best))]


def _is_worth(one: Ranked, best: Ranked) -> bool:
    """True if a text without a word of the query is worth showing."""
    near = max(one.features[_SENTENCE], one.features[_CHUNK])
    if one.relevance >= _UNSAID_MIN or near >= _NEAR_MIN or one.features[_DATE]:
        return True
    return best.relevance >= _BEST_MIN and one.score >= _BEST_PART * best.score


def hits(
    order: Sequence[Ranked], weights: Sequence[float], wish: Wish, rests: Rests, at_most: int
) -> list[Hit]:
    """The first hits in this order; an episode is quoted under the record that rests on it.

    Only if that record is among the hits: otherwise the episode is a hit of its own.
    """
    wanted = [one for one in order if one.repeated_by is None and wish.wants(one.row)]
    episodes = {one.row.id: one.row for one in order if isinstance(one.row, EpisodeRow)}
    told = _told(wanted, episodes, rests)
    while True:  # ends: each round has fewer episodes
        first = [one for one in wanted if one.row.id not in told][:at_most]
        here = told & _told(first, episodes, rests)
        if here == told:
            break
        told = here
    return [_hit(one, shares_with(one, weights), episodes, rests) for one in first]


def shares_with(one: Ranked, weights: Sequence[float]) -> dict[str, float]:
    """What each signal adds to a candidate's score, and what the conversation around it does."""
    return {**shares_of(one.features, weights), **dict(one.extra)}


def _told(order: Sequence[Ranked], episodes: Mapping[str, EpisodeRow], rests: Rests) -> set[str]:
    """The episodes that are quoted by records among these."""
    if not episodes:
        return set()
    return {
        name
        for one in order
        if isinstance(one.row, VersionRow)
        for name in unpack_names(one.row.evidence)
        if name in episodes and rests(episodes[name], one.row)
    }


def _hit(
    one: Ranked, shares: dict[str, float], episodes: Mapping[str, EpisodeRow], rests: Rests
) -> Hit:
    row = one.row
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
    names = unpack_names(row.evidence) if episodes else ()
    named = [episodes[name] for name in names if name in episodes]
    sources = [source_of(episode) for episode in named if rests(episode, row)]
    return Hit(
        id=row.id,
        unit="record",
        text=row.text,
        relevance=one.relevance,
        strength=strength_of(one.relevance),
        trust=row.trust,
        at=row.said_at or row.at,
        record=record_of(row),
        sources=tuple(sources),
        score=one.score,
        shares=shares,
        corrects=one.corrects,
        corrected_by=one.corrected_by,
        until=None if one.ended is None else one.ended.until,
        current=None if one.ended is None else record_of(one.ended.head),
    )
