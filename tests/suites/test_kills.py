"""`kill -9` at random moments of a writing process.

What it can see: a write acknowledged before the system had it, an append that is there in part,
a start that fails. What it cannot see: a missing fsync (the system outlives the process).
"""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tests.suites.conftest import Tell
from tests.suites.killing import Ack, Found, Order, Server, judge, serving

KILLS_PER_WORKSPACE = 50
REBUILD_EVERY = 25


def kill_often(
    server: Server,
    where: Path,
    kills: int,
    rng: random.Random,
    *,
    early: bool = False,
    apart: bool = False,
) -> Found:
    """Kill a writer again and again in one workspace; judge what is left each time."""
    total = Found()
    acks: list[Ack] = []
    for number in range(1, kills + 1):
        if rng.random() < 0.1:
            (where / "index.db").unlink(missing_ok=True)
        opening = rng.random() < 0.1
        delay_s = rng.uniform(0, 0.02) if opening else rng.uniform(0.001, 0.06)
        order = Order(
            where=str(where), seed=rng.getrandbits(32), round=number, early=early, apart=apart
        )
        fresh = server.round(order, delay_s, opening=opening)
        acks += fresh
        total.add(judge(where, fresh, rebuild=number % REBUILD_EVERY == 0))
    again = judge(where, acks, rebuild=True)
    total.lost += again.lost
    total.unclean += again.unclean
    return total


def run_suite(where: Path, kills: int, tell: Tell) -> None:
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    total = Found()
    started = time.perf_counter()
    with serving() as server:
        for first in range(0, kills, KILLS_PER_WORKSPACE):
            count = min(KILLS_PER_WORKSPACE, kills - first)
            total.add(kill_often(server, where / str(first), count, rng))
    took_s = time.perf_counter() - started
    tell(
        f"kills: {kills} kills, {total.acknowledged:,} acknowledged, {len(total.lost)} lost, "
        f"{len(total.half)} half, {kills - len(total.unclean)} clean reopens, {took_s:.0f} s"
    )
    assert total.unclean == [], f"seed {seed}"
    assert total.lost == [], f"seed {seed}"
    assert total.half == [], f"seed {seed}"
    assert total.acknowledged > kills


def test_forty_kills_lose_nothing(tmp_path: Path, tell: Tell) -> None:
    run_suite(tmp_path, 40, tell)


@pytest.mark.slow
def test_five_hundred_kills_lose_nothing(tmp_path: Path, tell: Tell) -> None:
    run_suite(tmp_path, 500, tell)


def test_control_a_writer_that_acknowledges_early_is_seen_to_lose(
    tmp_path: Path, tell: Tell
) -> None:
    rng = random.Random()
    lost: list[str] = []
    kills = 0
    with serving() as server:
        while not lost and kills < 60:
            kills += 3
            lost = kill_often(server, tmp_path / str(kills), 3, rng, early=True).lost
    assert lost
    tell(f"kills: control: acknowledged early, {len(lost)} seen lost after {kills} kills")


def test_control_a_batch_written_one_by_one_is_seen_half(tmp_path: Path, tell: Tell) -> None:
    rng = random.Random()
    half: list[str] = []
    kills = 0
    with serving() as server:
        while not half and kills < 200:
            kills += 5
            half = kill_often(server, tmp_path / str(kills), 5, rng, apart=True).half
    assert half
    tell(f"kills: control: batch one by one, {len(half)} seen half after {kills} kills")
