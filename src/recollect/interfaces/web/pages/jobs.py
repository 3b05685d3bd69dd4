"""Background work: what waits, runs and has ended, and what is asked for again and again.

Responsible for how far a job is, in words. Leaves asking to ``acts.upkeep`` and doing to a worker.
Invariant: nothing of a memory's text is on this page.
"""

from __future__ import annotations

import msgspec

from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.rights import Needs, Rights
from recollect.interfaces.web.view import View
from recollect.memory import Store
from recollect.model.values import JOB_KINDS, Job, Schedule
from recollect.store.jobs.jobs import verb_for

_JOBS_MAX_COUNT = 100


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One job."""

    job: Job
    percent: int  # done of total
    ends: bool  # it waits or runs, so it can be cancelled


class Main(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows."""

    jobs: tuple[Row, ...]
    schedules: tuple[tuple[Schedule, str], ...]  # with when, in words
    spaces: tuple[str, ...]
    kinds: tuple[tuple[str, bool], ...]  # with whether this session may ask for it


def page(asked: Asked, store: Store) -> View:
    """Reads the jobs that this session sees."""
    jobs, schedules = store.jobs.list(limit=_JOBS_MAX_COUNT), store.jobs.schedules()
    held = Rights(store.token())
    main = Main(
        jobs=tuple(_row(each) for each in jobs),
        schedules=tuple((each, _when(each)) for each in schedules),
        spaces=tuple(store.spaces()),
        kinds=tuple((kind, not held.lacks(Needs(verb_for(kind)))) for kind in JOB_KINDS),
    )
    calls = (
        asked.call(
            f"store.jobs.list(limit={_JOBS_MAX_COUNT})",
            asked.cli("admin", "job", "list", "--limit", _JOBS_MAX_COUNT),
        ),
        asked.call("store.jobs.schedules()", asked.cli("admin", "schedule", "list")),
    )
    answer = {"jobs": jobs, "schedules": schedules}
    return View(title="Jobs", main=main, answer=answer, calls=calls)


def _row(job: Job) -> Row:
    is_open = job.state in ("waiting", "running")
    percent = 100 if job.state == "done" else round(100 * job.done / job.total) if job.total else 0
    return Row(job=job, percent=percent, ends=is_open)


def _when(schedule: Schedule) -> str:
    if schedule.cron is not None:
        return f"at {schedule.cron} (UTC)"
    return f"every {schedule.every_s:,} s"
