"""The calls of ``memory.jobs``, async; ``make async`` writes this module.

Responsible for one call in a worker thread for each call there. Leaves everything else to the plain
memory. Invariant: signatures and documentation are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta

from recollect.client.aio.workers import AsyncCalls
from recollect.client.jobs import Jobs
from recollect.model.events import Trust
from recollect.model.instants import Moment
from recollect.model.validate import Json
from recollect.model.values import Job, JobKind, JobState, Schedule

List = list  # ``list`` is also the name of a call


class AsyncJobs(AsyncCalls[Jobs]):
    """Ask for work, see what became of it, set schedules, and do it."""

    async def ask(
        self,
        kind: JobKind,
        *,
        space: str = "main",
        params: Mapping[str, Json] | None = None,
        due: Moment | timedelta | None = None,
        origin: Trust = "person",
    ) -> Job:
        """Ask for a pass over a memory; a worker does it. While it waits, it is not added again.

        Args:
            kind: ``embed``, ``consolidate``, ``curate``, ``retain``, ``verify``, ``seal``,
                ``rebuild`` or ``checkpoint``, as the calls of a memory with these names.
            space: The memory.
            params: For ``consolidate`` a ``rule``, otherwise all that are due; for ``curate``
                ``below``; for ``verify`` ``deep``.
            due: Not before this instant, or after how long.
            origin: The highest trust of what the pass writes; that of the token at most.

        Raises:
            InvalidInput: The kind is unknown, or does not take these parameters.
            NotFound: The memory does not exist.
            Forbidden: The token only reads, is for one user or agent, or lacks ``erase`` for
                ``retain``.
            LimitExceeded: 1,000 jobs wait in this memory.
        """
        return await self._run(
            self._calls.ask, kind, space=space, params=params, due=due, origin=origin
        )

    async def get(self, id: int, *, space: str | None = None) -> Job:
        """One job.

        Args:
            id: Its number.
            space: Only if it is one of this memory.

        Raises:
            NotFound: The job does not exist, or it ended long ago.
        """
        return await self._run(self._calls.get, id, space=space)

    async def list(
        self, *, space: str | None = None, state: JobState | None = None, limit: int = 100
    ) -> list[Job]:
        """Jobs, newest first: all that wait or run, and the last ten of each kind that ended.

        Args:
            space: Those of one memory; by default of all that this store opens.
            state: ``waiting``, ``running``, ``done``, ``failed`` or ``cancelled``.
            limit: At most this many, up to 1,000.
        """
        return await self._run(self._calls.list, space=space, state=state, limit=limit)

    async def cancel(self, id: int, *, space: str | None = None) -> Job:
        """End a job that waits; one that runs is stopped at the next step of its pass.

        Args:
            id: Its number.
            space: Only if it is one of this memory.

        Raises:
            NotFound: The job does not exist.
            Conflict: It has ended.
            Forbidden: It was asked for with more trust than the token has.
        """
        return await self._run(self._calls.cancel, id, space=space)

    async def set_schedule(
        self,
        kind: JobKind,
        *,
        space: str = "main",
        cron: str | None = None,
        every_s: int | None = None,
        params: Mapping[str, Json] | None = None,
        origin: Trust = "person",
    ) -> Schedule:
        """Set when a pass is asked for again and again, in place of what was set before.

        Args:
            kind: As for ``ask``.
            space: The memory.
            cron: Five fields, in UTC: minute, hour, day, month, weekday.
            every_s: Or a number of seconds between two times.
            params: As for ``ask``.
            origin: The trust of who sets it; only a person does.

        Raises:
            InvalidInput: The kind or the time is unknown, or both or none of ``cron`` and
                ``every_s`` were given.
            Forbidden: The token is not a person's, or may not ask for this.
            NotFound: The memory does not exist.
        """
        return await self._run(
            self._calls.set_schedule,
            kind,
            space=space,
            cron=cron,
            every_s=every_s,
            params=params,
            origin=origin,
        )

    async def get_schedule(self, kind: JobKind, *, space: str = "main") -> Schedule:
        """The schedule of one kind of pass.

        Args:
            kind: As for ``ask``.
            space: The memory.

        Raises:
            NotFound: None is set.
        """
        return await self._run(self._calls.get_schedule, kind, space=space)

    async def schedules(self, *, space: str | None = None) -> List[Schedule]:
        """The schedules that are set.

        Args:
            space: Those of one memory; by default of all that this store opens.
        """
        return await self._run(self._calls.schedules, space=space)

    async def drop_schedule(self, kind: JobKind, *, space: str = "main") -> None:
        """Remove a schedule; what it has asked for stays.

        Args:
            kind: As for ``ask``.
            space: The memory.

        Raises:
            NotFound: None is set.
            Forbidden: The token is not a person's.
        """
        await self._run(self._calls.drop_schedule, kind, space=space)

    async def work(self, *, kinds: Iterable[str] = (), limit: int = 1_000) -> List[Job]:
        """Do what is due now, one job after the other, with the rights of this store.

        Args:
            kinds: Only these kinds.
            limit: At most this many, up to 1,000.

        Returns:
            The jobs as they ended, each with the code of its error if it failed.
        """
        return await self._run(self._calls.work, kinds=kinds, limit=limit)
