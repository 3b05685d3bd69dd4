"""The verbs about background work: asking for a pass, looking at jobs, schedules, and doing them.

Responsible for the options and the answers. Leaves jobs to ``store.jobs``. Invariant: nothing runs
but in the foreground, and Ctrl-C ends it after the pass that runs.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Annotated, Final, Literal

from recollect.config import MEMORY, load
from recollect.errors import ConfigError, InvalidInput, NotFound
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli import plain
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Argument, Option
from recollect.interfaces.cli.settings.rules import run_due
from recollect.memory import Store
from recollect.memory.jobs.jobs import worker_of
from recollect.model.validate import parse_json_object
from recollect.model.values import Job, JobKind, Schedule
from recollect.store.jobs.jobs import checked_kinds

_POLL_S: Final = 5.0

Kind = Annotated[
    JobKind,
    Argument(
        metavar="KIND",
        help="embed, consolidate, archive, expire, verify, seal, rebuild, checkpoint.",
    ),
]
AnyKind = Annotated[
    str, Argument(metavar="KIND", help="As `recollect admin schedule list` shows it.")
]
Params = Annotated[
    str | None, Option(metavar="JSON", help='What it is told, such as \'{"rule": "seats"}\'.')
]
Id = Annotated[int, Argument(metavar="ID", help="The number of a job.")]
State = Annotated[
    Literal["waiting", "running", "done", "failed", "cancelled"] | None,
    Option(help="Only jobs in this state."),
]
Cron = Annotated[
    str | None, Option(metavar="FIELDS", help="At these times in UTC, such as '0 3 * * *'.")
]
Every = Annotated[str | None, Option(metavar="SPAN", help="Or once in this time: 15m, 1h, 2d.")]
Kinds = Annotated[
    list[str] | None, Option(metavar="WORDS", help="Only these kinds.  [default: all of them]")
]
Once = Annotated[bool, Option("--once", help="Do what is due now, then end.")]


@contextmanager
def _store(call: Call) -> Iterator[Store]:
    settings = load(call.store)
    if settings.where == MEMORY:
        raise ConfigError(
            "a store in memory ends with this command, and its jobs with it",
            hint="name a folder, or a database with --store postgresql://...",
        )
    with Store.open(settings=settings) as store:
        yield store


@verb
def ask(call: Call, kind: Kind, params: Params = None, due: o.Expires = None) -> None:
    """Ask for a pass over this memory; `recollect admin work` does it."""
    told = {} if params is None else parse_json_object(params, "--params")
    with _store(call) as store:
        job = store.jobs.ask(kind, space=call.space, params=told, due=o.expiry(due))
    call.answer(job, lambda job: plain.say(f"Asked for {_line(job)}"))


@verb
def list_all(call: Call, state: State = None, limit: o.Limit = 100) -> None:
    """List the jobs of this memory, newest first."""
    with _store(call) as store:
        found = store.jobs.list(space=call.space, state=state, limit=limit)
    call.answer(found, _listed)


@verb
def show(call: Call, id: Id) -> None:
    """Show what became of a job."""
    with _store(call) as store:
        job = store.jobs.get(id, space=call.space)
    call.answer(job, _shown)


@verb
def cancel(call: Call, id: Id) -> None:
    """End a job that waits or runs."""
    with _store(call) as store:
        job = store.jobs.cancel(id, space=call.space)
    call.answer(job, lambda job: plain.say(f"Cancelled {_line(job)}"))


@verb
def set_schedule(
    call: Call, kind: Kind, cron: Cron = None, every: Every = None, params: Params = None
) -> None:
    """Ask for a pass again and again; a worker must run for it to be done."""
    told = {} if params is None else parse_json_object(params, "--params")
    span = None if every is None else o.span_of(every)
    if every is not None and span is None:
        raise InvalidInput(f"--every: {every!r} is not a span", hint="write 15m, 1h or 2d")
    seconds = None if span is None else int(span.total_seconds())
    with _store(call) as store:
        made = store.jobs.set_schedule(
            kind, space=call.space, cron=cron, every_s=seconds, params=told
        )
    call.answer(made, lambda made: plain.say(f"Set {_times(made)}"))
    if not call.json:
        plain.next_step("recollect admin work")


@verb
def list_schedules(call: Call) -> None:
    """List the schedules of this memory."""
    with _store(call) as store:
        found = store.jobs.schedules(space=call.space)
    call.answer(found, _planned)


@verb
def drop_schedule(call: Call, kind: AnyKind) -> None:
    """Remove a schedule; what it has asked for stays."""
    with _store(call) as store:
        store.jobs.drop_schedule(kind, space=call.space)
    call.answer({"dropped": kind}, lambda _: plain.say(f"Removed the schedule for {kind}"))


@verb
def work(call: Call, kinds: Kinds = None, once: Once = False) -> None:
    """Run the rules of this memory that are due and the jobs of its store, until Ctrl-C."""
    wanted = checked_kinds([] if kinds is None else o.words(kinds))
    if once:
        with suppress(KeyboardInterrupt):
            _round(call, wanted, once=True)
        return
    call.note("Running rules and jobs as they become due. Ctrl-C ends it.")
    with suppress(KeyboardInterrupt), _ended_by_a_signal() as over:
        while not over.is_set():
            _round(call, wanted, once=False)
            over.wait(_POLL_S)


@contextmanager
def _ended_by_a_signal() -> Iterator[threading.Event]:
    """Is set by Ctrl-C, which also interrupts: Python ignores an error in a callback of its own."""
    over = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        over.set()
        signal.default_int_handler(number, frame)

    before = signal.signal(signal.SIGINT, end)
    try:
        yield over
    finally:
        signal.signal(signal.SIGINT, before)


def _round(call: Call, kinds: Sequence[str], *, once: bool) -> None:
    """What is due now: rules of one memory, then jobs of all memories of the store."""
    count = 0
    if "consolidate" in kinds:
        try:
            with call.memory() as memory:
                count += run_due(call, memory)
        except NotFound:
            if call.named is not None or not _has_any(call):
                raise
    with Store.open(settings=load(call.store)) as store:
        worker = worker_of(store.jobs, kinds, closes=True)
        while (job := worker.step()) is not None:
            call.answer(job, lambda job: plain.say(_line(job)))
            count += 1
    if once and not count:
        call.note("No rule is due, and no job waits.")


def _has_any(call: Call) -> bool:
    with Store.open(settings=load(call.store)) as store:
        return bool(store.spaces())


def _line(job: Job) -> str:
    how = plain.details(
        job.state,
        f"{job.done:,} of {job.total:,}" if job.total else None,
        job.error,
        f"space {job.space}",
    )
    return f"{plain.bold(str(job.id))} {job.kind}  {plain.safe(how)}"


def _shown(job: Job) -> None:
    plain.say(_line(job))
    who = "the owner" if job.asked_by is None else f"token {job.asked_by}"
    plain.say(f"  asked for by {who} with trust {job.trust} at {plain.moment(job.asked_at)}")
    if job.attempts:
        plain.say(f"  attempt {job.attempts}")
    if job.state == "waiting":
        plain.next_step("recollect admin work --once")


def _listed(found: Sequence[Job]) -> None:
    if not found:
        plain.say("There are no jobs.")
    plain.say(*map(_line, found))


def _times(plan: Schedule) -> str:
    when = f"cron {plan.cron}" if plan.cron else f"every {plan.every_s:,} s"
    told = plain.details(when, f"next {plain.moment(plan.next_at)}")
    return f"{plain.bold(plan.kind)}  {plain.safe(told)}"


def _planned(found: Sequence[Schedule]) -> None:
    if not found:
        plain.say("No schedule is set.")
    plain.say(*map(_times, found))
