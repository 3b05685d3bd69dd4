"""Background work through ``store.jobs``: what is asked for is done, with the asker's trust."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from recollect.errors import Conflict, Forbidden, InvalidInput, NotFound, Unavailable
from recollect.memory import Memory, Store
from recollect.memory.jobs.jobs import worker_of
from recollect.memory.jobs.worker import PASSES, LeaseLost, Pass, Worker, next_time
from recollect.model.events import Trust
from recollect.model.values import JOB_KINDS, Job, JobKind, Schedule
from recollect.store.jobs.jobs import Jobs as Port
from recollect.store.port import Progress
from recollect.store.seam import REAL, Seam


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "workspace", embedder="none") as store:
        yield store


@pytest.fixture
def memory(store: Store) -> Memory:
    memory = store.space("alice")
    memory.observe("Alice sits in 12A.", metadata={"intent": "add", "key": "alice.seat"})
    memory.settings.rules.set("seats", every=1)
    return memory


def port_of(store: Store) -> Port:
    return store._backend.jobs()


def test_every_kind_has_a_pass_and_ends(store: Store, memory: Memory) -> None:
    assert set(PASSES) == set(JOB_KINDS)
    memory.remember("The crane is old.", expires=timedelta(milliseconds=20))
    time.sleep(0.05)
    memory.settings.set_retention(0)
    for kind in JOB_KINDS:
        store.jobs.ask(kind, space="alice")
    ended = {job.kind: (job.state, job.error) for job in store.jobs.work()}
    checkpoint = ended.pop("checkpoint")
    assert checkpoint == ("failed", "not_found")  # there is no key here
    assert set(ended.values()) == {("done", None)}
    assert [record.key for record in memory.list()] == ["alice.seat"]
    kinds = [change.kind for change in memory.events.list(limit=1_000)]
    assert {"record.added", "events.erased", "ledger.sealed"} <= set(kinds)
    assert store.jobs.work() == []


def test_what_another_release_asked_for_fails_where_it_can_be_seen(
    store: Store, memory: Memory
) -> None:
    port, former = port_of(store), cast(JobKind, "curate")
    port.ask("alice", former, '{"below":0.1}', due_at=None, trust="person")
    port.set_schedule(
        Schedule(
            space="alice", kind=former, params={}, cron=None, every_s=1, set_by=None,
            next_at="2026-01-01T00:00:00.000000Z",
        )
    )  # fmt: skip
    store.jobs.ask("verify", space="alice")
    assert [(job.kind, job.state) for job in store.jobs.work()] == [("verify", "done")]
    ended = [job for job in store.jobs.list() if job.kind == former]
    assert {(job.state, job.error) for job in ended} == {("failed", "unknown_kind")}
    assert len(ended) == 2
    (schedule,) = store.jobs.schedules()
    assert schedule.kind == former
    store.jobs.drop_schedule(former, space="alice")
    with pytest.raises(InvalidInput, match="unknown kinds of work: curate"):
        store.jobs.drop_schedule(former, space="alice")
    assert store.jobs.schedules() == []
    for wrong in ("\ud800", "", None):
        with pytest.raises(InvalidInput):
            store.jobs.drop_schedule(cast(str, wrong), space="alice")


def test_a_pass_that_runs_twice_changes_nothing_more(store: Store, memory: Memory) -> None:
    ends = []
    for _ in range(2):
        for kind in ("consolidate", "expire", "seal", "archive", "verify", "embed"):
            store.jobs.ask(kind, space="alice")
        assert {job.state for job in store.jobs.work()} == {"done"}
        ends.append(memory.events.list(limit=1_000)[-1].seq)
    assert ends[0] == ends[1]
    assert len(memory.list()) == 1


@pytest.mark.parametrize(("origin", "state"), [("person", "done"), ("agent", "failed")])
def test_a_pass_has_the_trust_of_who_asked(
    store: Store, memory: Memory, origin: Trust, state: str
) -> None:
    made = store.tokens.create("asker", space="alice", trust=origin)
    asked = store.entered(made.token).jobs.ask("seal", space="alice")
    assert (asked.asked_by, asked.trust) == (made.id, origin)
    (job,) = store.jobs.work()
    assert (job.state, job.error) == (state, None if origin == "person" else "forbidden")


def test_what_a_kind_does_not_take_is_refused(store: Store, memory: Memory) -> None:
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("dance", {}), ("seal", {"deep": True}), ("verify", {"deep": "yes"}),
        ("archive", {"below": 2.0}), ("consolidate", {"rule": 1}),
    ]  # fmt: skip
    for kind, params in wrong:
        with pytest.raises(InvalidInput):
            store.jobs.ask(kind, space="alice", params=params)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        store.jobs.ask("seal", space="alice", trust="king")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        store.jobs.list(state="lost")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        store.jobs.get(0)
    assert store.jobs.ask("verify", space="alice", params={"deep": False}).params == {}


def test_a_job_is_listed_found_and_cancelled(store: Store, memory: Memory) -> None:
    job = store.jobs.ask("verify", space="alice", due=timedelta(hours=1))
    assert store.jobs.list() == store.jobs.list(space="alice", state="waiting") == [job]
    assert store.jobs.get(job.id) == job
    assert store.jobs.work() == []
    assert store.jobs.cancel(job.id).state == "cancelled"
    with pytest.raises(Conflict):
        store.jobs.cancel(job.id)
    with pytest.raises(NotFound):
        store.jobs.get(job.id, space="nobody")
    with pytest.raises(NotFound):
        store.jobs.cancel(999)


def test_a_rule_is_named_or_all_that_are_due_run(store: Store, memory: Memory) -> None:
    store.jobs.ask("consolidate", space="alice", params={"rule": "seats"})
    store.jobs.ask("consolidate", space="alice", params={"rule": "nobody"})
    assert sorted((job.state, job.error) for job in store.jobs.work()) == [
        ("done", None), ("failed", "not_found"),
    ]  # fmt: skip
    assert len(memory.list()) == 1


def test_what_may_pass_is_tried_again(store: Store, memory: Memory) -> None:
    tries = []

    def breaks(memory: Memory, told: object, progress: Progress) -> None:
        tries.append(1)
        raise Unavailable("the disk is full")

    job = store.jobs.ask("seal", space="alice")
    worker = Worker(
        store.space, port_of(store), now=REAL.now, passes={**PASSES, "seal": passing(breaks)}
    )
    done = worker.step()
    assert done is not None
    assert done.error == "unavailable"
    now = store.jobs.get(job.id)
    assert (now.state, now.error, now.attempts) == ("waiting", "unavailable", 1)
    assert now.due_at > REAL.now()


def test_a_bug_in_a_pass_is_recorded_and_raised(store: Store, memory: Memory) -> None:
    def breaks(memory: Memory, told: object, progress: Progress) -> None:
        raise ZeroDivisionError

    job = store.jobs.ask("seal", space="alice")
    worker = Worker(
        store.space, port_of(store), now=REAL.now, passes={**PASSES, "seal": passing(breaks)}
    )
    with pytest.raises(ZeroDivisionError):
        worker.step()
    assert store.jobs.get(job.id).error == "internal"


def passing(run: Any) -> Pass:
    return Pass(PASSES["seal"].takes, run)


def twice(store: Store, *, honest: bool) -> list[str]:
    """A worker is stopped until another has done its job, and then goes on.

    Returns what both have written. A worker that is not honest ignores that it lost its lease.
    """
    store.space("alice").observe("Hello.")
    has_begun, may_go_on = threading.Event(), threading.Event()

    def slow(memory: Memory, told: object, progress: Progress) -> None:
        is_first = not has_begun.is_set()
        has_begun.set()
        if is_first:
            may_go_on.wait(60)
        try:
            progress(1, 2)
        except LeaseLost:
            if honest:
                raise
        memory.observe("The pass has ended.")

    job = store.jobs.ask("seal", space="alice")
    passes = {**PASSES, "seal": passing(slow)}
    port = port_of(store)
    late = Worker(store.space, _Deaf(port), now=REAL.now, lease_s=0.2, passes=passes)
    first = threading.Thread(target=late.step)
    first.start()
    assert has_begun.wait(60)
    time.sleep(0.3)
    other = Worker(store.space, port, now=REAL.now, lease_s=60, passes=passes).step()
    assert other is not None
    assert (other.id, other.state, other.attempts) == (job.id, "done", 2)
    may_go_on.set()
    first.join(60)
    found = [each.text for each in store.space("alice").sessions.episodes()]
    return [text for text in found if text == "The pass has ended."]


class _Deaf:
    """A worker whose beats do not arrive, as if it was stopped."""

    def __init__(self, port: Port) -> None:
        self._port = port

    def beat(self, job: Job, seconds: float, done: int, total: int) -> bool:
        raise Unavailable("stopped")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._port, name)


def test_a_worker_that_lost_its_lease_writes_nothing(store: Store) -> None:
    assert len(twice(store, honest=True)) == 1


def test_control_a_worker_that_ignores_its_lost_lease_writes_twice(store: Store) -> None:
    assert len(twice(store, honest=False)) == 2


def test_a_long_pass_keeps_its_lease(store: Store, memory: Memory) -> None:
    def slow(memory: Memory, told: object, progress: Progress) -> None:
        for step in range(6):
            progress(step, 6)
            time.sleep(0.5)

    store.jobs.ask("seal", space="alice")
    passes = {**PASSES, "seal": passing(slow)}
    done = Worker(store.space, port_of(store), now=REAL.now, lease_s=2, passes=passes).step()
    assert done is not None
    assert done.state == "done"
    assert store.jobs.get(done.id).total == 6


class _Clock(Seam):
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.at = "2026-01-01T00:00:30.000000Z"

    def now(self) -> str:
        return self.at


def test_a_schedule_asks_for_work(tmp_path: Path) -> None:
    clock = _Clock()
    with Store.open(tmp_path / "workspace", embedder="none") as opened:
        opened.space("alice").observe("Hello.")
        store = Store(opened._backend, opened.settings, clock)
        opened._backend._seam = clock  # type: ignore[attr-defined]
        jobs = store.jobs
        plan = jobs.set_schedule("verify", space="alice", cron="30 7 * * *")
        assert plan.next_at == "2026-01-01T07:30:00.000000Z"
        assert jobs.schedules() == [plan]
        assert jobs.work() == []
        clock.at = "2026-01-03T09:00:00.000000Z"  # twice missed: done once
        assert [job.kind for job in jobs.work()] == ["verify"]
        assert jobs.get_schedule("verify", space="alice").next_at == "2026-01-04T07:30:00.000000Z"
        assert jobs.work() == []
        jobs.drop_schedule("verify", space="alice")
        with pytest.raises(NotFound):
            jobs.drop_schedule("verify", space="alice")
        with pytest.raises(NotFound):
            jobs.get_schedule("verify", space="alice")


def test_a_schedule_that_cannot_be_is_refused(store: Store, memory: Memory) -> None:
    wrong: list[dict[str, Any]] = [
        {}, {"cron": "* * * * *", "every_s": 60}, {"cron": "99 * * * *"}, {"every_s": 0},
        {"every_s": 10**9}, {"every_s": 60, "params": {"x": 1}},
    ]  # fmt: skip
    for given in wrong:
        with pytest.raises(InvalidInput):
            store.jobs.set_schedule("verify", space="alice", **given)
    with pytest.raises(Forbidden):
        store.jobs.set_schedule("verify", space="alice", every_s=60, trust="agent")
    with pytest.raises(NotFound):
        store.jobs.set_schedule("verify", space="nobody", every_s=60)


def test_a_worker_of_an_agent_leaves_schedules_alone(store: Store, memory: Memory) -> None:
    store.jobs.set_schedule("verify", space="alice", every_s=1)
    time.sleep(1.1)
    made = store.tokens.create("worker", space=None, trust="agent")
    assert store.entered(made.token).jobs.work() == []
    assert {job.kind for job in store.jobs.work()} == {"verify"}  # twice, if a second has passed


@pytest.mark.parametrize(
    ("last", "now", "then"),
    [(0, 5, 60), (0, 60, 120), (0, 3_601, 3_660)],
)
def test_a_schedule_by_seconds_keeps_its_pace(last: int, now: int, then: int) -> None:
    def at(second: int) -> str:
        return f"2026-01-01T{second // 3600:02}:{second % 3600 // 60:02}:{second % 60:02}.000000Z"

    plan = Schedule(
        space="alice", kind="verify", params={}, cron=None, every_s=60, set_by=None,
        next_at=at(last),
    )  # fmt: skip
    assert next_time(plan, at(now)) == at(then)


def test_a_worker_runs_until_it_is_stopped(store: Store, memory: Memory) -> None:
    kinds: list[JobKind] = ["verify"]
    job, other = store.jobs.ask("verify", space="alice"), store.jobs.ask("seal", space="alice")
    stop = threading.Event()
    worker = worker_of(store.jobs, kinds, closes=True)
    thread = threading.Thread(target=worker.run, args=(stop,), kwargs={"poll_s": 0.01})
    thread.start()
    for _ in range(6_000):
        if store.jobs.get(job.id).state == "done":
            break
        time.sleep(0.01)
    stop.set()
    thread.join(60)
    assert (store.jobs.get(job.id).state, store.jobs.get(other.id).state) == ("done", "waiting")
