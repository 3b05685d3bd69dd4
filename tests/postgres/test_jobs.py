"""Jobs on a server: the suite, and what hand-written SQL cannot do."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from recollect.config import load
from recollect.memory import Store
from recollect.store.jobs import Jobs
from recollect.store.port import Backend
from recollect.store.postgres.backend import PostgresBackend
from recollect.store.postgres.db import run
from recollect.testing.jobs_suite import JobsSuite, ask

STATEMENTS = (
    "SELECT * FROM recollect.jobs",
    "SELECT * FROM recollect.shown_jobs",
    "SELECT * FROM recollect.schedules",
    "UPDATE recollect.jobs SET origin = 'person'",
    "SELECT recollect.put_job(1, 'retain', '{}', NULL, 1, 'person')",
    "SELECT recollect.job_token('x', 'read')",
)


class TestJobs(JobsSuite):
    @pytest.fixture
    def backend(self, database: str) -> Iterator[Backend]:
        backend = PostgresBackend(database)
        yield backend
        backend.close()

    @pytest.fixture
    def store(self, backend: Backend, url: str) -> Store:
        return Store(backend, load(url, embedder="none"))

    @pytest.mark.parametrize("statement", STATEMENTS)
    def test_the_service_has_no_rights_of_its_own(
        self, jobs: Jobs, database: str, statement: str
    ) -> None:
        ask(jobs)
        with psycopg.connect(database, autocommit=True) as connection:
            run(connection, "give_up_rights", {})
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement.encode())

    def test_control_with_a_grant_rows_are_still_hidden(self, jobs: Jobs, database: str) -> None:
        ask(jobs)
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("GRANT SELECT ON recollect.jobs TO recollect_app")
            assert len(connection.execute("SELECT 1 FROM recollect.jobs").fetchall()) == 1
            run(connection, "give_up_rights", {})
            assert connection.execute("SELECT 1 FROM recollect.jobs").fetchall() == []
