"""Two services in front of one PostgreSQL server are restarted in turn, under writers and streams.

What it can see: a write that is lost or made twice, an event that a stream misses or gets twice, a
request that is refused with anything a client cannot simply send again.
"""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from recollect.memory import Memory
from tests.postgres.conftest import database, server, template, url
from tests.suites.conftest import Tell
from tests.suites.service_runs import Service, Writers, judge, new_store, serving
from tests.suites.service_streams import Readers

__all__ = ["database", "server", "template", "url"]  # fixtures


def run(
    url: str, home: Path, tell: Tell, *, rounds: int, streams: int, how: signal.Signals
) -> Writers:
    """Restarts one after the other so often; returns what the writers heard."""
    token, began = new_store(url), time.perf_counter()
    options = ("--streams", str(2 * streams), "--streams-per-token", str(2 * streams))
    start = _position(url)
    with serving(url, home, *options) as one, serving(url, home, *options) as other:
        ports = [one.port, other.port]
        with Readers(ports, token, streams, after=start) as readers:
            readers.wait_until_connected(60)
            with Writers(ports, token) as writers:
                for _ in range(rounds):
                    for service in (one, other):
                        _restart(service, writers, how)
                writers.wait_for(32)
            end = _position(url)
            readers.wait_until(end, 120)
    found = judge(url, writers.acknowledged)
    missed = readers.missed(end - start)
    refused = {status: count for status, count in writers.statuses.items() if status >= 400}
    tell(
        f"rolling restart: {2 * rounds} times {how.name}, {len(writers.acknowledged):,} "
        f"acknowledged, {len(found.lost)} lost, {len(found.twice)} twice; {streams} streams, "
        f"{missed} missed, {readers.twice} twice; refused {refused}, "
        f"{len(writers.wrong)} of them wrongly; {time.perf_counter() - began:.0f} s"
    )
    assert (found.lost, found.twice, found.is_sound) == ([], [], True)
    assert (missed, readers.twice) == (0, 0)
    return writers


def _restart(service: Service, writers: Writers, how: signal.Signals) -> None:
    writers.wait_for(32)
    code = service.end(how)
    assert code == (0 if how == signal.SIGTERM else -how)
    writers.wait_for(16)  # the other one serves them
    service.start()


def _position(url: str) -> int:
    with Memory.open(url, embedder="none") as memory:
        return memory.events.position


def test_a_rolling_restart_is_not_noticed(url: str, tmp_path: Path, tell: Tell) -> None:
    assert run(url, tmp_path, tell, rounds=1, streams=10, how=signal.SIGTERM).wrong == []


@pytest.mark.nightly
def test_ten_rolling_restarts_are_not_noticed(url: str, tmp_path: Path, tell: Tell) -> None:
    assert run(url, tmp_path, tell, rounds=10, streams=100, how=signal.SIGTERM).wrong == []
