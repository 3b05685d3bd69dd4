"""The parts of the crash suite, each a function of seeds that any process can run.

Responsible for going over every prefix of every log, drawing states, having them judged, and
counting. Leaves how many to ``test_crashes``. Invariant: a failure names seed, workload, step and
choice, from which ``replay`` builds it again.
"""

from __future__ import annotations

import copy
import multiprocessing
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TypeVar

import msgspec

from recollect.ledger.scan import Damage, Recovered, recover
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.model.events import GENESIS, Head
from recollect.store.files.space import FileSpace
from tests.suites.crash_choices import count_states, count_tears, draw, kinds_of, pieces_of, tears
from tests.suites.crash_disk import Choice, Disk, Tree, lay_out
from tests.suites.crash_judge import (
    KINDS,
    LEDGER,
    Expected,
    Fault,
    Judge,
    Witness,
    cached_ledger,
    lines_of,
)
from tests.suites.crash_log import Acked, Imaged, Journal, Kept, Op, Recorder, Wrote
from tests.suites.crash_stories import HOME, RESTORED, tell_story

SHOWN_MAX_COUNT = 5
MEMORY_DISK = Path("/dev/shm")
T = TypeVar("T")


class Report(msgspec.Struct):
    """What was counted; additions of reports are reports."""

    states: int = 0
    enumerated: int = 0
    steps: int = 0
    appends: int = 0
    by_story: dict[str, int] = {}
    kinds: dict[str, int] = {}  # of tearing, naming and ageing
    faults: dict[str, int] = {}
    shown: list[str] = []

    def add(self, other: Report) -> None:
        self.states += other.states
        self.enumerated += other.enumerated
        self.steps += other.steps
        self.appends += other.appends
        self.by_story = dict(Counter(self.by_story) + Counter(other.by_story))
        self.kinds = dict(Counter(self.kinds) + Counter(other.kinds))
        self.faults = dict(Counter(self.faults) + Counter(other.faults))
        self.shown = (self.shown + other.shown)[:SHOWN_MAX_COUNT]

    def blame(self, where: str, faults: list[Fault]) -> None:
        for fault in faults:
            self.faults[fault.kind] = self.faults.get(fault.kind, 0) + 1
            if len(self.shown) < SHOWN_MAX_COUNT:
                self.shown.append(f"{fault.kind}: {fault.what}\n    {where}")

    def told(self) -> str:
        return ", ".join(f"{self.faults.get(kind, 0)} {kind}" for kind in KINDS)


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder in memory if there is one: what is tested is the log, not this disk."""
    below = MEMORY_DISK if MEMORY_DISK.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="crashes-", dir=below) as folder:
        yield Path(folder)


# The pure level.

Recover = Callable[[bytes, Head], Recovered]


def recover_states(
    name: str, seed: int, budget: int, rule: Recover = recover, *, stop: bool = False
) -> Report:
    """Every append of a story: what a crash may leave of it, through the pure ``recover``."""
    report = Report()
    with scratch() as folder:
        ops = tell_story(name, seed, folder / "story").journal.ops
    disk = Disk()
    for step, op in enumerate(ops):
        disk.do(op)
        if isinstance(op, Wrote) and op.ino == disk.cached(HOME, LEDGER):
            durable = disk.files[op.ino].durable
            if op.offset == len(durable):
                where = f"story {name!r}, seed {seed}, step {step}"
                _tear_append(report, where, durable, op.data, budget, rule)
        if stop and report.faults:
            break
    return report


def _tear_append(
    report: Report, where: str, durable: bytes, data: bytes, budget: int, rule: Recover
) -> None:
    """All remains of one append, after the acknowledged append before it."""
    head, start = _last_append(durable)
    base = durable[start:]
    acked, whole = len(base), base + data
    pieces = pieces_of(data, len(durable))
    report.appends += 1
    report.enumerated += count_tears(pieces)
    distinct: set[int] = set()
    for number, state in enumerate(tears(base, pieces, budget, random.Random(where))):
        print_ = hash(state)
        if print_ in distinct:
            continue
        distinct.add(print_)
        try:
            found = rule(state, head)
        except Damage as damage:
            report.blame(f"{where}, state {number}", [Fault("refused", str(damage))])
            continue
        end = found.end
        if not (
            (end == acked or (end == len(whole) and state == whole))
            and end + len(found.torn) == len(state)
        ):
            fault = _pure_fault(state, end, acked, whole)
            report.blame(f"{where}, state {number}", [fault])
        if number % 997 == 0:
            _same_from_genesis(durable[:start] + state, start, found, rule)
    report.states += len(distinct)


def _last_append(durable: bytes) -> tuple[Head, int]:
    """Where the last whole append begins, and the head before it."""
    appends = recover(durable).appends
    if len(appends) < 2:
        return GENESIS, 0
    return appends[-2].head, appends[-2].end


def _pure_fault(state: bytes, end: int, acked: int, whole: bytes) -> Fault:
    if end < acked:
        return Fault("lost", f"recovered {end} of {acked} acknowledged bytes")
    if state[:end] != whole[:end]:
        return Fault("invented", f"bytes nobody wrote, up to {end}")
    return Fault("half", f"{end - acked} of {len(whole) - acked} bytes of an append")


def _same_from_genesis(whole: bytes, start: int, found: Recovered, rule: Recover) -> None:
    """A scan that begins shortly before the end comes to the same as one of everything."""
    again = rule(whole, GENESIS)
    assert (again.end - start, again.head, again.torn) == (found.end, found.head, found.torn)


# Full opens.


def open_states(
    name: str, seed: int, per_step: int, one_in: int = 1, *, stop: bool = False
) -> Report:
    """Every step of a story: some of the states a crash may leave, each opened for real.

    Or one in so many steps, beginning with any of them. With ``stop`` the first fault is enough.
    """
    report = Report()
    judge = Judge()
    with scratch() as folder:
        ops = tell_story(name, seed, folder / "story").journal.ops
        for step, disk, expected in some(moments(ops), one_in):
            report.enumerated += count_states(disk)
            report.steps += 1
            rng = random.Random(f"{name} {seed} {step}")
            kinds: Counter[str] = Counter()
            for choice, tree in draw(disk, rng, _enough(disk, per_step)):
                faults = look(judge, tree, expected, folder / "state")
                report.states += 1
                kinds.update(kinds_of(disk, choice))
                report.blame(_where(name, seed, step, choice), faults)
            report.add(Report(kinds=dict(kinds)))
            if stop and report.faults:
                break
    kind = name.split(":", maxsplit=1)[0]
    report.by_story = {kind: report.states}
    return report


def _enough(disk: Disk, per_step: int) -> int:
    """More states where bytes are under way: there are more of them."""
    torn = any(file.durable != file.cache for file in disk.files.values())
    return per_step * 4 if torn else per_step


def _where(name: str, seed: int, step: int, choice: Choice) -> str:
    return f"story {name!r}, seed {seed}, step {step}, {choice.told()}"


def moments(ops: list[Op], start: int = 0) -> Iterator[tuple[int, Disk, dict[str, Expected]]]:
    """The disk, and what is expected of it, after each call that matters."""
    disk = Disk()
    witness = Witness((HOME, RESTORED))
    for step, op in enumerate(ops):
        disk.do(op)
        if step < start or isinstance(op, Imaged | Kept):
            continue
        witness.look(disk)
        yield step, disk, witness.expected()


def some(every: Iterator[T], one_in: int) -> Iterator[T]:
    """One in so many, evenly, beginning anywhere: repeated runs come to all of them."""
    return islice(every, random.randrange(one_in), None, one_in)


def look(judge: Judge, tree: Tree, expected: dict[str, Expected], root: Path) -> list[Fault]:
    """Lays a state out, has it judged, takes it away."""
    lay_out(tree, root)
    try:
        return judge.judge(root, expected)
    finally:
        shutil.rmtree(root)


# Recovery, crashed as well.


def recover_again(name: str, seed: int, per_step: int, one_in: int = 1) -> Report:
    """States of a story, or of one in so many of its steps.

    The recovery of each is recorded, and crashed at every step.
    """
    report = Report()
    judge = Judge()
    with scratch() as folder:
        ops = tell_story(name, seed, folder / "story").journal.ops
        for step, disk, expected in some(moments(ops), one_in):
            rng = random.Random(f"again {name} {seed} {step}")
            for choice, tree in draw(disk, rng, per_step):
                where = _where(name, seed, step, choice)
                lay_out(tree, folder / "first")
                journal = recovery_of(folder / "first", expected)
                shutil.rmtree(folder / "first")
                report.appends += 1
                own = copy.deepcopy(expected)  # a reader of this one saw what others need not hold
                _crash_again(report, judge, journal, own, where, folder / "state")
    return report


def recovery_of(root: Path, expected: dict[str, Expected]) -> Journal:
    """Opens the spaces of a state and reads, under record."""
    journal = Journal(root)
    for name, space in expected.items():
        if not (root / name).exists() and not space.told:
            continue
        recorder = Recorder(journal, 9_999)
        opened = FileSpace(root / name, "main", create=True, seam=recorder)
        try:
            Memory(Handle(opened, recorder)).list()
            journal.ops.append(Acked(name, opened.head().seq))
        finally:
            opened.close()
    return journal


def _crash_again(
    report: Report,
    judge: Judge,
    journal: Journal,
    expected: dict[str, Expected],
    where: str,
    root: Path,
) -> None:
    disk = Disk()
    for step, op in enumerate(journal.ops):
        disk.do(op)
        if step < journal.start or isinstance(op, Imaged | Kept):
            continue
        if isinstance(op, Acked):  # what a reader saw is there for good, unless it is a note
            space = expected[op.space]
            space.told = max(space.told, min(op.seq, _written_of(disk, op.space, space)))
        report.steps += 1
        rng = random.Random(f"{where} {step}")
        for choice, tree in draw(disk, rng, 1):
            faults = look(judge, tree, expected, root)
            report.states += 1
            report.blame(f"{where}; its recovery, step {step}, {choice.told()}", faults)


def _written_of(disk: Disk, name: str, space: Expected) -> int:
    """How many of the events that were written a recovery found."""
    found = lines_of(cached_ledger(disk, name))
    return sum(line.hash == event.hash for line, event in zip(found, space.events, strict=False))


# Several processes.

Task = tuple[str, str, int, int, int]  # what, story, seed, how many, of one in so many steps


def run(task: Task) -> Report:
    """One task, in whichever process."""
    what, name, seed, count, one_in = task
    match what:
        case "recover":
            return recover_states(name, seed, count)
        case "open":
            return open_states(name, seed, count, one_in)
        case _:
            return recover_again(name, seed, count, one_in)


def run_all(tasks: list[Task], workers: int) -> Report:
    """All tasks; with several workers the longest should stand first."""
    total = Report()
    if workers == 1:
        for task in tasks:
            total.add(run(task))
        return total
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        for report in pool.map(run, tasks):
            total.add(report)
    return total


def replay(name: str, seed: int, step: int, choice: Choice, root: Path) -> dict[str, Expected]:
    """Builds a state that a failure named, and leaves it there to be looked at."""
    with scratch() as folder:
        ops = tell_story(name, seed, folder / "story").journal.ops
    for at, disk, expected in moments(ops):
        if at == step:
            lay_out(disk.tree(choice), root)
            return expected
    raise AssertionError(f"the story has no step {step}")
