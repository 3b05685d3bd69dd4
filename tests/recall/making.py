"""Hits, weights and presets for tests of the pure part of recall."""

from __future__ import annotations

import random

from recollect.model.events import Tier
from recollect.model.presets import SIGNALS, Weights
from recollect.model.values import Episode, Hit, Record, Scope, Source

AT = "2026-01-01T00:00:00.000000Z"


def record(
    id: str,
    text: str = "",
    *,
    relevance: float = 0.5,
    confidence: float = 0.7,
    reinforced: int = 0,
    tier: Tier = "standard",
    evidence: tuple[str, ...] = (),
    tags: tuple[str, ...] = (),
) -> Hit:
    """A record that a question found."""
    value = Record(
        id=id,
        text=text or f"the words of {id}",
        kind="fact",
        key=None,
        about=None,
        tags=tags,
        scope=Scope(),
        confidence=confidence,
        how_known="told",
        evidence=evidence,
        is_hypothesis=False,
        status="active",
        reason=None,
        valid_from=None,
        valid_to=None,
        expires=None,
        trust="person",
        replaces=None,
        replaced_by=None,
        reinforcement_count=reinforced,
        last_reinforced_at="2026-01-01T00:00:00.000000Z",
        reinforced_hours=0.0,
        decay_tier=tier,
        data={},
        content_id="0" * 16,
        created_at=AT,
        at=AT,
        seq=7,
    )
    return Hit(
        id=id,
        unit="record",
        text=value.text,
        relevance=relevance,
        trust="person",
        at=AT,
        record=value,
        sources=tuple(
            Source(id=name, quote="", role="user", said_at=AT, status="visible")
            for name in evidence
        ),
        score=relevance,
        shares={"text": relevance},
    )


def episode(id: str, text: str = "", *, relevance: float = 0.5) -> Hit:
    """An episode that a question found."""
    value = Episode(
        id=id,
        text=text or f"the words of {id}",
        role="user",
        scope=Scope(),
        said_at=AT,
        at=AT,
        metadata={},
        trust="person",
        status="visible",
        seq=8,
    )
    return Hit(
        id=id,
        unit="episode",
        text=value.text,
        relevance=relevance,
        trust="person",
        at=AT,
        episode=value,
        score=relevance,
        shares={"text": relevance},
    )


def random_weights(rng: random.Random) -> Weights:
    """Five that sum to 1, some of them nothing."""
    parts = [rng.random() * rng.choice([0, 1, 1]) for _ in SIGNALS]
    parts[rng.randrange(5)] += 0.01
    total = sum(parts)
    return Weights(**{name: part / total for name, part in zip(SIGNALS, parts, strict=True)})
