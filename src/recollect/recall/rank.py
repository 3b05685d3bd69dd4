"""From what full text found to hits in order.

Responsible for relevance, for dropping what does not show, and for folding an episode into the
record it is evidence for. Leaves the search itself to ``index.reads``. Invariant: the order of
trusted hits depends on trusted rows alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec

from recollect.index.rows import (
    EpisodeRow,
    VersionRow,
    episode_of,
    record_of,
    source_of,
    supports,
    unpack_names,
)
from recollect.index.text import tokens
from recollect.model.values import Hit, Include
from recollect.recall.shows import why_episode_hidden, why_hidden

if TYPE_CHECKING:  # the filter is loaded only when somebody filters
    from recollect.index.filter import Filter

Found = VersionRow | EpisodeRow
Row = TypeVar("Row", bound=Found)


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller may and wants to see."""

    terms: tuple[str, ...]
    unit: str
    user: str | None
    where: Filter | None
    include: frozenset[Include]
    at: int
    now: str
    valid_at: str
    min_relevance: float

    def may_see(self, row: Found) -> bool:
        """True if a row is the caller's."""
        return self.user is None or row.user == self.user

    def wants(self, row: Found) -> bool:
        """True if a row is of the right unit and passes the filter."""
        of_unit = self.unit == "any" or (self.unit == "record") == isinstance(row, VersionRow)
        return of_unit and (self.where is None or self.where.matches(row))


def in_order(docs: Sequence[tuple[int, float]], found: Iterable[Found]) -> list[Found]:
    """The rows in the order of their texts' scores."""
    place = {doc: index for index, (doc, _) in enumerate(docs)}
    return sorted(found, key=lambda row: place[doc_of(row)])


def doc_of(row: Found) -> int:
    """Under which number full text knows a row."""
    return row.text_seq if isinstance(row, VersionRow) else row.seq


def showing(rows: Iterable[Row], wish: Wish) -> list[Row]:
    """Those that may stand among trusted hits, or be quoted by them."""
    shown: list[Row] = []
    for row in rows:
        hidden = hidden_as(row, wish)
        if (hidden is None or hidden in wish.include) and wish.may_see(row):
            shown.append(row)
    return shown


def hidden_as(row: Found, wish: Wish) -> Include | None:
    """The word for why a default recall leaves a row out."""
    if isinstance(row, VersionRow):
        if row.trust == "unverified" and row.status == "active":
            return "held"
        return why_hidden(row, at=wish.at, now=wish.now, valid_at=wish.valid_at)
    return why_episode_hidden(row)


def hits(rows: Sequence[Found], wish: Wish, at_most: int) -> list[Hit]:
    """The first hits in the rows' order; an episode goes into the record that rests on it."""
    evidence = {
        reference
        for row in rows
        if isinstance(row, VersionRow) and wish.wants(row)
        for reference in unpack_names(row.evidence)
    }
    episodes = {row.id: row for row in rows if isinstance(row, EpisodeRow) and row.id in evidence}
    made: list[Hit] = []
    for row in rows:
        if len(made) == at_most:
            break
        if wish.wants(row) and (isinstance(row, VersionRow) or row.id not in episodes):
            hit = _hit(row, wish.terms, episodes)
            if hit.relevance >= wish.min_relevance:
                made.append(hit)
    return made


def relevance(terms: Collection[str], text: str) -> float:
    """The share of the question's terms that a text holds."""
    if not terms:
        return 0.0
    found = set(tokens(text).split())
    return sum(term in found for term in terms) / len(terms)


def _hit(row: Found, terms: Collection[str], episodes: dict[str, EpisodeRow]) -> Hit:
    found = relevance(terms, row.text)
    if isinstance(row, EpisodeRow):
        return Hit(
            id=row.id,
            unit="episode",
            text=row.text,
            relevance=found,
            trust=row.trust,
            at=row.said_at,
            episode=episode_of(row),
            score=found,
            shares={"text": found},
        )
    named = [episodes[name] for name in unpack_names(row.evidence) if name in episodes]
    quoted = [episode for episode in named if supports(episode, row)]
    return Hit(
        id=row.id,
        unit="record",
        text=row.text,
        relevance=found,
        trust=row.trust,
        at=row.at,
        record=record_of(row),
        sources=tuple(source_of(episode) for episode in quoted),
        score=found,
        shares={"text": found},
    )
