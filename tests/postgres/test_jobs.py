"""Jobs on a server: the suite, and workers that come between each other."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from recollect.config import load
from recollect.errors import NotFound
from recollect.memory import Store
from recollect.model.instants import to_microseconds
from recollect.store.jobs.kept_jobs import KeptJobs
from recollect.store.port import Backend
from recollect.store.postgres.db import run
from recollect.store.postgres.ledgers import PostgresBackend, PostgresJobs
from recollect.store.postgres.pool import Pool
from recollect.testing.jobs_suite import LONG_S, JobsSuite, ask, leased, plan, seen
from tests.postgres.conftest import drop_space, wait_for_lock

WORKERS = 6


class TestJobs(JobsSuite):
    @pytest.fixture
    def backend(self, database: str) -> Iterator[Backend]:
        backend = PostgresBackend(database)
        yield backend
        backend.close()

    @pytest.fixture
    def store(self, backend: Backend, url: str) -> Store:
        return Store(backend, load(url, embedder="none"))


@pytest.fixture
def jobs(pool: Pool) -> KeptJobs:
    """The owner's jobs, in a database with one space."""
    pool.ask("make_space", {"name": "alice"})
    return KeptJobs(PostgresJobs(pool), lambda name: bool(pool.ask("has_space", {"name": name})))


def test_each_job_has_one_worker(jobs: KeptJobs) -> None:
    asked = {ask(jobs, params=f'{{"n":{number}}}').id for number in range(30)}

    def work(_: int) -> list[int]:
        taken = []
        while (job := jobs.lease((), LONG_S)) is not None:
            taken.append(job.id)
            assert jobs.done(job)
        return taken

    with ThreadPoolExecutor(WORKERS) as threads:
        done = [id for each in threads.map(work, range(WORKERS)) for id in each]
    assert sorted(done) == sorted(asked)


def test_a_job_that_another_worker_holds_is_passed_over(jobs: KeptJobs, database: str) -> None:
    held, other = ask(jobs), ask(jobs, params='{"n":1}')
    with psycopg.connect(database) as worker:
        worker.execute("SELECT 1 FROM recollect.jobs WHERE id = %s FOR UPDATE", (held.id,))
        assert leased(jobs).id == other.id
        assert jobs.lease((), LONG_S) is None
    assert leased(jobs).id == held.id


def test_a_failure_while_the_same_is_asked_for_again_is_told(
    jobs: KeptJobs, pool: Pool, database: str
) -> None:
    """The one that was asked for does the work; the one that failed does not wait beside it."""
    ask(jobs)
    job, now = leased(jobs), PostgresJobs(pool).now()
    again = {"space": "alice", "kind": "embed", "params": "{}", "by": None, "origin": "person"}
    with psycopg.connect(database) as asking, ThreadPoolExecutor(1) as threads:
        ((id, *_),) = run(asking, "job ask", {**again, "now": now, "due": now})
        late = threads.submit(jobs.fail, job, "unavailable", 0)
        wait_for_lock(pool)
        asking.commit()
        assert late.result(timeout=30)
    assert seen(jobs, job.id).state == "failed"
    assert leased(jobs).id == id


def test_nothing_is_asked_of_a_space_that_is_being_dropped(
    jobs: KeptJobs, pool: Pool, database: str
) -> None:
    with psycopg.connect(database) as dropping, ThreadPoolExecutor(2) as threads:
        drop_space(dropping, "alice")
        late = threads.submit(ask, jobs)
        planned = threads.submit(jobs.set_schedule, plan())
        wait_for_lock(pool)
        dropping.commit()
        with pytest.raises(NotFound):
            late.result(timeout=30)
        if planned.exception(timeout=30) is not None:  # it looked after the space was dropped
            assert isinstance(planned.exception(), NotFound)
    for table in ("jobs", "schedules"):
        with psycopg.connect(database) as owner:
            assert owner.execute(f"SELECT 1 FROM recollect.{table}".encode()).fetchall() == []


def test_dropping_a_space_leaves_no_job_and_no_schedule(jobs: KeptJobs, database: str) -> None:
    ask(jobs)
    jobs.set_schedule(plan())
    with psycopg.connect(database) as dropping:
        drop_space(dropping, "alice")
    assert jobs.list(None, id=None, state=None, limit=10) == []
    assert jobs.schedules(None) == []


def test_leases_are_compared_with_the_servers_clock(
    jobs: KeptJobs, pool: Pool, database: str
) -> None:
    ask(jobs)
    with psycopg.connect(database) as owner:
        between = [str(run(owner, "clock", {})[0][0])]
        job = leased(jobs, 60)
        between.append(str(run(owner, "clock", {})[0][0]))
    start = to_microseconds(str(job.lease_until)) - 60_000_000
    assert to_microseconds(between[0]) <= start <= to_microseconds(between[1])
