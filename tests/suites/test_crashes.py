"""Nothing acknowledged is lost: every crash an operation log of the real code allows.

``kill -9`` cannot see a missing fsync, because the system outlives the process. So the calls that
the real code makes are recorded, a model of a disk says what may be there if the power fails after
any of them, and those states are opened with the real code. A failure names story, seed, step and
choice; ``crash_runs.replay`` builds that state again.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.suites.conftest import Tell
from tests.suites.crash_controls import CONTROLS, caught, caught_without_tx
from tests.suites.crash_disk import FILLS, PAGE, Choice, Disk, Tear
from tests.suites.crash_judge import Judge
from tests.suites.crash_log import Gone, Made, Op, Renamed, Synced, Wrote
from tests.suites.crash_runs import Report, Task, look, moments, replay, run_all, scratch
from tests.suites.crash_stories import LIVES, WORKLOADS, calls_of, tell_story

SEED = 20_261_115
USUAL = ("appends", "waits", "killed", "receives")
SOME = 6  # of so many steps one is looked at; which of them differs from run to run
KINDS_OF_STATES = {
    *("index missing", "index newest", "index older", "names changed", "names as before"),
    *(
        f"{fill}, {part}, {pages}"
        for fill in FILLS
        for part in ("whole", "torn")
        for pages in ("some pages", "all other pages")
    ),
}


def through_recover(tasks: list[Task], workers: int, tell: Tell) -> Report:
    started = time.perf_counter()
    total = run_all(tasks, workers)
    tell(
        f"crashes: {total.states:,} different states of {total.appends} appends through recover: "
        f"{total.told()}, {time.perf_counter() - started:.0f} s"
    )
    assert not total.faults, "\n".join(total.shown)
    return total


def through_open(tasks: list[Task], workers: int, tell: Tell) -> Report:
    started = time.perf_counter()
    total = run_all(tasks, workers)
    parts = ", ".join(f"{name} {count:,}" for name, count in sorted(total.by_story.items()))
    tell(
        f"crashes: {total.states:,} states at {total.steps:,} steps through a full open ({parts}), "
        f"out of {total.enumerated:.1e}: {total.told()}, {time.perf_counter() - started:.0f} s"
    )
    assert not total.faults, "\n".join(total.shown)
    return total


def through_recovery(tasks: list[Task], workers: int, tell: Tell) -> Report:
    started = time.perf_counter()
    total = run_all(tasks, workers)
    tell(
        f"crashes: recovery of {total.appends:,} states crashed at each of {total.steps:,} steps, "
        f"{total.states:,} states: {total.told()}, {time.perf_counter() - started:.0f} s"
    )
    assert not total.faults, "\n".join(total.shown)
    return total


def lives(every: int) -> list[str]:
    """Each first life, killed at every so many of its calls."""
    names = []
    with scratch() as folder:
        for life in LIVES:
            count = calls_of(life, folder / life)
            names += [f"lives:{life}:{call}" for call in range(1, count + 2, every)]
    return names


# The default: a little of everything, and every control.


def test_a_torn_append_is_whole_or_gone(tell: Tell) -> None:
    through_recover([("recover", "appends", SEED, 3_000, 0)], 1, tell)


def test_no_crash_loses_what_was_acknowledged(tell: Tell) -> None:
    through_open([("open", name, SEED, 1, SOME) for name in USUAL], 1, tell)


def test_no_crash_of_a_recovery_does_either(tell: Tell) -> None:
    through_recovery([("again", "appends", SEED, 1, SOME)], 1, tell)


@pytest.mark.parametrize("name", CONTROLS)
def test_control_a_guard_that_is_taken_out_is_missed(name: str, tell: Tell) -> None:
    found = caught(name, SEED, 1)
    tell(f"crashes: control: without {name}: {found.told()}")
    assert found.faults


def test_control_half_appends_and_good_lines_after_bad_ones_are_missed(tell: Tell) -> None:
    found = caught_without_tx(SEED, 100)
    tell(f"crashes: control: without the rule of the torn tail: {found.told()}")
    assert found.faults["half"] > 0
    assert found.faults["refused"] > 0


# The rest, which takes longer.


def test_many_crashes_lose_nothing(tell: Tell) -> None:
    through_recover([("recover", "groups", SEED, 1_500, 0)], 1, tell)
    others = sorted(set(WORKLOADS) - set(USUAL))  # the longer tests have every step of all
    through_open([("open", name, SEED, 1, 4 * SOME) for name in others], 1, tell)
    through_recovery([("again", "killed", SEED, 1, 4 * SOME)], 1, tell)


@pytest.mark.nightly
def test_a_million_torn_appends_are_whole_or_gone(tell: Tell) -> None:
    total = through_recover([("recover", "pages", SEED + n, 40_000, 0) for n in range(2)], 2, tell)
    assert total.states >= 1_000_000


@pytest.mark.nightly
def test_ten_thousand_crashes_lose_nothing(tell: Tell) -> None:
    tasks: list[Task] = [("open", name, SEED, 8, 1) for name in WORKLOADS]
    tasks += [("open", name, SEED, 1, 1) for name in lives(every=4)]
    total = through_open(sorted(tasks, key=lambda task: task[1] != "erase"), 2, tell)
    assert total.states >= 10_000
    assert {*WORKLOADS, "lives"} == set(total.by_story)
    assert set(total.kinds) == KINDS_OF_STATES


@pytest.mark.nightly
def test_a_thousand_recoveries_crashed_at_every_step_lose_nothing(tell: Tell) -> None:
    quick = ("appends", "batches", "groups", "torn", "killed", "failed", "backups", "rebuilds")
    tasks: list[Task] = [
        ("again", name, SEED, 2 if name in quick else 1, 1) for name in reversed(WORKLOADS)
    ]
    total = through_recovery(tasks, 2, tell)
    assert total.appends >= 1_000


# The model itself: what it lets happen, and what not.


def born(name: str = "a", ino: int = 1) -> list[Op]:
    return [Made(0, name, ino), Synced(0)]


def states(ops: list[Op], choices: list[Choice]) -> set[bytes | str | None]:
    return {Disk(ops).tree(choice).get("a", "absent") for choice in choices}


def tear(at: int | None, *pages: int) -> list[Choice]:
    return [Choice(tears={1: Tear(pages=frozenset(pages), at=at, fill=fill)}) for fill in FILLS]


def test_unsynced_bytes_may_be_there_or_not() -> None:
    ops = [*born(), Wrote(1, 0, b"old"), Synced(1), Wrote(1, 3, b"new")]
    assert states(ops, [Choice()]) == {b"old"}
    assert states(ops, tear(None, 0)) == {b"oldnew"}
    cut, zeros, junk = (next(iter(states(ops, [choice]))) for choice in tear(4))
    assert (cut, zeros) == (b"oldn", b"oldn\0\0")
    assert isinstance(junk, bytes)
    assert junk[:4] == b"oldn"
    assert junk[4:] != b"\0\0"


def test_pages_reach_the_disk_each_for_itself() -> None:
    ops = [*born(), Wrote(1, 0, b"x" * 3 * PAGE)]
    (state,) = states(ops, [Choice(tears={1: Tear(pages=frozenset({0, 2}))})])
    assert state == b"x" * PAGE + bytes(PAGE) + b"x" * PAGE


def test_synced_bytes_are_there() -> None:
    ops = [*born(), Wrote(1, 0, b"new"), Synced(1)]
    assert states(ops, [Choice(), *tear(1), *tear(None, 0)]) == {b"new"}


def test_a_failed_sync_is_not_made_good_by_the_next() -> None:
    failed = [*born(), Wrote(1, 0, b"new"), Synced(1, ok=False), Synced(1)]
    assert states(failed, [Choice()]) == {b"\0\0\0"}
    assert states(failed, tear(None, 0)) == {b"new"}
    assert Disk(failed).files[1].cache == b"new"
    again = [*failed, Wrote(1, 0, b"new"), Synced(1)]
    assert states(again, [Choice()]) == {b"new"}


def test_names_are_there_or_not_until_their_folder_is_synced() -> None:
    made = Made(0, "a", 1)
    assert states([made], [Choice(), Choice(masks={0: 1})]) == {"absent", b""}
    ops: list[Op] = [*born(), *born("b", 2), Wrote(2, 0, b"b"), Synced(2), Renamed(0, "b", "a", 2)]
    assert states(ops, [Choice(), Choice(masks={0: 1})]) == {b"", b"b"}
    assert states([*ops, Synced(0)], [Choice()]) == {b"b"}
    assert states([*born(), Gone(0, "a")], [Choice(), Choice(masks={0: 1})]) == {b"", "absent"}


def test_a_story_is_told_the_same_way_twice(tmp_path: Path) -> None:
    def shape(where: str) -> list[Op]:
        ops = tell_story("torn", 5, tmp_path / where).journal.ops
        # What a process notes in the lock depends on inodes and on the clock of the disk.
        locks = {op.ino for op in ops if isinstance(op, Made) and op.name == "ledger.lock"}
        writes = [op for op in ops if isinstance(op, Wrote | Renamed | Made)]
        return [op for op in writes if not (isinstance(op, Wrote) and op.ino in locks)]

    assert shape("one") == shape("two")


def test_a_failure_can_be_built_again(tmp_path: Path) -> None:
    ops = tell_story("appends", 5, tmp_path / "story").journal.ops
    *_, (step, disk, expected) = moments(ops)
    again = replay("appends", 5, step, Choice(), tmp_path / "again")
    assert again == expected
    assert Judge().judge(tmp_path / "again", again) == []
    assert look(Judge(), disk.tree(Choice()), expected, tmp_path / "twice") == []
