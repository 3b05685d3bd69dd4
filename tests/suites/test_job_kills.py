"""Workers are killed again and again: each pass ends, and nothing is written twice."""

from __future__ import annotations

import math
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from recollect.memory import Store
from recollect.model.instants import to_microseconds
from recollect.model.values import Job
from tests.suites.conftest import Tell
from tests.suites.job_workers import Telling, fill

WORKERS = 3


class Size(NamedTuple):
    """How much of it."""

    spaces: int
    kills: int
    lease_s: float
    pause_s: float  # before and after each pass
    wait_max: float = math.inf  # for the next try, in leases


SIZES = [
    pytest.param(Size(60, 8, 3.0, 0.1), id="bounded"),
    pytest.param(Size(10_000, 100, 5.0, 0.005, 2.0), id="full", marks=pytest.mark.nightly),
]


class Line(NamedTuple):
    """What a worker noted."""

    what: str
    job: int
    attempt: int
    until: str
    at: str


class Crew:
    """Three workers; one that is killed is replaced."""

    def __init__(self, where: str, folder: Path, size: Size, seed: int) -> None:
        self._where = where
        self._folder = folder
        self._lease_s = size.lease_s
        self._pause_s = size.pause_s
        self._chance = random.Random(seed)
        self._count = 0
        self._running = [self._start() for _ in range(WORKERS)]
        self.killed = self.stopped = 0

    def _start(self) -> subprocess.Popen[bytes]:
        self._count += 1
        told = (str(self._lease_s), str(self._pause_s))
        words = (self._where, str(self._folder / f"{self._count}.log"), *told)
        return subprocess.Popen([sys.executable, "-m", "tests.suites.job_workers", *words])

    def wait_for_work(self) -> None:
        """Until each of the first workers has a job, so that kills fall into passes."""
        until = time.monotonic() + 120
        while len(list(self._folder.glob("*.log"))) < WORKERS:
            assert time.monotonic() < until
            time.sleep(0.01)

    def kill_one(self) -> None:
        place = self._chance.randrange(WORKERS)
        victim = self._running[place]
        if self._chance.random() < 0.2:  # stopped beyond its lease: it goes on as a late worker
            os.kill(victim.pid, signal.SIGSTOP)
            time.sleep(self._lease_s * 1.2)
            os.kill(victim.pid, signal.SIGCONT)
            self.stopped += 1
        victim.kill()
        victim.wait()
        self._running[place] = self._start()
        self.killed += 1

    def end(self) -> None:
        for each in self._running:
            each.kill()
            each.wait()


def lines(folder: Path) -> list[Line]:
    found = [line for path in folder.glob("*.log") for line in path.read_bytes().split(b"\n")]
    return [Line(*msgspec.json.decode(line)) for line in found if line.endswith(b"]")]


def judged(store: Store, names: list[str], noted: list[Line], lease_s: float) -> list[str]:
    """What is wrong, in words."""
    wrong = []
    for name in names:
        memory = store.space(name, create=False)
        made = [change for change in memory.events.list(limit=100) if change.kind == "record.added"]
        if len(made) != 1:
            wrong.append(f"{name}: {len(made)} records")
        memory.close()
    twice = [job for job, n in Counter(x.job for x in noted if x.what == "done").items() if n > 1]
    wrong += [f"job {job} was reported done twice" for job in twice]
    by_job: dict[int, list[Line]] = {}
    for line in sorted(noted, key=lambda line: (line.until, line.at)):
        if line.what in ("leased", "failed"):
            by_job.setdefault(line.job, []).append(line)
    for job, leases in by_job.items():
        for before, after in pairwise(leases):
            if "failed" in (before.what, after.what):
                continue  # given back before its lease ended
            # When a line was written says little: a worker may be stopped before it writes one.
            waited = (to_microseconds(after.until) - to_microseconds(before.until)) / 1e6
            if waited < lease_s - 0.001:
                wrong.append(f"job {job} had two workers: {waited:.2f} s apart")
    return wrong


def waits(noted: list[Line], lease_s: float) -> float:
    """The longest time from a lease to the next one of the same job, in leases."""
    last: dict[int, Line] = {}
    longest = 0.0
    for line in sorted(noted, key=lambda line: line.at):
        if line.what == "leased":
            if line.job in last:
                gap = to_microseconds(line.at) - to_microseconds(last[line.job].at)
                longest = max(longest, gap / 1e6 / lease_s)
            last[line.job] = line
    return longest


@pytest.mark.parametrize("size", SIZES)
def test_each_pass_ends_and_nothing_is_written_twice(
    tmp_path: Path, size: Size, tell: Tell
) -> None:
    names = [f"space-{number}" for number in range(size.spaces)]
    (tmp_path / "logs").mkdir()
    with Store.open(tmp_path / "w", embedder="none") as store:
        fill(store, names)
        crew = Crew(str(tmp_path / "w"), tmp_path / "logs", size, seed=64)
        try:
            crew.wait_for_work()
            began = time.monotonic()
            for _ in range(size.kills):
                time.sleep(random.Random(crew.killed).uniform(0.2, 0.6))
                crew.kill_one()
            while store.jobs.list(state="waiting", limit=1) or store.jobs.list(
                state="running", limit=1
            ):
                assert time.monotonic() - began < 3_600
                time.sleep(0.1)
        finally:
            crew.end()
        states = Counter(job.state for job in _all(store, names))
        noted = lines(tmp_path / "logs")
        again = sum(1 for line in noted if line.what == "leased" and line.attempt > 1)
        longest = waits(noted, size.lease_s)
        tell(
            f"{size.spaces:,} spaces, {crew.killed} kills, {crew.stopped} of them after a stop, "
            f"{again} jobs taken again, longest wait {longest:.2f} leases, {dict(states)}"
        )
        assert states == {"done": size.spaces}
        assert judged(store, names, noted, size.lease_s) == []
        assert again > 0
        assert longest <= size.wait_max


def _all(store: Store, names: list[str]) -> list[Job]:
    return [job for name in names for job in store.jobs.list(space=name)]


def test_control_a_worker_that_ignores_its_lost_lease_is_seen(tmp_path: Path) -> None:
    """Both workers say that they did it; the judge must say so."""
    with Store.open(tmp_path / "w", embedder="none") as store:
        fill(store, ["a"])
        port, logs = store._backend.jobs(), tmp_path / "logs"
        logs.mkdir()
        for deaf, wrong in ((False, []), (True, ["job 2 was reported done twice"])):
            late = Telling(port, logs / f"late-{deaf}.log", deaf=deaf)
            other = Telling(port, logs / f"other-{deaf}.log")
            mine = late.lease((), 0.1)
            assert mine is not None
            time.sleep(0.15)
            theirs = other.lease((), 60)
            assert theirs is not None
            assert other.done(theirs)
            assert late.done(mine) == deaf
            assert judged(store, [], lines(logs), 0.1) == wrong
            store.jobs.ask("consolidate", space="a", params={"rule": "seats"})


def test_a_worker_that_fails_after_its_lease_gives_nothing_back(tmp_path: Path) -> None:
    """Else a job with two workers would look like one that was given back and taken again."""
    with Store.open(tmp_path / "w", embedder="none") as store:
        fill(store, ["a"])
        logs = tmp_path / "logs"
        logs.mkdir()
        late = Telling(store._backend.jobs(), logs / "late.log")
        job = late.lease((), 0.1)
        assert job is not None
        time.sleep(0.15)
        assert not late.fail(job, "unavailable", 0)
        again = late.lease((), 60)
        assert again is not None
        assert late.fail(again, "unavailable", 0)
        assert [line.what for line in lines(logs)] == ["leased", "leased", "failed"]


def test_control_a_job_with_two_workers_is_seen(tmp_path: Path) -> None:
    now = "2026-01-01T00:00:0{}.000000Z"
    noted = [
        Line("leased", 1, 1, now.format(1), now.format(0)),
        Line("leased", 1, 2, now.format(3), now.format(2)),
        Line("done", 1, 2, now.format(3), now.format(3)),
    ]
    with Store.open(tmp_path / "w", embedder="none") as store:
        assert judged(store, [], noted, 1.0) == []
        early = [noted[0], noted[1]._replace(until=now.format(1).replace(":01.000", ":01.300"))]
        assert judged(store, [], early, 1.0) != []


def test_control_a_record_that_is_made_twice_is_seen(tmp_path: Path) -> None:
    with Store.open(tmp_path / "w", embedder="none") as store:
        store.space("a").remember("One.")
        assert judged(store, ["a"], [], 1.0) == []
        store.space("a").remember("One more.")
        assert judged(store, ["a"], [], 1.0) == ["a: 2 records"]
