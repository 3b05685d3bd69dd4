"""So many calls of one caller work at the same time."""

from __future__ import annotations

import asyncio

import pytest

from recollect.interfaces.http.limits.shares import Shares, Used


def cheap(most: int, *owners: str) -> Shares:
    """Shares of callers whose calls are known to cost little."""
    used = Used()
    shares = Shares(most, used)
    for owner in owners:
        used.cost(owner, 0.0, is_read=True)
    return shares


async def began(shares: Shares, owner: str, calls: int, release: asyncio.Event) -> list[int]:
    """The calls of an owner that have begun while none has ended; then all of them end."""
    here: list[int] = []

    async def call(number: int) -> None:
        async with shares.one(owner):
            here.append(number)
            await release.wait()

    tasks = [asyncio.create_task(call(number)) for number in range(calls)]
    for _ in range(calls + 1):  # each gets as far as it can
        await asyncio.sleep(0)
    found = list(here)
    release.set()
    await asyncio.gather(*tasks)
    assert here == list(range(calls))
    return found


def test_calls_beyond_a_share_wait_in_their_order() -> None:
    assert asyncio.run(began(cheap(2, "ann"), "ann", 5, asyncio.Event())) == [0, 1]


def test_control_with_a_larger_share_they_begin() -> None:
    assert asyncio.run(began(cheap(9, "ann"), "ann", 5, asyncio.Event())) == [0, 1, 2, 3, 4]


def test_another_caller_has_its_own_share() -> None:
    async def run() -> None:
        shares, release = Shares(1), asyncio.Event()
        async with shares.one("ann"):
            assert await began(shares, "ben", 1, release) == [0]
            assert len(shares) == 1
        assert len(shares) == 0

    asyncio.run(run())


def test_a_call_that_fails_or_is_cancelled_gives_its_share_back() -> None:
    async def run() -> None:
        shares = Shares(1)
        with pytest.raises(ValueError, match="no"):
            async with shares.one("ann"):
                raise ValueError("no")
        async with shares.one("ann"):
            waiting = asyncio.create_task(shares.one("ann").__aenter__())
            await asyncio.sleep(0)
            waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert len(shares) == 0
        assert await began(shares, "ann", 1, asyncio.Event()) == [0]

    asyncio.run(run())
