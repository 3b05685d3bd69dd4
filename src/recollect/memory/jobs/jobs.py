"""``store.jobs``: background work in the memories of a store.

Responsible for the arguments of these calls. Leaves keeping jobs to the engine and doing them to
``memory.jobs.worker``. Invariant: nothing is done unless a worker was started, here or elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Final, get_args

from msgspec import structs

from recollect.errors import Conflict, Forbidden, InvalidInput, NotFound
from recollect.model import instants, validate
from recollect.model.cron import parse_cron
from recollect.model.events import TRUST_RANK, Trust
from recollect.model.instants import Moment
from recollect.model.limits import INTEGER_MAX
from recollect.model.validate import Json
from recollect.model.values import Job, JobKind, JobState, Schedule
from recollect.store.jobs.jobs import Jobs as Port
from recollect.store.jobs.jobs import check_person, checked_kinds, no_job, one_form
from recollect.store.seam import Seam

if TYPE_CHECKING:
    from recollect.memory.jobs.worker import Opens, Worker

EVERY_MAX_S: Final = 366 * 86_400
_JOBS_MAX_COUNT: Final = 1_000
List = list  # ``list`` is also the name of a call


class Jobs:
    """Ask for work, see what became of it, set schedules, and do it."""

    def __init__(self, jobs: Callable[[], Port], space: Opens, seam: Seam) -> None:
        self._jobs = jobs
        self._space = space
        self._seam = seam

    def ask(
        self,
        kind: JobKind,
        *,
        space: str = "main",
        params: Mapping[str, Json] | None = None,
        due: Moment | timedelta | None = None,
        trust: Trust = "person",
    ) -> Job:
        """Ask for a pass over a memory; a worker does it. While it waits, it is not added again.

        Args:
            kind: ``embed``, ``consolidate``, ``archive``, ``expire``, ``verify``, ``seal``,
                ``rebuild`` or ``checkpoint``, as the commands with these names.
            space: The memory.
            params: For ``consolidate`` a ``rule``, otherwise all that are due; for ``archive``
                ``below``; for ``verify`` ``deep``.
            due: Not before this instant, or after how long.
            trust: The highest trust of what the pass writes; that of the token at most.

        Raises:
            InvalidInput: The kind is unknown, or does not take these parameters.
            NotFound: The memory does not exist.
            Forbidden: The token only reads, is for one user or agent, or lacks ``erase`` for
                ``expire``.
            LimitExceeded: 1,000 jobs wait in this memory.
        """
        if isinstance(due, timedelta):
            due = instants.later(self._seam.now(), due)
        return self._jobs().ask(
            validate.space_name(space),
            kind,
            self._params(kind, params),
            due_at=None if due is None else instants.dated(due),
            trust=_trust(trust),
        )

    def get(self, id: int, *, space: str | None = None) -> Job:
        """One job.

        Args:
            id: Its number.
            space: Only if it is one of this memory.

        Raises:
            NotFound: The job does not exist, or it ended long ago.
        """
        space = None if space is None else validate.space_name(space)
        found = self._jobs().list(space, id=_id(id), state=None, limit=1)
        if not found:
            raise no_job(id)
        return found[0]

    def list(
        self, *, space: str | None = None, state: JobState | None = None, limit: int = 100
    ) -> list[Job]:
        """Jobs, newest first: all that wait or run, and the last ten of each kind that ended.

        Args:
            space: Those of one memory; by default of all that this store opens.
            state: ``waiting``, ``running``, ``done``, ``failed`` or ``cancelled``.
            limit: At most this many, up to 1,000.
        """
        if state is not None and state not in get_args(JobState):
            raise InvalidInput(f"state must be one of {', '.join(get_args(JobState))}")
        limit = validate.count(limit, "limit", at_most=_JOBS_MAX_COUNT)
        space = None if space is None else validate.space_name(space)
        return self._jobs().list(space, id=None, state=state, limit=limit)

    def cancel(self, id: int, *, space: str | None = None) -> Job:
        """End a job that waits; one that runs is stopped at the next step of its pass.

        Args:
            id: Its number.
            space: Only if it is one of this memory.

        Raises:
            NotFound: The job does not exist.
            Conflict: It has ended.
            Forbidden: It was asked for with more trust than the token has.
        """
        space = None if space is None else validate.space_name(space)
        is_cancelled = self._jobs().cancel(space, _id(id))
        job = self.get(id, space=space)
        if not is_cancelled and job.state in ("waiting", "running"):
            raise Forbidden(
                f"job {id} was asked for with the trust {job.trust!r}, which is more than yours",
                hint="ask who did to cancel it",
            )
        if not is_cancelled:
            raise Conflict(f"job {id} has ended: it is {job.state}")
        return job

    def set_schedule(
        self,
        kind: JobKind,
        *,
        space: str = "main",
        cron: str | None = None,
        every_s: int | None = None,
        params: Mapping[str, Json] | None = None,
        trust: Trust = "person",
    ) -> Schedule:
        """Set when a pass is asked for again and again, in place of what was set before.

        Args:
            kind: As for ``ask``.
            space: The memory.
            cron: Five fields, in UTC: minute, hour, day, month, weekday.
            every_s: Or a number of seconds between two times.
            params: As for ``ask``.
            trust: The trust of who sets it; only a person does.

        Raises:
            InvalidInput: The kind or the time is unknown, or both or none of ``cron`` and
                ``every_s`` were given.
            Forbidden: The token is not a person's, or may not ask for this.
            NotFound: The memory does not exist.
        """
        from recollect.memory.jobs.worker import checked_params, next_time

        check_person(trust)
        if (cron is None) == (every_s is None):
            raise InvalidInput("a schedule has either cron or every_s", hint="give one of them")
        if cron is not None:
            parse_cron(validate.plain(cron, "cron")[:200])
        else:
            every_s = validate.count(every_s or 0, "every_s", at_most=EVERY_MAX_S)
        now = self._seam.now()
        wanted = Schedule(
            space=validate.space_name(space),
            kind=kind,
            params=checked_params(kind, params),
            cron=cron,
            every_s=every_s,
            set_by=None,
            next_at=now,
        )
        self._jobs().set_schedule(structs.replace(wanted, next_at=next_time(wanted, now)))
        return self.get_schedule(kind, space=space)

    def get_schedule(self, kind: JobKind, *, space: str = "main") -> Schedule:
        """The schedule of one kind of pass.

        Args:
            kind: As for ``ask``.
            space: The memory.

        Raises:
            NotFound: None is set.
        """
        found = [each for each in self.schedules(space=space) if each.kind == kind]
        if not found:
            raise _no_schedule(kind)
        return found[0]

    def schedules(self, *, space: str | None = None) -> List[Schedule]:
        """The schedules that are set.

        Args:
            space: Those of one memory; by default of all that this store opens.
        """
        return self._jobs().schedules(None if space is None else validate.space_name(space))

    def drop_schedule(self, kind: str, *, space: str = "main") -> None:
        """Remove a schedule; what it has asked for stays.

        Args:
            kind: As for ``ask``, or one that another release has set.
            space: The memory.

        Raises:
            NotFound: None is set.
            Forbidden: The token is not a person's.
        """
        kind = validate.name(kind, "kind")
        if not self._jobs().drop_schedule(validate.space_name(space), kind):
            checked_kinds([kind])
            raise _no_schedule(kind)

    def work(self, *, kinds: Iterable[str] = (), limit: int = 1_000) -> List[Job]:
        """Do what is due now, one job after the other, with the rights of this store.

        Args:
            kinds: Only these kinds.
            limit: At most this many, up to 1,000.

        Returns:
            The jobs as they ended, each with the code of its error if it failed.
        """
        limit = validate.count(limit, "limit", at_most=_JOBS_MAX_COUNT)
        worker, found = self._worker(kinds), List[Job]()
        while len(found) < limit and (job := worker.step()) is not None:
            found.append(job)
        return found

    def _worker(self, kinds: Iterable[str] = (), *, closes: bool = False) -> Worker:
        from recollect.memory.jobs.worker import Worker

        return Worker(
            self._space, self._jobs(), kinds=tuple(kinds), closes=closes, now=self._seam.now
        )

    def _params(self, kind: JobKind, params: Mapping[str, Json] | None) -> str:
        from recollect.memory.jobs.worker import checked_params

        return one_form(checked_params(kind, params))


def worker_of(jobs: Jobs, kinds: Iterable[str] = (), *, closes: bool = False) -> Worker:
    """What does the jobs of a store again and again, for a process that is for that."""
    return jobs._worker(kinds, closes=closes)


def _no_schedule(kind: str) -> NotFound:
    return NotFound(
        f"no schedule is set for {kind}", hint="`recollect admin schedule list` lists them"
    )


def _trust(trust: Trust) -> Trust:
    if trust not in TRUST_RANK:
        raise InvalidInput(f"trust must be person, agent or unverified, not {trust!r}")
    return trust


def _id(id: int) -> int:
    if type(id) is not int or not 0 < id <= INTEGER_MAX:
        raise InvalidInput("the number of a job is 1 or more")
    return id
