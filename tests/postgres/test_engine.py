"""PostgreSQL through the suites that every engine passes."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import psycopg
import pytest

from recollect.errors import ConfigError
from recollect.memory import Memory
from recollect.memory.handle import Handle
from recollect.store.port import Backend
from recollect.store.postgres import pool
from recollect.store.postgres.backend import PostgresBackend
from recollect.testing.beliefs_suite import BeliefsSuite
from recollect.testing.branch_suite import BranchSuite
from recollect.testing.context_suite import ContextSuite
from recollect.testing.documents_suite import DocumentsSuite
from recollect.testing.events_suite import EventsSuite
from recollect.testing.memory_suite import MemorySuite
from recollect.testing.pages_suite import PagesSuite
from recollect.testing.policy_suite import PolicySuite
from recollect.testing.proposer_suite import ProposerSuite
from recollect.testing.retract_suite import RetractSuite
from recollect.testing.review_suite import ReviewSuite
from recollect.testing.sessions_suite import SessionsSuite
from recollect.testing.settle_suite import SettleSuite
from recollect.testing.store_suite import StoreSuite
from recollect.testing.trust_suite import TrustSuite
from recollect.testing.writes_suite import WritesSuite


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


def test_a_server_with_an_unsafe_setting_is_refused_at_once(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A setting that one database can have stands for fsync, which only a whole server has."""
    monkeypatch.setattr(pool, "_SAFE", ("fsync", "array_nulls"))
    monkeypatch.setattr(pool, "_WAIT_S", 5.0)
    backend = PostgresBackend(database)
    space = backend.space("main", create=True)
    assert space.head().seq == 1
    backend.close()
    with psycopg.connect(database, autocommit=True) as owner:
        name = owner.info.dbname
        owner.execute(f'ALTER DATABASE "{name}" SET array_nulls = off')
    backend = PostgresBackend(database)
    with pytest.raises(ConfigError, match="array_nulls = off"):
        backend.space("main", create=True).head()
    backend.close()
