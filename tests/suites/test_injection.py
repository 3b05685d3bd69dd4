"""A fault at every system call that a writing process makes on its workspace.

Two runs are struck: a long one of 500 appends, and a short one that makes a workspace, writes,
backs up, erases, rebuilds, restores and opens again. A dry run lists their calls (write, sync,
rename, link, truncate, open, unlink, mkdir). Each is struck by a kill, by EIO and by ENOSPC, the
errors once and from then on. Needs `strace` and the right to trace a process.

`make ci` takes a sample of half a minute; `make long SUITE=inject` every
call on the ledger and its folder in the short run, and a sample of the rest, in minutes. With
`RECOLLECT_INJECT=all` it takes every call of the short run, every call on the ledger in the long
one, and one in twenty of those that SQLite makes there: about an hour on two cores.

What it can see: an error that is swallowed, an acknowledgement that comes too early, a state that
does not open, an error that is not one of ours. What it cannot see: what a disk forgets, because a
call that is struck simply does not happen.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import msgspec
import pytest

from tests.suites.conftest import Tell
from tests.suites.injected import PLANS
from tests.suites.injecting import (
    FAULTS,
    Chunk,
    Fault,
    Found,
    Point,
    Survey,
    chunks,
    mixed,
    strike,
    survey,
    why_not,
)

LANES = 2


class Share(msgspec.Struct, frozen=True):
    """One in so many points of a run: those of SQLite's own files, or the others."""

    plan: str
    of_sqlite: bool
    one_in: int


EVERYTHING = (
    Share("long", False, 1),
    Share("long", True, 20),
    Share("short", False, 1),
    Share("short", True, 1),
)
MINUTES = (
    Share("long", False, 60),
    Share("long", True, 900),
    Share("short", False, 1),
    Share("short", True, 12),
)
SECONDS = (Share("short", False, 160), Share("short", True, 400))
MISSED_ONE_IN = 10  # how many points may not be reached
FEW = 20  # a share of one in so many is struck in another way


@pytest.fixture(autouse=True)
def tracing() -> None:
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)


def strike_all(wanted: Iterable[Chunk]) -> Found:
    """Two tracers at a time."""
    total = Found()
    with ProcessPoolExecutor(LANES, mp_context=get_context("spawn")) as pool:
        for found in pool.map(strike, wanted):
            total.add(found)
    return total


def choose(seen: Survey, share: Share, rng: random.Random) -> list[Point]:
    """Evenly over the run, beginning anywhere: repeated runs come to every point."""
    points = [point for point in seen.points if point.of_sqlite == share.of_sqlite]
    return points[rng.randrange(share.one_in) :: share.one_in]


def run_suite(shares: Iterable[Share], tell: Tell) -> None:
    started = time.perf_counter()
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    count = 0
    total = Found()
    for share in shares:
        seen = survey(share.plan)
        points = choose(seen, share, rng)
        count += len(points)
        few = share.plan == "short" and share.one_in >= FEW
        found = strike_all((mixed if few else chunks)(seen, points, FAULTS))
        total.add(found)
        # The whole takes an hour: what was found so far is told even if a later share is stopped.
        tell(f"injection: {share}: {found.runs:,} runs, {len(found.problems)} problems")
    tell(
        f"injection: {count:,} points × {len(FAULTS)} faults = {total.runs:,} runs, "
        f"{total.acknowledged:,} acknowledged, {len(total.lost)} lost, {len(total.half)} half, "
        f"{len(total.refused)} refused, {len(total.unclear)} unclear, {len(total.missed)} missed "
        f"their call, {total.healed:,} not even noticed, {time.perf_counter() - started:.0f} s"
    )
    assert total.problems == [], f"seed {seed}"
    # A thread folds when the process is quiet, so the number of a call differs a little by run.
    assert len(total.missed) * MISSED_ONE_IN <= total.runs, (total.missed, f"seed {seed}")
    assert total.runs == count * len(FAULTS)


@pytest.mark.nightly
def test_a_fault_injected_at_every_call_loses_nothing(tell: Tell) -> None:
    run_suite(EVERYTHING if os.environ.get("RECOLLECT_INJECT") == "all" else MINUTES, tell)


def test_a_fault_injected_at_some_calls_loses_nothing(tell: Tell) -> None:
    run_suite(SECONDS, tell)


def control(fault: Fault, kind: str) -> Found:
    """A dishonest writer, struck while it writes a batch and the record after it."""
    seen = survey("short")
    batch = PLANS["short"].index("batch")
    points = [p for p in seen.points if p.call == "pwrite64" and batch <= p.act <= batch + 1]
    wanted = mixed(seen, points, [fault])
    return strike_all(msgspec.structs.replace(chunk, control=kind) for chunk in wanted)


def test_control_an_injected_error_that_is_swallowed_is_seen(tell: Tell) -> None:
    found = control(Fault("EIO"), "careless")
    seen = found.lost + found.refused
    assert seen
    tell(f"injection: control: errors swallowed, seen {len(seen)} times in {found.runs} runs")


def test_control_an_injected_kill_amid_a_batch_one_by_one_is_seen_half(tell: Tell) -> None:
    found = control(Fault("KILL"), "apart")
    assert found.half
    tell(f"injection: control: batch one by one, {len(found.half)} half in {found.runs} runs")
