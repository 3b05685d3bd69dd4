"""The primary is lost, or says nothing: what was acknowledged is on its standby, once.

The address of the writers names both servers; the one that can be written is used. Commits wait for
the standby, except in the control.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.store.postgres.ledgers import PostgresBackend
from tests.postgres.halting import EVENT_MAX_S, halted, until
from tests.suites.conftest import Tell, tell
from tests.suites.failing_over import Judged, Writing, judged, writing
from tests.suites.standbys import Pair, pair

__all__ = ["tell"]

BEFORE, AFTER = 12, 6  # texts of each process that are acknowledged before and after a failure


@pytest.fixture
def servers() -> Iterator[Pair]:
    with pair() as found:
        yield found


def check(servers: Pair, running: Writing, tell: Tell, what: str, began: float) -> Judged:
    found = judged(servers.address_of(servers.primary), running.stop())
    tell(
        f"failover, {what}: {found.acknowledged:,} acknowledged, {found.lost} lost, {found.twice} "
        f"twice, {found.moved} moved, chains {'verify' if found.is_sound else 'BROKEN'}, "
        f"{time.perf_counter() - began:.0f} s"
    )
    assert found.is_sound
    return found


def kills(servers: Pair, folder: Path, tell: Tell, *, count: int, threads: int) -> None:
    began, gaps = time.perf_counter(), list[float]()
    servers.replicate()
    with writing(servers.address, folder, processes=2, threads=threads) as running:
        for _ in range(count):
            running.wait_for(BEFORE)
            servers.primary.kill()
            failed = time.perf_counter()
            servers.fail_over()
            running.wait_for(1)
            gaps.append(time.perf_counter() - failed)
            servers.replicate()
        running.wait_for(AFTER)
        what = f"{count} kills under {2 * threads} writers, at most {max(gaps):.1f} s without"
        found = check(servers, running, tell, what, began)
    assert (found.lost, found.twice, found.moved) == (0, 0, 0)
    assert found.acknowledged >= 2 * count * BEFORE


def test_two_kills_of_the_primary_lose_nothing(servers: Pair, tmp_path: Path, tell: Tell) -> None:
    kills(servers, tmp_path, tell, count=2, threads=4)


@pytest.mark.nightly
def test_fifty_kills_of_the_primary_lose_nothing(servers: Pair, tmp_path: Path, tell: Tell) -> None:
    kills(servers, tmp_path, tell, count=50, threads=8)


def test_control_an_asynchronous_standby_loses_what_was_acknowledged(
    servers: Pair, tmp_path: Path, tell: Tell
) -> None:
    began = time.perf_counter()
    servers.replicate(is_synchronous=False)
    with writing(servers.address, tmp_path, processes=2, threads=2) as running:
        running.wait_for(1)
        servers.standby.set("primary_conninfo", "")  # it hears nothing from now on
        until(lambda: servers.primary.ask("SELECT 1 FROM pg_stat_replication") == [])
        running.wait_for(BEFORE)
        servers.primary.kill()
        servers.fail_over()
        running.wait_for(AFTER)
        found = check(servers, running, tell, "control, asynchronous", began)
    assert found.lost >= 2 * (BEFORE - 2)  # each thread may send its last text again
    assert found.twice == 0


def test_a_silent_primary_is_left_and_stays_alone_when_it_is_back(
    servers: Pair, tmp_path: Path, tell: Tell
) -> None:
    """The old primary is not stopped: it answers again while its standby is primary."""
    began = time.perf_counter()
    servers.replicate()
    with writing(servers.address, tmp_path, processes=2, threads=2) as running:
        running.wait_for(BEFORE)
        with halted(servers.primary.data):
            servers.fail_over()
            running.wait_for(AFTER)
        old = servers.standby
        with psycopg.connect(servers.address) as control:
            assert control.info.host == str(old.folder)  # the driver takes it for the primary
        with closing(PostgresBackend(servers.address)) as fresh:
            memory = Memory(Handle(fresh.space("shared", create=False)))
            known = running.noted()
            there = {episode.text for episode in memory.sessions.episodes(limit=10_000)}
            assert {note.text for note in known if note.space == "shared"} <= there
            assert memory.observe("Written by a process that began later.", role="user")
        running.wait_for(AFTER)
        old.kill()
        found = check(servers, running, tell, "silent primary, back later", began)
    assert (found.lost, found.twice, found.moved) == (0, 0, 0)


def test_while_the_standby_is_silent_nothing_is_acknowledged_and_reads_go_on(
    servers: Pair, tmp_path: Path, tell: Tell
) -> None:
    began = time.perf_counter()
    servers.replicate()
    with writing(
        servers.address, tmp_path, processes=2, threads=2, answer_max_s=EVENT_MAX_S
    ) as running:
        running.wait_for(BEFORE)
        with (
            halted(servers.standby.data),
            closing(PostgresBackend(servers.address)) as backend,
        ):
            until(lambda: _waiting(servers) == 4)  # every thread of theirs
            memory = Memory(Handle(backend.space("shared", create=False)))
            before = running.count
            for _ in range(20):
                assert memory.sessions.episodes(limit=1)
            held = running.count - before
        running.wait_for(AFTER)
        found = check(servers, running, tell, "silent standby", began)
    assert held == 0
    assert (found.lost, found.twice, found.moved) == (0, 0, 0)


def _waiting(servers: Pair) -> int:
    """How many wait for the standby, or for the lock of one that does."""
    asked = (
        "SELECT count(*)::integer FROM pg_stat_activity"
        " WHERE wait_event = 'SyncRep' OR wait_event_type = 'Lock'"
    )
    return int(servers.primary.ask(asked)[0][0])
