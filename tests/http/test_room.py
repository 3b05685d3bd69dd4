"""Threads for reads while writes wait."""

from __future__ import annotations

import asyncio
import threading

import pytest

from recollect.interfaces.http.limits import room as rooms
from recollect.interfaces.http.limits.room import READERS_COUNT, WRITERS_COUNT, Room
from recollect.interfaces.http.problems import Refused

EVENT_MAX_S = 60.0


async def _turns() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def _stalled(room: Room) -> int:
    """Writes of many spaces and reads of the same ones wait; returns how many reads have begun."""
    done, begun = threading.Event(), list[str]()

    def wait(name: str) -> None:
        begun.append(name)
        assert done.wait(EVENT_MAX_S)

    spaces = [f"s{number}" for number in range(WRITERS_COUNT)]
    waiting = [asyncio.ensure_future(room.write(space, wait, "w")) for space in spaces]
    await _turns()
    for _ in range(3):
        waiting += [asyncio.ensure_future(room.read(space, wait, "r")) for space in spaces]
    await _turns()
    try:
        quiet = asyncio.ensure_future(room.read("quiet", lambda: "read"))
        await asyncio.wait([quiet], timeout=EVENT_MAX_S if room._takes_turns else 0.5)
        is_read = quiet.done()
    finally:
        done.set()
        await asyncio.gather(*waiting, quiet)
        room.shutdown()
    assert [room._writes, room._reads, room._waiting, room._left] == [{}] * 4
    assert begun.count("w") == WRITERS_COUNT
    assert begun.count("r") == 3 * WRITERS_COUNT
    return is_read


def test_reads_of_other_spaces_find_a_thread_while_writes_wait() -> None:
    assert READERS_COUNT - WRITERS_COUNT >= 2
    assert asyncio.run(_stalled(Room(takes_turns=True)))


def test_control_without_turns_they_do_not() -> None:
    assert not asyncio.run(_stalled(Room(takes_turns=False)))


def test_a_read_of_a_space_that_is_written_for_long_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rooms, "_WAIT_MAX_S", 0.05)

    async def run() -> None:
        room, done = Room(takes_turns=True), threading.Event()
        first = asyncio.ensure_future(room.write("s", done.wait, EVENT_MAX_S))
        await _turns()
        second = asyncio.ensure_future(room.read("s", done.wait, EVENT_MAX_S))
        await _turns()
        with pytest.raises(Refused, match="takes long"):
            await room.read("s", lambda: None)
        monkeypatch.setattr(rooms, "_WAITING_MAX_COUNT", 0)
        with pytest.raises(Refused, match="takes long"):
            await room.read("s", lambda: None)
        done.set()
        await asyncio.gather(first, second)
        room.shutdown()

    asyncio.run(run())
