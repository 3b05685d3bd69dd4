"""A pooler in transaction mode: every transaction may be on another connection of the server."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from typing import Any

import psycopg
import pytest

from benchmarks.server import Server, started
from recollect.errors import ConfigError
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.store.postgres.ledgers import PostgresBackend
from recollect.store.postgres.pool import Pool
from tests.postgres.conftest import at
from tests.postgres.pooler import PROGRAM, SERVER_CONNECTIONS_COUNT, pooled
from tests.postgres.proxy import Proxy

needs_it = pytest.mark.skipif(PROGRAM is None, reason="PgBouncer is not installed")
THREADS_COUNT = 6
TURNS_COUNT = 12


@pytest.fixture(scope="module")
def own() -> Iterator[Server]:
    with started(in_memory=True) as server:
        yield server


@pytest.fixture(scope="module")
def pooler(own: Server) -> Iterator[str]:
    with pooled(own, PROGRAM or "") as address:
        yield address


@pytest.fixture
def name(own: Server) -> str:
    """A database without a schema."""
    name = f"p{uuid.uuid4().hex}"
    with psycopg.connect(own.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return name


def work(memory: Memory, number: int) -> None:
    """Calls of every kind, more often than the driver waits before it prepares a statement."""
    for turn in range(100 * number, 100 * number + TURNS_COUNT):
        made = memory.remember(f"The train {turn} leaves at nine.")
        memory.revise(made.id, f"The train {turn} leaves at ten.")
        memory.observe(f"Which train is {turn}?", role="user")
        assert memory.get(made.id).text.endswith("ten.")
        assert memory.recall(f"train {turn}")
        with memory.batch() as batch:
            batch.remember(f"The bus {turn} is late.")
            batch.remember(f"The ship {turn} is early.")
        memory.erase(made.id)


def sessions(pooler: str, name: str) -> list[tuple[str, int]]:
    """What each connection of the server keeps: its limit for locks, and prepared statements."""
    asked = (
        "SELECT current_setting('lock_timeout'),"
        " (SELECT count(*)::integer FROM pg_prepared_statements)"
    )
    with ExitStack() as opened:
        connections = [
            opened.enter_context(psycopg.connect(at(pooler, name)))
            for _ in range(SERVER_CONNECTIONS_COUNT)
        ]  # each is in a transaction after its question, so each has one of the server's
        return [
            row
            for each in connections
            for row in each.execute(asked.encode(), prepare=False).fetchall()
        ]


def prepare_often(connections: list[psycopg.Connection[Any]]) -> None:
    for turn in range(10):
        for each in connections:
            each.execute("SELECT 1 + %s", [turn], prepare=True)


@needs_it
def test_every_call_works_and_nothing_stays_in_a_session(
    own: Server, pooler: str, name: str
) -> None:
    with closing(PostgresBackend(at(pooler, name))) as backend, ThreadPoolExecutor(6) as threads:
        spaces = [f"s{number % 3}" for number in range(THREADS_COUNT)]
        memories = [Memory(Handle(backend.space(each, create=True))) for each in spaces]
        assert memories[0].list() == []  # makes the schema by way of the pooler
        list(threads.map(work, memories, range(THREADS_COUNT)))
        assert all(memory.admin.verify(deep=True).ok for memory in memories)
        digests = [memory.admin.digest() for memory in memories[:3]]
    assert sessions(pooler, name) == [("0", 0)] * SERVER_CONNECTIONS_COUNT
    with closing(PostgresBackend(at(own.get_uri(), name))) as direct:
        found = [
            Memory(Handle(direct.space(each, create=False))).admin.digest() for each in spaces[:3]
        ]
    assert found == digests


@needs_it
def test_control_prepared_statements_fail_behind_it(pooler: str, name: str) -> None:
    with ExitStack() as opened:
        connections = [
            opened.enter_context(psycopg.connect(at(pooler, name), autocommit=True))
            for _ in range(2)
        ]
        with pytest.raises((psycopg.OperationalError, psycopg.ProgrammingError), match="prepared"):
            prepare_often(connections)


@needs_it
@pytest.mark.parametrize(
    ("setting", "value"),
    [("synchronous_commit", "off"), ("default_transaction_isolation", "serializable")],
)
def test_what_only_a_session_could_set_must_be_set_on_the_server(
    own: Server, pooler: str, name: str, setting: str, value: str
) -> None:
    with psycopg.connect(own.get_uri(), autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} SET {setting} = '{value}'".encode())
    with closing(Pool(at(pooler, name))) as pool, pytest.raises(ConfigError, match=setting):
        pool.ask("spaces", {})
    with closing(Pool(at(own.get_uri(), name))) as pool:
        assert pool.ask("spaces", {}) == []  # directly it is set for the connection


def test_another_process_than_the_one_that_was_connected_is_noticed(own: Server, name: str) -> None:
    """The rule alone, also where no pooler is installed."""
    asked = "SELECT current_setting('lock_timeout')"
    for hides in (False, True):
        with (
            Proxy(at(own.get_uri(), name), hides_process=hides) as proxy,
            closing(Pool(proxy.address)) as pool,
            pool.connection() as connection,
        ):
            ((limit,),) = connection.execute(asked).fetchall()
            assert (limit == "0", connection.prepare_threshold is None) == (hides, hides)
