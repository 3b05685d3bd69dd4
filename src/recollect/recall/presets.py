"""Stage two: a preset's weights reorder the hits of stage one.

Responsible for the five signals and for a score that is the sum of its shares. Leaves relevance to
stage one and choosing what is packed to ``recall.pack``. Invariants: only earlier values are added
here; the signals come only from trusted rows and links; equal scores keep their order.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Final

import msgspec

from recollect.index.rows import EpisodeRow, VersionRow
from recollect.index.values import episode_of, record_of
from recollect.model.events import Tier
from recollect.model.presets import SIGNALS, Weights
from recollect.model.values import Hit

# Raise it with any change that affects the order: candidates, relevance, signals, packing.
RANKING_VERSION: Final = 12

# How fast recency falls with each active hour; the default is that of the standard tier.
DECAY_PER_HOUR: Final[dict[Tier, float]] = {
    "permanent": 0.0,
    "durable": 0.001,
    "standard": 0.01,
    "ephemeral": 0.05,
}
_UNKNOWN: Final = 0.5  # for an episode, if there is no record among the hits


def scored(
    weights: Weights,
    hits: Sequence[Hit],
    hours: Mapping[str, float],
    degrees: Mapping[str, float],
) -> list[Hit]:
    """The hits by score, each with its shares.

    ``hours`` are the active hours since a record was last reinforced or an episode observed;
    ``degrees`` the summed weights of a record's trusted links.
    """
    most_degree = max((degrees.get(hit.id, 0.0) for hit in hits), default=0.0)
    most_count = max((hit.record.reinforcement_count for hit in hits if hit.record), default=0)
    own = {
        hit.id: (
            hit.record.confidence,
            log_normalise(degrees.get(hit.id, 0.0), most_degree),
            log_normalise(hit.record.reinforcement_count, most_count),
        )
        for hit in hits
        if hit.record is not None
    }
    # An episode has none of these three. It gets the mean of the records among the hits, so that
    # being verbatim neither lifts nor sinks it; its relevance and its age decide.
    neutral = tuple(_mean([each[place] for each in own.values()]) for place in range(3))
    made: list[Hit] = []
    for hit in hits:
        confidence, centrality, reinforcement = own.get(hit.id, neutral)
        tier: Tier = hit.record.decay_tier if hit.record else "standard"
        recent = recency(hours.get(hit.id, 0.0), tier)
        signals = (hit.relevance, confidence, recent, centrality, reinforcement)
        made.append(_with_shares(hit, weights, signals))
    return sorted(made, key=lambda hit: -hit.score)


def with_earlier(
    ranked: Sequence[Hit], earlier: Sequence[Hit], guaranteed: Collection[str]
) -> list[Hit]:
    """The hits that are not guaranteed, and earlier values, each before what replaced it.

    An earlier value has the signals of what replaced it, except its own relevance.
    """
    made: list[Hit] = []
    for hit in ranked:
        before = (each for each in earlier if each.current and each.current.id == hit.id)
        made += [_like(each, hit) for each in before]
        if hit.id not in guaranteed:
            made.append(hit)
    return made


def _like(earlier: Hit, hit: Hit) -> Hit:
    """An earlier value, scored as a preset scored what replaced it."""
    rate = hit.shares["similarity"] / hit.relevance if hit.relevance else 0.0
    shares = {**hit.shares, "similarity": rate * earlier.relevance}
    score = math.fsum(shares.values())
    return msgspec.structs.replace(earlier, score=score, shares=shares, match=earlier.shares)


def recency(hours: float, tier: Tier) -> float:
    """The recency, from 0 to 1, of something this many active hours old."""
    return math.exp(-DECAY_PER_HOUR[tier] * max(hours, 0.0))


def log_normalise(value: float, most: float) -> float:
    """A count between 0 and 1, so that the first few matter more than the next many."""
    return math.log1p(value) / math.log1p(most) if most > 0 else 0.0


def hit_of(row: VersionRow | EpisodeRow) -> Hit:
    """A row as a hit that no query found."""
    if isinstance(row, EpisodeRow):
        return Hit(
            id=row.id,
            unit="episode",
            text=row.text,
            relevance=0.0,
            trust=row.trust,
            at=row.said_at,
            episode=episode_of(row),
        )
    return Hit(
        id=row.id,
        unit="record",
        text=row.text,
        relevance=0.0,
        trust=row.trust,
        at=row.said_at or row.at,
        record=record_of(row),
    )


def _with_shares(hit: Hit, weights: Weights, signals: tuple[float, ...]) -> Hit:
    shares = {
        name: weight * signal
        for name, weight, signal in zip(SIGNALS, weights.each, signals, strict=True)
    }
    return msgspec.structs.replace(
        hit, score=math.fsum(shares.values()), shares=shares, match=hit.shares
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else _UNKNOWN
