"""Stage two: five signals, their shares, and nothing but reordering."""

from __future__ import annotations

import math
import random
from typing import get_args

import pytest

from recollect.model.events import Tier
from recollect.model.presets import BUILT_IN, SIGNALS, Weights
from recollect.model.values import Hit
from recollect.recall.presets import DECAY_PER_HOUR, log_normalise, recency, scored
from tests.recall.making import episode, random_weights, record


def test_every_share_times_its_weight_sums_to_the_score_and_only_the_order_changes() -> None:
    rng = random.Random(5)
    for _ in range(300):
        hits = [
            record(
                f"r{n}",
                relevance=rng.random(),
                confidence=rng.random(),
                reinforced=rng.choice([0, 0, 1, 5, 900]),
                tier=rng.choice(get_args(Tier)),
            )
            if rng.random() < 0.7
            else episode(f"e{n}", relevance=rng.random())
            for n in range(rng.randint(1, 12))
        ]
        weights = random_weights(rng)
        hours = {hit.id: rng.choice([0.0, 3.5, 4_000.0]) for hit in hits}
        degrees = {hit.id: rng.random() * 9 for hit in hits if hit.record and rng.random() < 0.5}
        made = scored(weights, hits, hours, degrees)
        assert {hit.id for hit in made} == {hit.id for hit in hits}
        assert [hit.score for hit in made] == sorted((hit.score for hit in made), reverse=True)
        for hit in made:
            assert tuple(hit.shares) == SIGNALS
            assert math.fsum(hit.shares.values()) == hit.score
            assert 0.0 <= hit.score <= 1.0 + 1e-12
            for name, weight in zip(SIGNALS, weights.each, strict=True):
                assert 0.0 <= hit.shares[name] <= weight


def test_similarity_is_the_relevance_that_stage_one_gave() -> None:
    (hit,) = scored(BUILT_IN["attention"].weights, [record("r", relevance=0.5)], {}, {})
    assert hit.shares["similarity"] == 0.35 * 0.5
    assert hit.relevance == 0.5


def test_recency_falls_with_active_hours_by_tier() -> None:
    # The seed names one figure, 0.01 an hour: the standard tier
    assert recency(0.0, "standard") == 1.0
    assert recency(100.0, "standard") == math.exp(-1.0)
    assert recency(1e9, "permanent") == 1.0
    assert list(DECAY_PER_HOUR) == list(get_args(Tier))
    assert sorted(DECAY_PER_HOUR.values()) == list(DECAY_PER_HOUR.values())
    assert recency(-3.0, "ephemeral") == 1.0  # a clock that was set back makes nothing fresher


def test_counts_are_log_normalised() -> None:
    assert log_normalise(0, 10) == 0.0
    assert log_normalise(0, 0) == 0.0
    assert log_normalise(10, 10) == 1.0
    assert log_normalise(3, 10) == math.log(4) / math.log(11)


def test_an_episode_is_neither_lifted_nor_sunk_by_what_it_cannot_have() -> None:
    records = [record("a", confidence=0.2, reinforced=0), record("b", confidence=0.8, reinforced=3)]
    said = episode("e")
    shares = {
        hit.id: hit.shares
        for hit in scored(BUILT_IN["self"].weights, [*records, said], {}, {"a": 2.0})
    }
    for signal in ("confidence", "centrality", "reinforcement"):
        between = sorted([shares["a"][signal], shares["b"][signal]])
        assert between[0] < shares["e"][signal] < between[1]
    alone = scored(BUILT_IN["self"].weights, [episode("e1", relevance=0.9), episode("e2")], {}, {})
    assert [hit.id for hit in alone] == ["e1", "e2"]


def test_equal_scores_keep_the_order_of_stage_one() -> None:
    hits = [record(f"r{n}") for n in (3, 1, 2)]
    made = scored(BUILT_IN["task"].weights, hits, {}, {})
    assert [hit.id for hit in made] == ["r3", "r1", "r2"]


def test_nothing_gives_nothing() -> None:
    assert scored(BUILT_IN["task"].weights, [], {}, {}) == []


@pytest.mark.parametrize("signal", SIGNALS)
def test_control_each_signal_decides_when_it_alone_counts(signal: str) -> None:
    """If a signal were left out or mixed up with another, its own winner would not lead."""
    weights = Weights(**{name: float(name == signal) for name in SIGNALS})
    hits: list[Hit] = [
        record("similarity", relevance=1.0, confidence=0.1),
        record("confidence", relevance=0.1, confidence=1.0),
        record("recency", relevance=0.1, confidence=0.1),
        record("centrality", relevance=0.1, confidence=0.1),
        record("reinforcement", relevance=0.1, confidence=0.1, reinforced=9),
    ]
    hours = {hit.id: 500.0 for hit in hits} | {"recency": 0.0}
    made = scored(weights, hits, hours, {"centrality": 4.0})
    assert made[0].id == signal
    assert made[0].score > made[1].score
