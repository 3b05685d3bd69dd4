"""PostgreSQL through the suites that every engine passes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recollect.memory import Memory
from recollect.store.port import Backend
from recollect.store.postgres.backend import PostgresBackend
from recollect.testing.memory_suite import MemorySuite
from recollect.testing.store_suite import StoreSuite
from recollect.testing.trust_suite import TrustSuite


class TestStore(StoreSuite):
    @pytest.fixture
    def backend(self, database: str) -> Iterator[Backend]:
        backend = PostgresBackend(database)
        yield backend
        backend.close()


class TestMemory(MemorySuite, TrustSuite):
    @pytest.fixture
    def memory(self, database: str) -> Iterator[Memory]:
        backend = PostgresBackend(database)
        yield Memory(backend.space("main", create=True))
        backend.close()
