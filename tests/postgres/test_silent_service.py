"""The service while its server says nothing, or its commits wait for a standby."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import msgspec
import psycopg
import pytest

from benchmarks.server import Server, started
from benchmarks.service.servers import free_port
from recollect.store.postgres.wait import ANSWER_MAX_S
from tests.postgres.conftest import as_address, at
from tests.postgres.halting import halted, until, waiting, without_standby
from tests.suites.conftest import Tell, tell
from tests.suites.service_runs import new_store, serving

__all__ = ["tell"]

SPACES = [f"s{number}" for number in range(8)]
OTHERS = ["quiet", "still"]


@pytest.fixture(scope="module")
def own() -> Iterator[Server]:
    with started(in_memory=True) as server:
        yield server


@pytest.fixture
def url(own: Server) -> str:
    name = f"service{time.monotonic_ns()}"
    with psycopg.connect(own.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return as_address(at(own.get_uri(), name))


class Asking:
    """Requests, each on a connection of its own."""

    def __init__(self, port: int, token: str) -> None:
        self._port, self._headers = port, {"Authorization": f"Bearer {token}"}

    def read(self, space: str) -> int:
        return self._status("GET", f"/v1/spaces/{space}/records", None)

    def write(self, space: str) -> int:
        body = msgspec.json.encode({"messages": [{"content": "Held up."}]})
        return self._status("POST", f"/v1/spaces/{space}/episodes", body)

    def _status(self, method: str, path: str, body: bytes | None) -> int:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=120)
        try:
            connection.request(method, path, body, self._headers)
            return connection.getresponse().status
        except (OSError, HTTPException):
            return 0  # it was cut
        finally:
            connection.close()


@contextmanager
def many(count: int) -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(count) as threads:
        yield threads


def test_reads_are_answered_while_every_write_waits_for_a_standby(
    own: Server, url: str, tmp_path: Path, tell: Tell
) -> None:
    token = new_store(url, [*SPACES, *OTHERS])
    with serving(url, tmp_path) as service, psycopg.connect(url, autocommit=True) as operator:
        asking = Asking(service.port, token)
        assert {asking.read(space) for space in SPACES} == {200}  # the others wake later
        with many(64) as threads, without_standby(own.get_uri()) as go_on:
            writes = [threads.submit(asking.write, space) for space in SPACES * 2]
            until(lambda: waiting(operator) == 5)  # four of this token and the one that tries
            reads = [threads.submit(asking.read, space) for space in SPACES * 3]
            begun = time.monotonic()
            assert [asking.read(space) for space in OTHERS * 10] == [200] * 20
            took_s = time.monotonic() - begun
            assert took_s < ANSWER_MAX_S["usual"]  # none waited for that
            go_on()
        tell(f"silent standby: {len(writes)} writes wait, 20 reads of others in {took_s:.2f} s")
        told = [found.result() for found in [*writes, *reads]]
        assert {*told} <= {200, 201, 503}
        assert told.count(201) >= 6


def test_a_service_ends_in_time_although_the_server_says_nothing(
    own: Server, url: str, tmp_path: Path, tell: Tell
) -> None:
    token = new_store(url, SPACES)
    figures = free_port()
    options = ("--grace", "1", "--metrics-port", str(figures))
    with serving(url, tmp_path, *options) as service:
        asking = Asking(service.port, token)
        assert {asking.read(space) for space in SPACES} == {200}
        with many(16) as threads, halted(Path(own.pgdata)):
            asked: list[Future[int]] = [threads.submit(asking.read, each) for each in SPACES]
            asked += [threads.submit(asking.write, each) for each in SPACES]
            until(lambda: _in_work(figures) == len(asked))
            begun = time.monotonic()
            service.end(signal.SIGTERM)
            took_s = time.monotonic() - begun
        assert {each.result() for each in asked} <= {0, 503}
    tell(f"silent server: {len(asked)} requests in work, SIGTERM with --grace 1: {took_s:.1f} s")
    assert took_s < ANSWER_MAX_S["usual"]  # no wait ended by itself


def _in_work(port: int) -> float:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/metrics")
    said = connection.getresponse().read().decode()
    connection.close()
    return float(said.partition("\nrecollect_in_flight ")[2].partition("\n")[0])
