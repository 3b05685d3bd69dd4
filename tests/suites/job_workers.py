"""Workers in processes of their own, for the suite that kills them.

Responsible for one worker as a process, and for filling a store with spaces that have work. Leaves
judging to ``test_job_kills``. A worker tells each lease and each report in a file of its own.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from recollect.memory import Memory, Store
from recollect.memory.jobs.worker import PASSES, Pass, Worker
from recollect.model.values import Job
from recollect.store.jobs.jobs import Jobs
from recollect.store.port import Progress
from recollect.store.seam import REAL

RULE = "seats"


def fill(store: Store, names: Iterable[str]) -> None:
    """In each space an episode that a rule makes a record of, and a job that runs the rule."""
    for name in names:
        memory = store.space(name)
        memory.settings.rules.set(RULE, every=1)
        memory.observe(f"{name} sits in 12A.", metadata={"intent": "add", "key": "seat"})
        memory.close()
        store.jobs.ask("consolidate", space=name, params={"rule": RULE})


class Telling:
    """The jobs of a store; what a worker is told and tells is noted before and after."""

    def __init__(self, jobs: Jobs, path: Path, *, deaf: bool = False) -> None:
        self._jobs = jobs
        self._path = path
        self._deaf = deaf

    def lease(self, kinds: Any, seconds: float) -> Job | None:
        job = self._jobs.lease(kinds, seconds)
        if job is not None:
            self._note("leased", job)
        return job

    def done(self, job: Job) -> bool:
        is_told = self._jobs.done(job) or self._deaf
        if is_told:
            self._note("done", job)
        return is_told

    def fail(self, job: Job, code: str, again_s: float | None) -> bool:
        is_told = self._jobs.fail(job, code, again_s)
        if is_told:
            self._note("failed", job)
        return is_told

    def _note(self, what: str, job: Job) -> None:
        line = [what, job.id, job.attempts, job.due_at, REAL.now()]
        with self._path.open("ab", buffering=0) as file:
            file.write(msgspec.json.encode(line) + b"\n")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._jobs, name)


def slowly(pause_s: float) -> dict[str, Pass]:
    """The passes, with a pause before and after, so that kills fall into them."""
    plain = PASSES["consolidate"]

    def run(memory: Memory, told: Any, progress: Progress) -> None:
        time.sleep(pause_s)
        plain.run(memory, told, progress)
        time.sleep(pause_s)

    return {"consolidate": Pass(plain.takes, run)}


def main(where: str, log: str, lease_s: str, pause_s: str) -> None:
    """Works until it is killed, or until its parent is gone."""
    parent = os.getppid()
    with Store.open(where, embedder="none") as store:
        jobs = Telling(store._backend.jobs(), Path(log))
        worker = Worker(
            store.space, jobs, kinds=("consolidate",), lease_s=float(lease_s), closes=True,
            now=REAL.now, passes=slowly(float(pause_s)),
        )  # fmt: skip
        stop = threading.Event()
        while os.getppid() == parent:
            if worker.step() is None:
                stop.wait(0.02)


if __name__ == "__main__":
    main(*sys.argv[1:])
