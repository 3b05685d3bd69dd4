"""A clock that jumps: the engines through the one suite, and what the guard is worth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recollect.errors import Conflict
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.store import clock
from recollect.store.files.backend import FileBackend
from recollect.store.indexed.backend import MemoryBackend
from recollect.testing.clock_suite import DAY_US, START, ClockSuite
from recollect.testing.seams import FixedSeam


class TestFiles(ClockSuite):
    @pytest.fixture
    def opened(self, seam: FixedSeam, tmp_path: Path) -> Iterator[Callable[[], Memory]]:
        backend = FileBackend(tmp_path / "workspace", seam=seam)
        yield lambda: Memory(Handle(backend.space("main", create=True), seam))
        backend.close()


class TestMemory(ClockSuite):
    @pytest.fixture
    def opened(self, seam: FixedSeam) -> Iterator[Callable[[], Memory]]:
        backend = MemoryBackend(seam=seam)
        yield lambda: Memory(Handle(backend.space("main", create=True), seam))
        backend.close()


def test_a_torn_tail_found_under_a_wrong_clock_dates_nothing(tmp_path: Path) -> None:
    seam = FixedSeam(start=START)
    backend = FileBackend(tmp_path / "workspace", seam=seam)
    Memory(Handle(backend.space("main", create=True), seam)).remember("Before.")
    backend.close()
    with (tmp_path / "workspace" / "events.wal").open("ab") as ledger:
        ledger.write(b'{"v":1,"seq":3,"tx":[3,')
    right = seam.now_us
    seam.now_us += 400 * DAY_US
    backend = FileBackend(tmp_path / "workspace", seam=seam)
    memory = Memory(Handle(backend.space("main", create=True), seam))
    with pytest.raises(Conflict):
        memory.remember("Under the wrong clock.")
    assert memory.events.position == 3  # the tail was cut, and an event says so
    seam.now_us = right
    assert memory.remember("After.").at[:10] == START[:10]
    backend.close()


def test_control_without_the_guard_one_write_dates_all_that_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "is_jump", lambda last, now: False)
    seam = FixedSeam(start=START)
    backend = FileBackend(tmp_path / "workspace", seam=seam)
    memory = Memory(Handle(backend.space("main", create=True), seam))
    memory.remember("Before.")
    right = seam.now_us
    seam.now_us += 79 * 365 * DAY_US
    memory.remember("While the clock was wrong.")
    seam.now_us = right
    assert memory.remember("The clock is right again.").at[:4] == "2098"
    backend.close()
