"""SIGTERM and `kill -9` of `recollect serve` under 16 writers that send again with their keys.

What it can see: an acknowledgement before the write is durable, a retry that writes twice, a
service that ends SIGTERM otherwise than with 0, a store that a service cannot open again.
"""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import pytest

from tests.postgres.conftest import database, server, template, url
from tests.suites.conftest import Tell
from tests.suites.service_runs import Judged, Writers, judge, new_store, serving

__all__ = ["database", "server", "template", "url"]  # fixtures

HOW = {"SIGTERM": signal.SIGTERM, "kill -9": signal.SIGKILL}


def run(
    where: str, home: Path, how: signal.Signals, times: int, tell: Tell, *, keys: bool = True,
    early: bool = False,
) -> Judged:  # fmt: skip
    """Ends a service so often, starts it again each time, then looks at everything."""
    token, rng = new_store(where), random.Random()
    began, codes = time.perf_counter(), list[int]()
    with serving(where, home) as service:
        with Writers([service.port], token, keys=keys, early=early) as writers:
            for _ in range(times):
                writers.wait_for(16)
                time.sleep(rng.uniform(0, 0.05))
                codes.append(service.end(how))
                service.start()
            writers.wait_for(16)
        service.end(signal.SIGTERM)
    found = judge(where, writers.acknowledged)
    tell(
        f"service: {times} times {how.name}, {len(writers.acknowledged):,} acknowledged in "
        f"{writers.tries:,} tries, {len(found.lost)} lost, {len(found.twice)} twice, "
        f"{time.perf_counter() - began:.0f} s"
    )
    assert set(codes) == {0 if how == signal.SIGTERM else -how}
    assert writers.wrong == []
    assert found.is_sound
    return found


def check(found: Judged) -> None:
    assert found.lost == []
    assert found.twice == []


@pytest.mark.parametrize("how", HOW)
def test_two_ends_lose_nothing(tmp_path: Path, tell: Tell, how: str) -> None:
    check(run(str(tmp_path / "m"), tmp_path, HOW[how], 2, tell))


def test_an_end_on_a_server_lose_nothing(url: str, tmp_path: Path, tell: Tell) -> None:
    check(run(url, tmp_path, HOW["kill -9"], 1, tell))


@pytest.mark.nightly
@pytest.mark.parametrize("how", HOW)
def test_two_hundred_ends_lose_nothing(tmp_path: Path, tell: Tell, how: str) -> None:
    check(run(str(tmp_path / "m"), tmp_path, HOW[how], 200, tell))


@pytest.mark.nightly
@pytest.mark.parametrize("how", HOW)
def test_two_hundred_ends_on_a_server_lose_nothing(
    url: str, tmp_path: Path, tell: Tell, how: str
) -> None:
    check(run(url, tmp_path, HOW[how], 200, tell))


def test_control_without_keys_some_are_written_twice(tmp_path: Path, tell: Tell) -> None:
    twice: list[str] = []
    for number in range(15):
        where = tmp_path / str(number)
        where.mkdir()
        found = run(str(where / "m"), where, signal.SIGKILL, 2, tell, keys=False)
        assert found.lost == []
        twice = found.twice
        if twice:
            break
    assert twice


def test_control_what_counts_as_acknowledged_when_sent_is_lost(tmp_path: Path, tell: Tell) -> None:
    assert run(str(tmp_path / "m"), tmp_path, signal.SIGKILL, 2, tell, early=True).lost
