"""Jobs on a server: the suite."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recollect.config import load
from recollect.memory import Store
from recollect.store.port import Backend
from recollect.store.postgres.backend import PostgresBackend
from recollect.testing.jobs_suite import JobsSuite


class TestJobs(JobsSuite):
    @pytest.fixture
    def backend(self, database: str) -> Iterator[Backend]:
        backend = PostgresBackend(database)
        yield backend
        backend.close()

    @pytest.fixture
    def store(self, backend: Backend, url: str) -> Store:
        return Store(backend, load(url, embedder="none"))
