"""A caller that uses most of the processor works one call at a time while others call."""

from __future__ import annotations

import asyncio
import time

from recollect.interfaces.http.room import Shares, Used


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def heavy(clock: Clock) -> Used:
    """Ann has used five seconds of processor time in five seconds; Ben has called as well."""
    used = Used(clock)
    for _ in range(5):
        used.note("ann", 1.0)
        clock.seconds += 1
    used.note("ben", 0.01)
    return used


def test_who_uses_more_than_its_part_is_named_only_while_others_call() -> None:
    clock = Clock()
    used = heavy(clock)
    assert used.is_much("ann")
    assert not used.is_much("ben")
    assert not used.is_much("cid")
    clock.seconds += 4
    assert not used.is_much("ann")  # her part of four seconds is free again


def test_a_caller_that_is_alone_has_the_whole_processor() -> None:
    clock = Clock()
    used = heavy(clock)
    for _ in range(10):
        used.note("ann", 1.0)
        clock.seconds += 1
    assert not used.is_much("ann")  # Ben has not called for ten seconds
    used.note("ben")
    assert used.is_much("ann")


def test_what_work_costs_is_counted_also_when_it_fails() -> None:
    used = Used(Clock())
    used.note("ann", 0.95)

    def spin() -> None:
        until = time.thread_time() + 0.1
        while time.thread_time() < until:
            pass
        raise ValueError

    try:
        used.measured("ann", spin)
    except ValueError:
        used.note("ben")
        assert used.is_much("ann")
    else:
        raise AssertionError


def test_callers_that_come_once_are_forgotten() -> None:
    used = Used(Clock())
    for number in range(10_010):
        used.note(number, 2.0)
    assert not used.is_much(0)
    assert used.is_much(10_009)


def began(shares: Shares, owner: str) -> int:
    """How many of five calls of a caller begin while none ends."""

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


def test_such_a_caller_works_one_call_at_a_time() -> None:
    clock = Clock()
    shares = Shares(4, heavy(clock))
    assert (began(shares, "ann"), began(shares, "ben")) == (1, 4)


def test_control_without_others_its_whole_share_works() -> None:
    clock = Clock()
    shares = Shares(4, heavy(clock))
    clock.seconds += 20
    assert began(shares, "ann") == 4
