"""A caller whose calls cost much, or who uses most of the processor, works one call at a time."""

from __future__ import annotations

import asyncio
import time

import pytest

from recollect.interfaces.http.limits.shares import Shares, Used


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def busy(clock: Clock) -> Used:
    """Ann has used five seconds in as many, in cheap calls; Ben has called as well."""
    used = Used(clock)
    for _ in range(5):
        for _ in range(1_000):
            used.cost("ann", 0.001, is_read=True)
        used.is_much("ann")
        clock.seconds += 1
    used.came("ben")
    used.cost("ben", 0.001, is_read=True)
    return used


def test_who_uses_more_than_its_part_is_held_back_only_while_others_call() -> None:
    clock = Clock()
    used = busy(clock)
    assert used.is_much("ann")
    assert not used.is_much("ben")
    clock.seconds += 4
    assert not used.is_much("ann")  # her part of four seconds is free again


def test_a_caller_that_is_alone_has_the_whole_processor() -> None:
    clock = Clock()
    used = busy(clock)
    clock.seconds += 6
    for _ in range(5_000):
        used.cost("ann", 0.001, is_read=True)
    assert not used.is_much("ann")  # Ben has not called for six seconds
    used.came("ben")
    assert used.is_much("ann")


def test_who_makes_costly_reads_is_held_back_for_a_while() -> None:
    clock = Clock()
    used = Used(clock)
    used.cost("ann", 0.3, is_read=True)
    for _ in range(10):
        used.cost("ann", 0.001, is_read=True)  # cheap calls do not hide it
    used.cost("ben", 0.3, is_read=False)
    used.cost("ben", 0.001, is_read=True)
    assert not used.is_costly("ann")  # nobody else calls
    used.came("ann")
    used.came("ben")
    assert used.is_costly("ann")
    assert not used.is_costly("ben")  # cheap writes after a costly one still share a commit
    clock.seconds += 30
    used.came("ben")
    assert used.is_costly("ann")
    clock.seconds += 60
    used.came("ben")
    assert not used.is_costly("ann")


def test_a_new_caller_begins_with_one_read_while_others_call() -> None:
    used = Used(Clock())
    used.came("ann")
    assert not used.is_costly("ann")
    used.came("ben")
    assert used.is_costly("ann")
    used.cost("ann", 0.001, is_read=True)
    assert not used.is_costly("ann")


def test_callers_that_come_once_are_forgotten() -> None:
    used = Used(Clock())
    for number in range(10_010):
        used.cost(number, 0.001, is_read=True)
    assert not used.is_costly(10_009)
    used.came("ben")
    assert used.is_costly(0)  # as a new one


def working(shares: Shares, owner: str) -> int:
    """How many of five calls of a caller work while none ends."""

    async def run() -> int:
        count, release = 0, asyncio.Event()

        async def call() -> None:
            nonlocal count
            async with shares.one(owner):
                count += 1
                await release.wait()

        calls = [asyncio.create_task(call()) for _ in range(5)]
        for _ in range(6):
            await asyncio.sleep(0)
        found = count
        release.set()
        await asyncio.gather(*calls)
        assert count == 5  # the others follow, one by one
        return found

    return asyncio.run(run())


def cost_of(shares: Shares, owner: str, seconds: float) -> None:
    """One call that computes for so long, and then fails."""

    def compute() -> None:
        until = time.thread_time() + seconds
        while time.thread_time() < until:
            pass
        raise ValueError("it failed")

    async def run() -> None:
        async with shares.one(owner) as measured:
            await asyncio.to_thread(measured, compute)

    with pytest.raises(ValueError, match="it failed"):
        asyncio.run(run())


def test_costly_reads_work_one_at_a_time_also_when_they_fail() -> None:
    shares = Shares(4)
    cost_of(shares, "ann", 0.2)
    assert working(shares, "ann") == 4  # she is alone
    shares._used.came("ben")
    assert working(shares, "ann") == 1


def test_writes_are_held_back_only_by_what_they_use() -> None:
    clock = Clock()
    used = busy(clock)
    writes = Shares(4, used, of_reads=False)
    assert working(writes, "new") == 4
    cost_of(writes, "cid", 0.2)
    assert working(writes, "cid") == 4
    assert working(writes, "ann") == 1


def test_control_cheap_calls_work_together() -> None:
    shares = Shares(4, Used(Clock()))
    shares._used.came("ben")
    shares._used.cost("ann", 0.001, is_read=True)
    assert working(shares, "ann") == 4
