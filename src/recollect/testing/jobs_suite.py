"""Jobs: the suite of the port.

Responsible for asking, leases, trust and schedules on every engine. Leaves doing the work to the
tests of ``memory.jobs.worker``. Invariant: each test is a sentence of the port.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import cast

import pytest

from recollect.errors import Forbidden, LimitExceeded, NotFound
from recollect.memory import Store
from recollect.model.events import Trust
from recollect.model.instants import from_microseconds, to_microseconds
from recollect.model.values import Job, JobKind, Schedule
from recollect.store.jobs.jobs import ATTEMPTS_MAX, KEPT_MAX_COUNT, WAITING_MAX_COUNT, Jobs
from recollect.store.port import Backend
from recollect.store.seam import REAL

LONG_S = 600.0
SHORT_S = 0.05
FUTURE = "2199-01-01T00:00:00.000000Z"


def ask(jobs: Jobs, space: str = "alice", params: str = "{}", trust: Trust = "person") -> Job:
    """Asks for an ordinary pass."""
    return jobs.ask(space, "embed", params, due_at=None, trust=trust)


def leased(jobs: Jobs, seconds: float = LONG_S) -> Job:
    """The next job, which must be there."""
    job = jobs.lease((), seconds)
    assert job is not None
    return job


def seen(jobs: Jobs, id: int) -> Job:
    """A job as it is now."""
    (job,) = jobs.list(None, id=id, state=None, limit=1)
    return job


def past(seconds: float) -> str:
    """An instant so many seconds ago."""
    return from_microseconds(to_microseconds(REAL.now()) - int(seconds * 1_000_000))


def plan(space: str = "alice", next_at: str = FUTURE) -> Schedule:
    """A schedule for each hour."""
    return Schedule(
        space=space, kind="verify", params={}, cron=None, every_s=3600, set_by=None, next_at=next_at
    )


class JobsSuite:
    """Passes are asked for, leased and reported."""

    @pytest.fixture
    def backend(self) -> Backend:
        """An empty store; defined by subclasses."""
        raise NotImplementedError

    @pytest.fixture
    def store(self) -> Store:
        """The same store; defined by subclasses."""
        raise NotImplementedError

    @pytest.fixture
    def jobs(self, store: Store, backend: Backend) -> Jobs:
        """The owner's jobs, in a store with two spaces."""
        for name in ("alice", "bob"):
            store.space(name).observe("Hello.")
        return backend.jobs()

    def mine(
        self,
        store: Store,
        backend: Backend,
        *,
        space: str | None = "alice",
        verbs: Iterable[str] = ("read", "write"),
        trust: Trust = "person",
        user: str | None = None,
    ) -> tuple[Jobs, int]:
        """The jobs for the holder of a new token, and the token's id."""
        made = store.tokens.create("worker", space=space, verbs=verbs, trust=trust, user=user)
        return backend.entered(made.token, backend.space).jobs(), made.id

    def test_looking_creates_nothing(self, backend: Backend) -> None:
        assert backend.jobs().lease((), LONG_S) is None
        assert backend.jobs().list(None, id=None, state=None, limit=10) == []
        assert backend.jobs().schedules(None) == []

    def test_asking_again_while_a_job_waits_gives_the_same_job(self, jobs: Jobs) -> None:
        first = ask(jobs)
        assert (first.state, first.attempts, first.lease_until) == ("waiting", 0, None)
        assert ask(jobs) == first
        assert ask(jobs, params='{"deep":true}').id != first.id
        assert ask(jobs, "bob").id != first.id
        running = leased(jobs)
        assert running.id == first.id
        assert ask(jobs).id != first.id  # what came after it began is not in it

    def test_a_job_that_is_due_later_waits(self, jobs: Jobs) -> None:
        later = jobs.ask("alice", "embed", "{}", due_at=FUTURE, trust="person")
        assert jobs.lease((), LONG_S) is None
        assert ask(jobs).id == later.id  # the earlier of both times
        assert leased(jobs).id == later.id

    def test_a_job_is_leased_by_one_worker_at_a_time(self, jobs: Jobs) -> None:
        first = ask(jobs)
        job = leased(jobs)
        assert (job.id, job.state, job.attempts) == (first.id, "running", 1)
        assert job.lease_until is not None
        assert job.lease_until > REAL.now()
        ask(jobs)
        assert jobs.lease((), LONG_S) is None  # the same pass is running
        assert jobs.done(job)
        assert leased(jobs).id != job.id

    def test_the_oldest_comes_first_and_kinds_are_chosen(self, jobs: Jobs) -> None:
        first, other = (
            ask(jobs, "bob"),
            jobs.ask("alice", "seal", "{}", due_at=None, trust="agent"),
        )
        job = jobs.lease(["seal"], LONG_S)
        assert job is not None
        assert job.id == other.id
        assert leased(jobs).id == first.id

    def test_a_lease_ends_by_time_and_the_job_is_taken_again(self, jobs: Jobs) -> None:
        ask(jobs)
        lost = leased(jobs, SHORT_S)
        time.sleep(2 * SHORT_S)
        again = leased(jobs)
        assert (again.id, again.attempts) == (lost.id, 2)

    def test_a_worker_whose_lease_ended_cannot_report(self, jobs: Jobs) -> None:
        ask(jobs)
        lost = leased(jobs, SHORT_S)
        time.sleep(2 * SHORT_S)
        for _ in range(2):  # before and after another worker takes it
            assert not jobs.beat(lost, LONG_S, 1, 2)
            assert not jobs.done(lost)
            assert not jobs.fail(lost, "unavailable", 1)
            assert seen(jobs, lost.id).state == "running"
            jobs.lease((), LONG_S)

    def test_a_beat_prolongs_a_lease_and_tells_progress(self, jobs: Jobs) -> None:
        ask(jobs)
        job = leased(jobs, 5)
        assert jobs.beat(job, LONG_S, 3, 7)
        now = seen(jobs, job.id)
        assert (now.done, now.total) == (3, 7)
        assert now.lease_until is not None
        assert job.lease_until is not None
        assert now.lease_until > job.lease_until
        assert jobs.done(job)
        assert seen(jobs, job.id).state == "done"
        assert not jobs.done(job)

    def test_a_job_is_tried_a_bounded_number_of_times(self, jobs: Jobs) -> None:
        failed, killed = ask(jobs), ask(jobs, "bob")
        for attempt in range(1, ATTEMPTS_MAX + 1):
            for job in (leased(jobs), leased(jobs)):
                assert job.attempts == attempt
                if job.id == failed.id:
                    assert jobs.fail(job, "unavailable", 0)
                else:
                    assert jobs.beat(job, SHORT_S, 0, 1)
            time.sleep(2 * SHORT_S)
        assert jobs.lease((), LONG_S) is None
        assert (seen(jobs, failed.id).state, seen(jobs, failed.id).error) == (
            "failed",
            "unavailable",
        )
        assert (seen(jobs, killed.id).state, seen(jobs, killed.id).error) == ("failed", "gave_up")

    def test_a_job_of_an_unknown_kind_fails_instead_of_waiting(self, jobs: Jobs) -> None:
        other = cast(JobKind, "of another release")
        due = jobs.ask("alice", other, "{}", due_at=None, trust="person")
        later = jobs.ask("alice", other, "{}", due_at=FUTURE, trust="person")
        assert due.id == later.id  # asking again, and the sooner of both is kept
        known = ask(jobs)
        assert leased(jobs).id == known.id
        ended = seen(jobs, due.id)
        assert (ended.kind, ended.state, ended.error) == (other, "failed", "unknown_kind")
        assert jobs.lease((), LONG_S) is None

    def test_a_job_that_failed_for_good_is_not_tried_again(self, jobs: Jobs) -> None:
        ask(jobs)
        job = leased(jobs)
        assert jobs.fail(job, "forbidden", None)
        assert (seen(jobs, job.id).state, seen(jobs, job.id).error) == ("failed", "forbidden")
        assert jobs.lease((), LONG_S) is None

    def test_a_job_that_is_tried_again_makes_room_for_one_that_waits(self, jobs: Jobs) -> None:
        ask(jobs)
        job, other = leased(jobs), ask(jobs)
        assert jobs.fail(job, "unavailable", 0)
        assert seen(jobs, job.id).state == "failed"
        assert leased(jobs).id == other.id

    def test_a_job_that_failed_comes_before_those_that_were_never_begun(self, jobs: Jobs) -> None:
        ask(jobs)
        job = leased(jobs)
        others = [ask(jobs, "bob"), ask(jobs, "bob", '{"n":1}')]
        assert jobs.fail(job, "unavailable", 0)
        assert [leased(jobs).id for _ in range(3)] == [job.id, *(each.id for each in others)]

    def test_a_cancelled_job_is_not_run_and_its_worker_is_told(self, jobs: Jobs) -> None:
        waiting, running = ask(jobs, "bob"), ask(jobs)
        assert jobs.cancel("bob", waiting.id)
        job = leased(jobs)
        assert job.id == running.id
        assert jobs.cancel("alice", job.id)
        assert not jobs.beat(job, LONG_S, 1, 2)
        assert not jobs.done(job)
        assert seen(jobs, job.id).state == "cancelled"
        assert not jobs.cancel("alice", job.id)
        assert jobs.lease((), LONG_S) is None

    def test_a_token_ends_and_reports_no_job_of_more_trust_than_its_own(
        self, jobs: Jobs, store: Store, backend: Backend
    ) -> None:
        waits = jobs.ask("alice", "expire", "{}", due_at=FUTURE, trust="person")
        ask(jobs)
        running = leased(jobs)
        agent = store.entered(store.tokens.create("bot", space="alice").token).jobs
        for job in (waits, running):
            with pytest.raises(Forbidden, match="more than yours"):
                agent.cancel(job.id)
        port, _ = self.mine(store, backend, trust="agent")
        for refused in (
            port.done(running), port.fail(running, "unavailable", None),
            port.beat(running, 0.0, 1, 1), port.cancel("alice", running.id),
        ):  # fmt: skip
            assert not refused
        assert (seen(jobs, waits.id).state, seen(jobs, running.id).state) == ("waiting", "running")
        mine = agent.ask("verify", space="alice")  # the control: its own
        assert agent.cancel(mine.id).state == "cancelled"
        person = store.tokens.create("p", space="alice", trust="person").token
        assert store.entered(person).jobs.cancel(waits.id).state == "cancelled"

    def test_ended_jobs_are_kept_for_a_while(self, jobs: Jobs) -> None:
        for _ in range(KEPT_MAX_COUNT + 3):
            ask(jobs)
            assert jobs.done(leased(jobs))
        ended = jobs.list("alice", id=None, state="done", limit=1_000)
        assert len(ended) == KEPT_MAX_COUNT
        assert [job.id for job in ended] == sorted((job.id for job in ended), reverse=True)

    def test_a_space_has_a_bounded_number_of_waiting_jobs(self, jobs: Jobs) -> None:
        for number in range(WAITING_MAX_COUNT):
            ask(jobs, params=f'{{"n":{number}}}')
        with pytest.raises(LimitExceeded):
            ask(jobs)
        assert ask(jobs, params='{"n":0}').state == "waiting"
        assert ask(jobs, "bob").state == "waiting"

    def test_a_job_keeps_the_trust_of_who_asked_and_no_token(
        self, jobs: Jobs, store: Store, backend: Backend
    ) -> None:
        agents, id = self.mine(store, backend, trust="agent")
        job = ask(agents, trust="person")
        assert (job.trust, job.asked_by) == ("agent", id)
        assert "rct_" not in str(job.to_dict())
        assert ask(jobs).trust == "person"  # a person asks for the same: it is theirs now
        assert ask(agents, trust="unverified") == ask(jobs)

    def test_jobs_of_others_and_jobs_that_do_not_exist_look_the_same(
        self, jobs: Jobs, store: Store, backend: Backend
    ) -> None:
        theirs, (mine, _) = ask(jobs, "bob"), self.mine(store, backend)
        assert mine.list(None, id=None, state=None, limit=10) == []
        assert mine.list(None, id=theirs.id, state=None, limit=10) == []
        assert not mine.cancel(None, theirs.id)
        assert not mine.cancel(None, 999_999)
        for name in ("bob", "nobody"):
            with pytest.raises(NotFound) as refused:
                ask(mine, name)
            assert refused.value.message == f"there is no space {name!r} for this caller"
            with pytest.raises(NotFound):
                mine.list(name, id=None, state=None, limit=10)
            with pytest.raises(NotFound):
                mine.schedules(name)
        with pytest.raises(NotFound):
            ask(jobs, "nobody")

    def test_a_worker_takes_only_what_its_own_token_allows(
        self, jobs: Jobs, store: Store, backend: Backend
    ) -> None:
        ask(jobs, "bob")
        expiring = jobs.ask("alice", "expire", "{}", due_at=None, trust="person")
        agents, _ = self.mine(store, backend, space=None, trust="agent")
        mine, _ = self.mine(store, backend)
        assert agents.lease((), LONG_S) is None  # a person asked
        assert mine.lease((), LONG_S) is None  # of another space, or needs erase
        able, _ = self.mine(store, backend, verbs=("read", "write", "erase"))
        job = leased(able)
        assert job.id == expiring.id
        assert mine.done(job)  # whoever writes in the space may tell
        other, _ = self.mine(store, backend, space="bob")
        running = leased(jobs)
        assert not mine.done(running)
        assert other.done(running)

    def test_asking_needs_what_the_pass_needs(
        self, jobs: Jobs, store: Store, backend: Backend
    ) -> None:
        reads, _ = self.mine(store, backend, verbs=("read",))
        one, _ = self.mine(store, backend, user="ann")
        writes, _ = self.mine(store, backend)
        for refused in (reads, one):
            with pytest.raises(Forbidden):
                ask(refused)
            with pytest.raises(Forbidden):
                refused.lease((), LONG_S)
            with pytest.raises(Forbidden):
                refused.cancel(None, 1)
        assert reads.list(None, id=None, state=None, limit=10) == []
        with pytest.raises(Forbidden):
            one.list(None, id=None, state=None, limit=10)
        with pytest.raises(Forbidden) as error:
            writes.ask("alice", "expire", "{}", due_at=None, trust="person")
        assert "erase" in error.value.message

    def test_a_revoked_token_asks_and_takes_nothing(
        self, jobs: Jobs, store: Store, backend: Backend
    ) -> None:
        mine, id = self.mine(store, backend)
        ask(mine)
        store.tokens.revoke(id)
        with pytest.raises(Forbidden):
            ask(mine)
        with pytest.raises(Forbidden):
            mine.lease((), LONG_S)
        assert leased(jobs).asked_by == id  # what was accepted is done

    def test_a_schedule_is_set_by_a_person_and_asks_once_for_each_time(
        self, jobs: Jobs, store: Store, backend: Backend
    ) -> None:
        jobs.set_schedule(plan())
        assert jobs.schedules("alice", due=True) == []
        person, id = self.mine(store, backend)
        person.set_schedule(plan(next_at=past(5)))
        (due,) = jobs.schedules(None, due=True)
        assert (due.space, due.kind, due.every_s, due.set_by) == ("alice", "verify", 3600, id)
        assert jobs.schedules("bob") == []
        assert jobs.fire(due, FUTURE)
        assert not jobs.fire(due, FUTURE)  # another worker was first
        job = leased(jobs)
        assert (job.kind, job.trust, job.asked_by) == ("verify", "person", id)
        assert jobs.lease((), LONG_S) is None
        agents, _ = self.mine(store, backend, trust="agent")
        for refused in (
            lambda: agents.set_schedule(plan()),
            lambda: agents.drop_schedule("alice", "verify"),
            lambda: agents.fire(due, FUTURE),
        ):
            with pytest.raises(Forbidden):
                refused()
        assert person.drop_schedule("alice", "verify")
        assert not person.drop_schedule("alice", "verify")
        assert jobs.schedules(None) == []

    def test_a_dropped_space_takes_its_jobs_and_schedules_along(
        self, jobs: Jobs, store: Store
    ) -> None:
        ask(jobs)
        jobs.set_schedule(plan())
        kept = ask(jobs, "bob")
        store.drop("alice")
        assert jobs.schedules(None) == []
        assert jobs.list(None, id=None, state=None, limit=10) == [kept]
        store.space("alice").observe("Another one.")
        assert jobs.list("alice", id=None, state=None, limit=10) == []
