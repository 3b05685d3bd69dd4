"""``store.jobs`` of a service: background work in its memories.

Responsible for the calls of ``recollect.Store.jobs``, and for following one job. Leaves doing work
to workers beside the service. Invariant: without the name of a memory, all are asked that the token
opens, one after the other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from http.client import HTTPException
from typing import Any, Final

from recollect.client.asking import Handle, asked, value_of
from recollect.client.decoding import decoded
from recollect.client.transport import Transport, pause_s
from recollect.errors import InvalidInput, NotFound, Unavailable, Unsupported
from recollect.model import validate
from recollect.model.events import TRUST_RANK, Trust
from recollect.model.instants import Moment
from recollect.model.limits import INTEGER_MAX
from recollect.model.validate import Json
from recollect.model.values import Job, JobKind, JobState, Schedule

_ENDED: Final = ("done", "failed", "cancelled")
_FAULTS_MAX_COUNT: Final = 12  # about half a minute
_JOBS_MAX_COUNT: Final = 1_000
List = list  # ``list`` is also the name of a call


class Jobs:
    """Ask for work, see what became of it, and set schedules."""

    def __init__(self, transport: Transport, spaces: Callable[[], List[str]]) -> None:
        self._transport = transport
        self._spaces = spaces

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

        The arguments are those of ``recollect.Store.jobs.ask``.
        """
        fields = {"kind": kind, "params": params, "due": due}
        made: Job = self._write("ask_job", Job, space, fields, trust)
        return made

    def get(self, id: int, *, space: str | None = None) -> Job:
        """One job.

        The arguments are those of ``recollect.Store.jobs.get``.
        """
        found: Job = self._first("get_job", id, space)
        return found

    def list(
        self, *, space: str | None = None, state: JobState | None = None, limit: int = 100
    ) -> list[Job]:
        """Jobs, newest first: all that wait or run, and the last ten of each kind that ended.

        The arguments are those of ``recollect.Store.jobs.list``.
        """
        limit = validate.count(limit, "limit", at_most=_JOBS_MAX_COUNT)
        fields = {"state": state, "limit": limit}
        found = [
            job
            for name in self._named(space)
            for job in asked(self._handle(name), "list_jobs", List[Job], fields)
        ]
        return sorted(found, key=lambda job: -job.id)[:limit]

    def cancel(self, id: int, *, space: str | None = None) -> Job:
        """End a job that waits; one that runs is stopped at the next step of its pass.

        The arguments are those of ``recollect.Store.jobs.cancel``.
        """
        found: Job = self._first("cancel_job", id, space)
        return found

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

        The arguments are those of ``recollect.Store.jobs.set_schedule``.
        """
        fields = {"kind": kind, "cron": cron, "every_s": every_s, "params": params}
        made: Schedule = self._write("set_schedule", Schedule, space, fields, trust)
        return made

    def get_schedule(self, kind: JobKind, *, space: str = "main") -> Schedule:
        """The schedule of one kind of pass.

        The arguments are those of ``recollect.Store.jobs.get_schedule``.
        """
        found: Schedule = asked(self._handle(space), "get_schedule", Schedule, {"kind": kind})
        return found

    def schedules(self, *, space: str | None = None) -> List[Schedule]:
        """The schedules that are set.

        The arguments are those of ``recollect.Store.jobs.schedules``.
        """
        return [
            each
            for name in self._named(space)
            for each in asked(self._handle(name), "list_schedules", List[Schedule], {})
        ]

    def drop_schedule(self, kind: str, *, space: str = "main") -> None:
        """Remove a schedule; what it has asked for stays.

        The arguments are those of ``recollect.Store.jobs.drop_schedule``.
        """
        self._handle(space).ask("drop_schedule", {"kind": kind})

    def work(self, *, kinds: Iterable[str] = (), limit: int = 1_000) -> List[Job]:
        """Do what is due now; a service leaves that to its workers."""
        raise Unsupported(
            "a client does no jobs",
            hint="start `recollect serve --work`, or `recollect admin work` where the store is",
        )

    def follow(self, id: int, *, space: str = "main") -> Iterator[Job]:
        """A job each time that something about it changed, until it has ended.

        Args:
            id: Its number.
            space: The memory.

        Raises:
            NotFound: The job does not exist.
            Unavailable: The service did not answer for a while.
        """
        faults, last = 0, None
        while last is None or last.state not in _ENDED:
            try:
                for job in self._streamed(_number(id), space):
                    faults = 0
                    if job != last:
                        last = job
                        yield job
            except (OSError, HTTPException, Unavailable) as error:
                if faults >= _FAULTS_MAX_COUNT:
                    raise Unavailable(
                        "the service ended the stream again and again", hint="check that it runs"
                    ) from error
            faults += 1
            if last is None or last.state not in _ENDED:
                time.sleep(pause_s(faults))

    def _streamed(self, id: int, space: str) -> Iterator[Job]:
        handle = self._handle(space)
        path = f"{handle.root}/jobs/{id}"
        for sent in self._transport.stream(path, query={}, headers={}):
            if sent.name == "bye":
                return
            yield decoded(sent.data, Job)

    def _handle(self, space: str, trust: Trust = "person") -> Handle:
        handle = Handle(self._transport, validate.space_name(space))
        if trust not in TRUST_RANK:
            raise InvalidInput(f"trust must be person, agent or unverified, not {trust!r}")
        return handle if trust == "person" else handle.narrowed(trust=trust)

    def _named(self, space: str | None) -> List[str]:
        return self._spaces() if space is None else [space]

    def _write(
        self, name: str, kind: Any, space: str, fields: Mapping[str, Any], trust: Trust
    ) -> Any:
        return value_of(self._handle(space, trust).ask(name, fields), kind)

    def _first(self, name: str, id: int, space: str | None) -> Any:
        """What an operation says about a job, in whichever memory it is."""
        number = _number(id)
        for each in self._named(space):
            try:
                return value_of(self._handle(each).ask(name, {"job": str(number)}), Job)
            except NotFound:
                continue
        raise NotFound(f"job {id} does not exist", hint="`recollect admin job list` lists them")


def _number(id: int) -> int:
    if type(id) is not int or not 0 < id <= INTEGER_MAX:
        raise InvalidInput("the number of a job is 1 or more")
    return id
