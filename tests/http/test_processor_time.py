"""A caller whose calls cost much, or who uses most of the processor, works one call at a time."""

from __future__ import annotations

import asyncio
import time

import pytest

from recollect.interfaces.http.shares import Shares, Used

G = "reads"


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
            used.cost("ann", G, 0.001)
        used.is_much("ann", G)
        clock.seconds += 1
    used.came("ben")
    used.cost("ben", G, 0.001)
    return used


def test_who_uses_more_than_its_part_is_held_back_only_while_others_call() -> None:
    clock = Clock()
    used = busy(clock)
    assert used.is_much("ann", G)
    assert not used.is_much("ben", G)
    clock.seconds += 4
    assert not used.is_much("ann", G)  # her part of four seconds is free again


def test_a_caller_that_is_alone_has_the_whole_processor() -> None:
    clock = Clock()
    used = busy(clock)
    clock.seconds += 6
    for _ in range(5_000):
        used.cost("ann", G, 0.001)
    assert not used.is_much("ann", G)  # Ben has not called for six seconds
    used.came("ben")
    assert used.is_much("ann", G)


def test_who_makes_costly_calls_is_held_back_in_that_group_for_a_while() -> None:
    clock = Clock()
    used = Used(clock)
    used.cost("ann", G, 0.3)
    used.cost("ann", "writes", 0.001)
    for _ in range(10):
        used.cost("ann", G, 0.001)  # cheap calls do not hide it
    assert used.is_much("ann", G)
    assert not used.is_much("ann", "writes")
    clock.seconds += 60
    assert used.is_much("ann", G)
    clock.seconds += 120
    assert not used.is_much("ann", G)


def test_a_new_caller_begins_with_one_call() -> None:
    used = Used(Clock())
    used.came("ann")
    assert used.is_much("ann", G)
    used.cost("ann", G, 0.001)
    assert not used.is_much("ann", G)


def test_callers_that_come_once_are_forgotten() -> None:
    used = Used(Clock())
    for number in range(10_010):
        used.cost(number, G, 0.001)
    assert not used.is_much(10_009, G)
    assert used.is_much(0, G)  # as a new one


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


def test_costly_calls_work_one_at_a_time_also_when_they_fail() -> None:
    shares = Shares(4)
    cost_of(shares, "ann", 0.2)
    assert working(shares, "ann") == 1


def test_control_cheap_calls_work_together() -> None:
    shares = Shares(4, Used(Clock()))
    shares._used.cost("ann", shares, 0.001)
    assert working(shares, "ann") == 4
