"""Receipts ride: no fsync of their own, written at the close, lost with the process."""

from __future__ import annotations

import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from recollect import Memory, Store
from recollect.errors import Unavailable
from recollect.memory.handle.handle import Handle
from recollect.store.files.space import FileSpace
from recollect.store.seam import Seam


class Counting(Seam):
    """A seam that counts syncs, and fails them when told to."""

    def __init__(self) -> None:
        self.syncs = 0
        self.fails = False

    def fsync(self, fd: int) -> None:
        self.syncs += 1
        if self.fails:
            raise OSError(28, "no space left")
        super().fsync(fd)


def opened(folder: Path, seam: Seam | None = None) -> Memory:
    seam = seam or Seam()
    return Memory(Handle(FileSpace(folder, "main", create=True, seam=seam), seam))


def test_contexts_cost_no_fsync_of_their_own(tmp_path: Path) -> None:
    seam = Counting()
    with opened(tmp_path, seam) as memory:
        memory.remember("The garden has roses")
        before = seam.syncs
        for _ in range(50):
            memory.context("garden")
        assert seam.syncs == before
        memory.remember("The garden has tulips")
        assert seam.syncs == before + 1
        assert len(memory.proof.receipts.list()) == 50


def test_a_close_writes_what_waits(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        memory = store.space()
        memory.remember("The garden has roses")
        context = memory.context("garden")
    with Memory.open(tmp_path) as again:
        assert str(again.replay(str(context.receipt))) == context.text


def test_a_close_that_cannot_write_still_closes(tmp_path: Path) -> None:
    seam = Counting()
    memory = opened(tmp_path, seam)
    memory.remember("The garden has roses")
    memory.context("garden")
    seam.fails = True
    memory.close()
    with pytest.raises(Unavailable):
        memory.recall("garden")
    with opened(tmp_path) as again:
        assert again.recall("garden").hits


def test_a_flush_that_cannot_write_says_so(tmp_path: Path) -> None:
    seam = Counting()
    memory = opened(tmp_path, seam)
    memory.remember("The garden has roses")
    memory.context("garden")
    seam.fails = True
    with pytest.raises(Unavailable):
        memory.admin.flush()
    memory.close()


def test_nothing_that_waits_makes_nothing_at_the_close(tmp_path: Path) -> None:
    seam = Counting()
    memory = opened(tmp_path, seam)
    memory.remember("The garden has roses")
    before = seam.syncs
    memory.close()
    memory.close()
    assert seam.syncs == before


def test_a_killed_process_loses_its_waiting_receipts_and_nothing_else(tmp_path: Path) -> None:
    child = multiprocessing.get_context("fork").Process(target=_live_and_die, args=(tmp_path,))
    child.start()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL
    with opened(tmp_path) as memory:
        assert len(memory.recall("garden").hits) == 2
        assert len(memory.proof.receipts.list()) == 1
        assert memory.admin.verify().ok


def _live_and_die(folder: Path) -> None:
    memory = opened(folder)
    memory.remember("The garden has roses")
    memory.context("garden")
    memory.remember("The garden has tulips")
    memory.context("garden")
    os.kill(os.getpid(), signal.SIGKILL)
