"""PostgreSQL through the suites that every engine passes."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from time import monotonic

import psycopg
import pytest

from benchmarks.server import started
from recollect.errors import ConfigError
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.store.port import Backend
from recollect.store.postgres.ledgers import PostgresBackend
from recollect.testing.shared_suite import SharedSuite
from recollect.testing.store_suite import StoreSuite
from tests.memory_suites.daily import MemorySuite
from tests.memory_suites.history.branches import BranchSuite
from tests.memory_suites.history.events import EventsSuite
from tests.memory_suites.history.sessions import SessionsSuite
from tests.memory_suites.pages.documents import DocumentsSuite
from tests.memory_suites.pages.pages import PagesSuite
from tests.memory_suites.recall.context import ContextSuite
from tests.memory_suites.records.writes import WritesSuite
from tests.memory_suites.review.beliefs import BeliefsSuite
from tests.memory_suites.review.policy import PolicySuite
from tests.memory_suites.review.proposer import ProposerSuite
from tests.memory_suites.review.retract import RetractSuite
from tests.memory_suites.review.review import ReviewSuite
from tests.memory_suites.review.settle import SettleSuite
from tests.memory_suites.trust.trust import TrustSuite


@pytest.fixture(scope="module")
def shared_backend(shared_database: str) -> Iterator[Backend]:
    """As in a service, connections outlive a space: a server takes long for a new one."""
    backend = PostgresBackend(shared_database)
    yield backend
    backend.close()


class TestStore(StoreSuite):
    @pytest.fixture
    def backend(self, database: str) -> Iterator[Backend]:
        backend = PostgresBackend(database)
        yield backend
        backend.close()


class TestShared(SharedSuite):
    @pytest.fixture
    def opened(self, database: str) -> Iterator[Callable[[], Backend]]:
        with ExitStack() as stack:
            yield lambda: stack.enter_context(closing(PostgresBackend(database)))


class OnServer:
    """A space of its own for each test."""

    @pytest.fixture
    def memory(self, shared_backend: Backend) -> Memory:
        return Memory(Handle(shared_backend.space(f"s{uuid.uuid4().hex}", create=True)))


class TestMemory(
    OnServer,
    MemorySuite,
    EventsSuite,
    BranchSuite,
    RetractSuite,
    BeliefsSuite,
    WritesSuite,
    PagesSuite,
):
    """What reads and writes most tables."""


@pytest.mark.nightly
class TestFurther(
    OnServer,
    TrustSuite,
    ContextSuite,
    DocumentsSuite,
    SessionsSuite,
    ReviewSuite,
    SettleSuite,
    PolicySuite,
    ProposerSuite,
):
    """What rests on these, by way of the same statements."""


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes"])
def test_a_server_that_may_lose_what_it_acknowledged_is_refused(
    own_server: str, setting: str
) -> None:
    """Control: with the setting on again the same memory opens."""

    def turn(value: str) -> None:
        with psycopg.connect(own_server, autocommit=True) as superuser:
            superuser.execute(f"ALTER SYSTEM SET {setting} = {value}".encode())
            superuser.execute("SELECT pg_reload_conf()")
        end = monotonic() + 30
        while shown() != value:
            assert monotonic() < end, "the server does not read its settings"

    def shown() -> str:
        with psycopg.connect(own_server) as any_login:
            return str(any_login.execute(f"SHOW {setting}".encode()).fetchall()[0][0])

    turn("off")
    with pytest.raises(ConfigError, match=f"{setting} = off"):
        head(own_server)
    turn("on")
    assert head(own_server) > 0


def head(url: str) -> int:
    with closing(PostgresBackend(url)) as backend:
        return backend.space("main", create=True).head().seq


@pytest.fixture(scope="module")
def own_server() -> Iterator[str]:
    """A whole server: these settings are none of a database."""
    with started(in_memory=True) as server:
        yield server.get_uri()
