"""Jobs of a database.

Responsible for calling the server's functions and for saying why it refused. Leaves what a token
may do, and time, to the server (``sql/jobs.sql``). Invariant: nothing here needs the rights of the
database's owner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
import psycopg
from psycopg.errors import InsufficientPrivilege, NoDataFound, ProgramLimitExceeded

from recollect.errors import Forbidden, NotFound
from recollect.index.rows import Row
from recollect.model.events import Trust
from recollect.model.values import Job, JobKind, JobState, Schedule
from recollect.store.jobs import (
    ATTEMPTS_MAX,
    KEPT_MAX_COUNT,
    WAITING_MAX_COUNT,
    after_failure,
    check_may,
    check_person,
    checked_kinds,
    job_of,
    one_form,
    schedule_of,
    too_many,
    verb_for,
)
from recollect.store.postgres.db import as_ours, run
from recollect.store.postgres.pool import Pool
from recollect.store.postgres.tokens import check_token, token_in

List = list  # ``list`` is also the name of a call


class PostgresJobs:
    """The jobs of one database, as one token sees them."""

    def __init__(self, pool: Pool, token: Callable[[], str]) -> None:
        self._pool = pool
        self._token = token

    def ask(
        self, space: str, kind: JobKind, params: str, *, due_at: str | None, origin: Trust
    ) -> Job:
        """Asks for a pass."""
        asked = {
            "space": space, "kind": kind, "params": params, "due": due_at, "origin": origin,
            "most": WAITING_MAX_COUNT,
        }  # fmt: skip
        (row,) = self._run("ask_job", asked, verb_for(kind))
        return job_of(row)

    def lease(self, kinds: Sequence[str], seconds: float) -> Job | None:
        """The job that is due for the longest time."""
        asked = {"kinds": checked_kinds(kinds), "seconds": seconds, "most": ATTEMPTS_MAX}
        found = self._run("lease_job", asked)
        return job_of(found[0]) if found else None

    def beat(self, job: Job, seconds: float, done: int, total: int) -> bool:
        """Prolongs a lease and tells progress."""
        return self._report(job, "running", seconds, done=done, total=total)

    def done(self, job: Job) -> bool:
        """The pass has ended."""
        return self._report(job, "done", 0)

    def fail(self, job: Job, code: str, again_s: float | None) -> bool:
        """The pass has failed."""
        return self._report(job, after_failure(job, again_s), again_s or 0, error=code)

    def _report(
        self, job: Job, state: str, seconds: float, *, done: int = 0, total: int = 0,
        error: str | None = None,
    ) -> bool:  # fmt: skip
        asked = {
            "id": job.id, "attempts": job.attempts, "state": state, "seconds": seconds,
            "done": done, "total": total, "error": error, "kept": KEPT_MAX_COUNT,
        }  # fmt: skip
        return self._yes("report_job", asked)

    def list(
        self, space: str | None, *, id: int | None, state: JobState | None, limit: int
    ) -> list[Job]:
        """The jobs of one space, or of all; the newest first."""
        asked = {"space": space, "id": id, "state": state, "limit": limit}
        return [job_of(row) for row in self._run("jobs_for", asked, "read")]

    def cancel(self, space: str | None, id: int) -> bool:
        """Ends a job that waits or runs."""
        return self._yes("cancel_job", {"space": space, "id": id})

    def set_schedule(self, schedule: Schedule) -> None:
        """Sets the schedule of a kind in a space."""
        asked = {**msgspec.structs.asdict(schedule), "params": one_form(schedule.params)}
        self._run("set_schedule", asked, verb_for(schedule.kind), person=True)

    def schedules(self, space: str | None, *, due: bool = False) -> List[Schedule]:
        """The schedules of one space, or of all."""
        found = self._run("schedules_for", {"space": space, "due": due}, "read")
        return [schedule_of(row) for row in found]

    def drop_schedule(self, space: str, kind: str) -> bool:
        """Removes a schedule."""
        return self._yes("drop_schedule", {"space": space, "kind": kind}, person=True)

    def fire(self, schedule: Schedule, next_at: str) -> bool:
        """Asks for what is due and sets when it is next."""
        asked = {
            "space": schedule.space, "kind": schedule.kind, "was": schedule.next_at,
            "next": next_at,
        }  # fmt: skip
        return self._yes("fire_schedule", asked, person=True)

    def _yes(self, name: str, params: Mapping[str, object], *, person: bool = False) -> bool:
        return bool(self._run(name, params, person=person)[0][0])

    def _run(
        self, name: str, params: Mapping[str, object], verb: str = "write", *, person: bool = False
    ) -> List[Row]:
        token = self._token()
        try:
            with self._pool.connection() as connection:
                return run(connection, name, {**params, "token": token})
        except NoDataFound:
            raise NotFound(f"there is no space {params['space']!r} for this caller") from None
        except ProgramLimitExceeded:
            raise too_many(str(params["space"])) from None
        except InsufficientPrivilege:
            self._say_why(token, verb, person)
            raise Forbidden("this token may not do this") from None
        except psycopg.Error as error:
            raise as_ours(error) from error

    def _say_why(self, token: str, verb: str, person: bool) -> None:
        """Raises what is wrong with the token."""
        with self._pool.connection() as connection:
            check_token(connection, token)
            (row,) = run(connection, "token_of", {"token": token})
        mine = token_in(row)
        check_may(mine, verb)
        if person:
            check_person(mine.origin)
