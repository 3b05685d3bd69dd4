"""The port of jobs: passes over memories that were asked for, and the leases of workers.

Responsible for the contract, each sentence of which has a test of the same name in
``recollect.testing``, and for the rules that every engine shares. Leaves keeping jobs to the
engines and doing them to ``memory.jobs.worker``. Invariant: no token is in a job; a worker has its
own, and lowers itself to the trust of who asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol, cast

import msgspec

from recollect.errors import Forbidden, InvalidInput, LimitExceeded, NotFound
from recollect.index.rows import Row
from recollect.model.events import Trust
from recollect.model.values import JOB_KINDS, Job, JobKind, JobState, Schedule, Token

ATTEMPTS_MAX: Final = 5
KEPT_MAX_COUNT: Final = 10  # ended jobs of one kind in one space
WAITING_MAX_COUNT: Final = 1_000  # in one space
List = list  # ``list`` is also the name of a call


class Jobs(Protocol):
    """The jobs of one store, as its owner or one token sees them.

    - Asking again while a job waits gives the same job.
    - A job is leased by one worker at a time.
    - A lease ends by time, and the job is taken again.
    - A worker whose lease ended cannot report.
    - A job is tried a bounded number of times.
    - A job of an unknown kind fails instead of waiting.
    - A cancelled job is not run, and its worker is told.
    - A job keeps the trust of who asked, and no token.
    - A token ends and reports no job of more trust than its own.
    - Jobs of others and jobs that do not exist look the same.
    - A worker takes only what its own token allows.
    - A schedule is set by a person and asks once for each time.
    - A dropped space takes its jobs and schedules along.
    """

    def ask(
        self, space: str, kind: JobKind, params: str, *, due_at: str | None, trust: Trust
    ) -> Job:
        """Asks for a pass; ``params`` is JSON in one form, ``trust`` can only lower it."""
        ...

    def lease(self, kinds: Sequence[str], seconds: float) -> Job | None:
        """The job that is due for the longest time, for so many seconds; None if none is."""
        ...

    def beat(self, job: Job, seconds: float, done: int, total: int) -> bool:
        """Prolongs a lease and tells progress; False if the lease has ended."""
        ...

    def done(self, job: Job) -> bool:
        """The pass has ended; False if the lease has."""
        ...

    def fail(self, job: Job, code: str, again_s: float | None) -> bool:
        """The pass has failed; it is tried again after so many seconds, or not with None."""
        ...

    def list(
        self, space: str | None, *, id: int | None, state: JobState | None, limit: int
    ) -> list[Job]:
        """The jobs of one space, or with None of all; the newest first."""
        ...

    def cancel(self, space: str | None, id: int) -> bool:
        """Ends a job that waits or runs; False if there is none."""
        ...

    def set_schedule(self, schedule: Schedule) -> None:
        """Sets the schedule of a kind in a space, in place of the one before."""
        ...

    def schedules(self, space: str | None, *, due: bool = False) -> List[Schedule]:
        """The schedules of one space, or with None of all; those alone whose time has come."""
        ...

    def drop_schedule(self, space: str, kind: str) -> bool:
        """Removes a schedule; False if there is none."""
        ...

    def fire(self, schedule: Schedule, next_at: str) -> bool:
        """Asks for what is due and sets when it is next; False if another worker did."""
        ...


def verb_for(kind: str) -> str:
    """The verb that asking for a kind needs: a worker may do more than who asked."""
    return "erase" if kind == "expire" else "write"


def check_may(token: Token | None, verb: str) -> None:
    """Refuses a token that may not ask for work, or take it."""
    if token is None:
        return
    if token.user is not None or token.agent is not None:
        raise Forbidden(
            "background work is for a whole space, and this token is for one user or agent",
            hint="use a token without a user and an agent",
        )
    if verb not in token.verbs:
        raise Forbidden(
            f"this needs a token with the verb {verb}", hint="use another token, or ask its owner"
        )


def check_person(trust: Trust) -> None:
    """Refuses a schedule that no person sets."""
    if trust != "person":
        raise Forbidden("only a person sets or removes a schedule", hint="use a person's token")


def checked_kinds(kinds: Sequence[str]) -> list[str]:
    """These kinds, or all of them if none is named."""
    unknown = sorted(set(kinds) - set(JOB_KINDS))
    if unknown:
        raise InvalidInput(
            f"unknown kinds of work: {', '.join(unknown)}",
            hint=f"choose from {', '.join(JOB_KINDS)}",
        )
    return list(dict.fromkeys(kinds)) or list(JOB_KINDS)


def after_failure(job: Job, again_s: float | None) -> str:
    """The state of a job after a failed attempt: it waits for the next one, or has failed."""
    return "failed" if again_s is None or job.attempts >= ATTEMPTS_MAX else "waiting"


def too_many(space: str) -> LimitExceeded:
    """The error for a space in which too much waits."""
    return LimitExceeded(
        f"{WAITING_MAX_COUNT:,} jobs wait in {space!r} already",
        hint="run `recollect admin work`, or cancel some",
    )


def no_job(id: int) -> NotFound:
    """The error for a job that is not there, or not this caller's."""
    return NotFound(f"job {id} does not exist", hint="`recollect admin job list` lists them")


def job_of(row: Row) -> Job:
    """A row as an engine returns it."""
    id, space, kind, params, state, asked_by, trust, asked, due, tries, done, total, error = row
    return Job(
        id=cast(int, id),
        space=str(space),
        kind=str(kind),
        params=msgspec.json.decode(str(params)),
        state=cast(JobState, state),
        asked_by=cast("int | None", asked_by),
        trust=cast(Trust, trust),
        asked_at=str(asked),
        due_at=str(due),
        lease_until=str(due) if state == "running" else None,
        attempts=cast(int, tries),
        done=cast(int, done),
        total=cast(int, total),
        error=cast("str | None", error),
    )


def schedule_of(row: Row) -> Schedule:
    """A row as an engine returns it."""
    space, kind, params, cron, every_s, set_by, next_at = row
    return Schedule(
        space=str(space),
        kind=str(kind),
        params=msgspec.json.decode(str(params)),
        cron=cast("str | None", cron),
        every_s=cast("int | None", every_s),
        set_by=cast("int | None", set_by),
        next_at=str(next_at),
    )


def one_form(params: object) -> str:
    """Parameters as JSON with sorted names, so that the same ones have the same text."""
    return msgspec.json.encode(params, order="sorted").decode()
