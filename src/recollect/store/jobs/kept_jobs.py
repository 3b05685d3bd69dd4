"""Jobs, for every engine.

Responsible for asking, leasing, reporting and schedules, and for what a token may do to them.
Leaves the rules that callers see to ``store.jobs`` and storing to ``JobPlace``. Invariant: what
depends on a row is decided in the transaction that changes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

import msgspec

from recollect.errors import NotFound
from recollect.index.rows import Row
from recollect.model import instants
from recollect.model.events import Trust
from recollect.model.rules import lowest
from recollect.model.values import JOB_KINDS, Job, JobKind, JobState, Schedule, Token
from recollect.store.jobs.jobs import (
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

T = TypeVar("T")
List = list  # ``list`` is also the name of a call
Run = Callable[[str, Mapping[str, object]], List[Row]]


class JobPlace(Protocol):
    """Where the jobs of a store are: two tables, and statements of the same names."""

    @property
    def is_there(self) -> bool:
        """True if anything was ever asked for here."""
        ...

    def now(self) -> str:
        """The clock of all who lease here."""
        ...

    def change(self, how: Callable[[Run], T]) -> T:
        """Calls a function with what runs named statements in one transaction.

        It may be called again, if another worker came between; its answer is durable then.
        """
        ...


class KeptJobs:
    """The jobs of a store for its owner, or for the holder of a token."""

    def __init__(
        self,
        place: JobPlace,
        has: Callable[[str], bool],
        token: Callable[[], Token | None] = lambda: None,
    ) -> None:
        self._place = place
        self._has = has
        self._token = token

    def ask(
        self, space: str, kind: JobKind, params: str, *, due_at: str | None, trust: Trust
    ) -> Job:
        """Asks for a pass."""
        token = self._may(verb_for(kind), space)
        now = self._place.now()
        asked = {
            "space": space, "kind": kind, "params": params, "due": due_at or now, "now": now,
            "by": None if token is None else token.id, "origin": _trust(token, trust),
        }  # fmt: skip
        return self._place.change(lambda run: _asked(run, asked))

    def lease(self, kinds: Sequence[str], seconds: float) -> Job | None:
        """The job that is due for the longest time."""
        token = self._may("write")
        if not self._place.is_there:
            return None
        wanted = checked_kinds(kinds)
        if token is not None:
            wanted = [kind for kind in wanted if verb_for(kind) in token.verbs]
        now = self._place.now()
        asked = {
            "only": _only(token), "now": now, "until": _after(now, seconds),
            "kinds": one_form(wanted), "origin": _trust(token, "person"), "most": ATTEMPTS_MAX,
            "known": one_form(JOB_KINDS),
        }  # fmt: skip

        def taken(run: Run) -> List[Row]:
            run("give_up", asked)
            return run("retake", asked) or run("lease", asked)  # what was begun comes first

        found = self._place.change(taken)
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
        token, now = self._may("write"), self._place.now()
        asked = {
            "id": job.id, "attempts": job.attempts, "state": state, "due": _after(now, seconds),
            "now": now, "done": done, "total": total, "error": error, "only": _only(token),
            "origin": _trust(token, "person"),
        }  # fmt: skip

        def reported(run: Run) -> bool:
            found = run("report", asked)
            if found and state != "running":
                run("prune", {"space": job.space, "kind": job.kind, "kept": KEPT_MAX_COUNT})
            return bool(found)

        return self._place.change(reported)

    def list(
        self, space: str | None, *, id: int | None, state: JobState | None, limit: int
    ) -> list[Job]:
        """The jobs of one space, or of all; the newest first."""
        token = self._may("read", space)
        if not self._place.is_there:
            return []
        asked = {"only": space or _only(token), "id": id, "state": state, "limit": limit}
        return [job_of(row) for row in self._place.change(lambda run: run("list", asked))]

    def cancel(self, space: str | None, id: int) -> bool:
        """Ends a job that waits or runs."""
        token = self._may("write", space)
        asked = {"id": id, "only": space or _only(token), "origin": _trust(token, "person")}
        return self._place.change(lambda run: bool(run("cancel", asked)))

    def set_schedule(self, schedule: Schedule) -> None:
        """Sets the schedule of a kind in a space."""
        token = self._may(verb_for(schedule.kind), schedule.space)
        check_person(_trust(token, "person"))
        asked = {
            **msgspec.structs.asdict(schedule),
            "params": one_form(schedule.params),
            "set_by": None if token is None else token.id,
        }
        self._place.change(lambda run: run("set_schedule", asked))

    def schedules(self, space: str | None, *, due: bool = False) -> List[Schedule]:
        """The schedules of one space, or of all."""
        token = self._may("read", space)
        if not self._place.is_there:
            return []
        asked = {"only": space or _only(token), "due": self._place.now() if due else None}
        found = self._place.change(lambda run: run("schedules", asked))
        return [schedule_of(row) for row in found]

    def drop_schedule(self, space: str, kind: str) -> bool:
        """Removes a schedule."""
        check_person(_trust(self._may("write", space), "person"))
        asked = {"space": space, "kind": kind}
        return self._place.change(lambda run: bool(run("drop_schedule", asked)))

    def fire(self, schedule: Schedule, next_at: str) -> bool:
        """Asks for what is due and sets when it is next."""
        token = self._may(verb_for(schedule.kind), schedule.space)
        check_person(_trust(token, "person"))
        now = self._place.now()
        asked: dict[str, object] = {
            "space": schedule.space, "kind": schedule.kind, "was": schedule.next_at,
            "next": next_at, "now": now,
        }  # fmt: skip

        def fired(run: Run) -> bool:
            found = run("fire", asked)
            for by, params in found:
                _asked(run, {**asked, "params": params, "by": by, "origin": "person", "due": now})
                run("prune", {**asked, "kept": KEPT_MAX_COUNT})  # no worker reports unknown kinds
            return bool(found)

        return self._place.change(fired)

    def _may(self, verb: str, space: str | None = None) -> Token | None:
        """The token, if it allows this in a space that exists."""
        token = self._token()
        if space is not None and ((_only(token)) not in (None, space) or not self._has(space)):
            raise _no_space(space)
        check_may(token, verb)
        return token


def _asked(run: Run, asked: Mapping[str, object]) -> Job:
    ((count,),) = run("waiting", {"space": asked["space"]})
    found = run("ask", asked)
    if not found:  # it was dropped a moment ago
        raise _no_space(str(asked["space"]))
    job = job_of(found[0])
    if int(str(count)) >= WAITING_MAX_COUNT and job.asked_at == asked["now"]:
        raise too_many(job.space)
    return job


def _no_space(name: str) -> NotFound:
    return NotFound(f"there is no space {name!r} for this caller")


def _only(token: Token | None) -> str | None:
    return None if token is None else token.space


def _trust(token: Token | None, trust: Trust) -> Trust:
    return trust if token is None else lowest([token.trust, trust])


def _after(now: str, seconds: float) -> str:
    return instants.from_microseconds(instants.to_microseconds(now) + int(seconds * 1_000_000))
