"""Doing jobs: one pass after the other, each under a lease.

Responsible for what each kind of job calls, for prolonging a lease while it runs, and for what is
reported. Leaves keeping jobs to ``store.jobs`` and the work to ``Memory``. Invariants: a pass is a
call that anybody could make, with the trust of who asked; a worker that lost its lease stops at the
next step of the pass and reports nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, Self

import msgspec
from msgspec import structs

from recollect import compose, config
from recollect.errors import (
    ConfigError,
    Conflict,
    Forbidden,
    IntegrityError,
    InvalidInput,
    RecollectError,
    Unavailable,
)
from recollect.memory.memory import Memory
from recollect.model import instants
from recollect.model.cron import parse_cron
from recollect.model.validate import Json
from recollect.model.values import JOB_KINDS, Job, JobKind, Rule, Schedule
from recollect.propose.settings import KEY_VARIABLE
from recollect.store.figures import worked
from recollect.store.jobs.jobs import Jobs, checked_kinds
from recollect.store.port import Progress

if TYPE_CHECKING:
    from recollect.propose.port import Proposer

LEASE_S: Final = 60.0
POLL_S: Final = 1.0
_AGAIN_MAX_S: Final = 60.0


class _Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A pass that is told nothing."""


class _Consolidate(_Params, frozen=True):
    rule: str | None = None  # None: every rule that is due


class _Archive(_Params, frozen=True):
    below: float = 0.05


class _Verify(_Params, frozen=True):
    deep: bool = False


class Pass(NamedTuple):
    """What a kind of job takes and does."""

    takes: type[_Params]
    run: Callable[[Memory, Any, Progress], object]


def _consolidate(memory: Memory, told: _Consolidate, progress: Progress) -> None:
    rules = (
        memory.settings.rules.due() if told.rule is None else [memory.settings.rules.get(told.rule)]
    )
    for rule in rules:
        memory.settings.rules.run(rule.name, proposer=proposer_of(rule), progress=progress)


def _archive(memory: Memory, told: _Archive, progress: Progress) -> None:
    while (done := memory.admin.archive(below=told.below)).more and done.records:
        progress(0, 0)


def _verify(memory: Memory, told: _Verify, progress: Progress) -> None:
    found = memory.admin.verify(progress, deep=told.deep)
    if not found.ok:
        raise IntegrityError(found.problem or "the ledger is not consistent")


PASSES: Final[Mapping[str, Pass]] = {
    "embed": Pass(_Params, lambda memory, _, progress: memory.admin.embed(progress)),
    "consolidate": Pass(_Consolidate, _consolidate),
    "archive": Pass(_Archive, _archive),
    "expire": Pass(
        _Params, lambda memory, _, progress: memory.erase(expired=True, progress=progress)
    ),
    "verify": Pass(_Verify, _verify),
    "seal": Pass(_Params, lambda memory, _, __: memory.admin.seal()),
    "rebuild": Pass(_Params, lambda memory, _, progress: memory.admin.rebuild(progress)),
    "checkpoint": Pass(_Params, lambda memory, _, __: memory.proof.checkpoint()),
}


def checked_params(kind: JobKind, params: Mapping[str, Json] | None) -> dict[str, Json]:
    """The parameters of a kind of job, in one form: what has its default is left out."""
    (kind,) = checked_kinds([kind])  # type: ignore[assignment]
    try:
        told = msgspec.convert(dict(params or {}), PASSES[kind].takes)
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        raise InvalidInput(f"{kind}: {error}") from error
    plain: dict[str, Json] = msgspec.to_builtins(told)
    if kind == "archive" and not 0 <= told.below <= 1:  # type: ignore[attr-defined]
        raise InvalidInput("archive: below must be a number from 0 to 1")
    return plain


def proposer_of(rule: Rule) -> Proposer | None:
    """The proposer of the environment, if a rule asks one."""
    if not rule.propose:
        return None
    found = config.proposer()
    if found is None:
        raise ConfigError(
            f"the rule {rule.name!r} asks a proposer, and none is set",
            hint=f"set {config.PROPOSER_VARIABLE}=https://HOST/v1#MODEL, which gets the texts, "
            f"and its key in {KEY_VARIABLE}",
        )
    return compose.proposer(found)


def next_time(schedule: Schedule, now: str) -> str:
    """When a schedule is due next, after this instant."""
    if schedule.cron is not None:
        found = parse_cron(schedule.cron).next_after(instants.to_datetime(now).astimezone(UTC))
        if found is None:
            raise InvalidInput(f"cron {schedule.cron!r} names no time that is to come")
        return instants.instant(found)
    every_us = (schedule.every_s or 1) * 1_000_000
    last_us, now_us = map(instants.to_microseconds, (schedule.next_at, now))
    missed = max(0, now_us - last_us) // every_us
    return instants.from_microseconds(last_us + (missed + 1) * every_us)


class LeaseLost(Exception):
    """Another worker may have this job now."""


class Lease:
    """The right to do one job, prolonged by a thread while the pass runs."""

    def __init__(self, jobs: Jobs, job: Job, seconds: float) -> None:
        self._jobs = jobs
        self._job = job
        self._seconds = seconds
        self._at = (0, 0)
        self._ends = monotonic() + seconds
        self._over = threading.Event()
        self.is_lost = False
        self._thread = threading.Thread(target=self._beat, name="lease", daemon=True)

    def progress(self, done: int, total: int) -> None:
        """A step of the pass; raises ``LeaseLost`` if it must not go on."""
        self._at = done, total
        if self.is_lost or monotonic() > self._ends:
            self.is_lost = True
            raise LeaseLost

    def _beat(self) -> None:
        while not self._over.wait(self._seconds / 3):
            before = monotonic()
            try:
                is_held = self._jobs.beat(self._job, self._seconds, *self._at)
            except RecollectError:  # the server may be back before the lease ends
                continue
            if not is_held:
                self.is_lost = True
                return
            self._ends = before + self._seconds

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()


class Opens(Protocol):
    """The memories of a store."""

    def __call__(self, name: str, *, create: bool) -> Memory:
        """A memory by the name of its space."""
        ...


class Worker:
    """Does what is due in a store, one job at a time."""

    def __init__(
        self,
        space: Opens,
        jobs: Jobs,
        *,
        kinds: Sequence[str] = (),
        lease_s: float = LEASE_S,
        closes: bool = False,
        now: Callable[[], str],
        passes: Mapping[str, Pass] = PASSES,
    ) -> None:
        self._space = space
        self._jobs = jobs
        self._kinds = checked_kinds(kinds)
        self._lease_s = lease_s
        self._closes = closes  # each memory after its pass: no other code of this process uses it
        self._now = now
        self._passes = passes

    def run(self, stop: threading.Event, *, poll_s: float = POLL_S) -> None:
        """Works until it is told to stop; then the pass that runs is finished."""
        while not stop.is_set():
            if self.step() is None:
                stop.wait(poll_s)

    def step(self) -> Job | None:
        """Does the job that is due for the longest time; None if there is none."""
        self._fire()
        job = self._jobs.lease(self._kinds, self._lease_s)
        if job is None:
            return None
        start = monotonic()
        ended = self._do(job)
        outcome = ended.state if ended.state in ("done", "failed") else "lost"
        worked(ended.kind, outcome, monotonic() - start)
        return ended

    def _fire(self) -> None:
        """Asks for what schedules say, if this worker may."""
        for schedule in self._jobs.schedules(None, due=True):
            # One of another release is asked for as well: the job fails, which can be seen.
            if schedule.kind in self._kinds or schedule.kind not in JOB_KINDS:
                try:
                    self._jobs.fire(schedule, next_time(schedule, self._now()))
                except Forbidden:  # only a person's worker does
                    return

    def _do(self, job: Job) -> Job:
        try:
            with Lease(self._jobs, job, self._lease_s) as lease:
                self._pass(job, lease.progress)
        except LeaseLost:
            return structs.replace(job, error="lease_lost")
        except RecollectError as error:
            return self._failed(job, error)
        except BaseException:
            self._jobs.fail(job, "internal", _pause(job))
            raise
        is_told = self._jobs.done(job)
        return structs.replace(job, **({"state": "done"} if is_told else {"error": "lease_lost"}))

    def _pass(self, job: Job, progress: Progress) -> None:
        """One pass, with the trust of who asked for it."""
        what = self._passes[job.kind]
        told = msgspec.convert(job.params, what.takes)
        memory = self._space(job.space, create=False)
        try:
            what.run(memory.scoped(trust=job.trust), told, progress)
        finally:
            if self._closes:
                memory.close()

    def _failed(self, job: Job, error: RecollectError) -> Job:
        is_passing = isinstance(error, Unavailable | Conflict)
        self._jobs.fail(job, error.code, _pause(job) if is_passing else None)
        return structs.replace(job, state="failed", error=error.code)


def _pause(job: Job) -> float:
    """How long to wait before the next attempt."""
    return min(_AGAIN_MAX_S, 2.0**job.attempts)
