"""The thread that folds what waits: soon, once, and in nobody's way."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from recollect import Memory
from recollect.store.files.build import known_head
from recollect.store.files.ledger import quiet
from recollect.store.files.ledger.quiet import FOLD_AFTER_S, Quiet
from recollect.store.files.quick_read import quick_read
from recollect.store.files.space import FileSpace

PATIENCE_S = 60.0


def wait_until(what: str, is_so: object) -> float:
    """How long it took."""
    assert callable(is_so)
    started = time.monotonic()
    while not is_so():
        assert time.monotonic() - started < PATIENCE_S, what
        time.sleep(0.001)
    return time.monotonic() - started


class Fake:
    """A memory that is folded after so many tries."""

    def __init__(self, tries: int = 1) -> None:
        self.tries = tries
        self.at: list[float] = []

    def fold_if_free(self, min_age_s: float = 0.0) -> bool:
        self.at.append(time.monotonic())
        return len(self.at) >= self.tries


def folded(folder: Path) -> int:
    head = known_head(folder / "index.db")
    return 0 if head is None else head.seq


# The thread by itself.


def test_a_memory_is_folded_once_and_soon() -> None:
    timer, memory = Quiet(), Fake()
    started = time.monotonic()
    for _ in range(5):
        assert timer.soon(memory)
    wait_until("folded", lambda: memory.at)
    assert memory.at[0] - started >= FOLD_AFTER_S
    time.sleep(3 * FOLD_AFTER_S)
    assert len(memory.at) == 1
    assert timer.soon(memory)
    wait_until("folded again", lambda: len(memory.at) == 2)
    timer.end()


def test_one_that_is_in_use_is_tried_again() -> None:
    timer, memory = Quiet(), Fake(tries=4)
    assert timer.soon(memory)
    wait_until("folded", lambda: len(memory.at) == 4)
    gaps = [after - before for before, after in zip(memory.at, memory.at[1:], strict=False)]
    assert min(gaps) >= FOLD_AFTER_S
    timer.end()


def test_one_that_is_in_use_holds_up_no_other() -> None:
    timer, stuck, memory = Quiet(), Fake(tries=1_000), Fake()
    assert timer.soon(stuck)
    assert timer.soon(memory)
    wait_until("folded", lambda: memory.at)
    timer.end()


def test_the_thread_ends_when_there_is_nothing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quiet, "_IDLE_S", 0.01)
    timer = Quiet()
    for _ in range(3):
        memory = Fake()
        assert timer.soon(memory)
        wait_until("folded", lambda memory=memory: memory.at)
        wait_until("ended", lambda: timer._thread is None)


def test_after_its_end_nothing_may_wait() -> None:
    timer, before, after = Quiet(), Fake(), Fake()
    assert timer.soon(before)
    timer.end()
    assert not timer.soon(after)
    timer.fold_all()
    assert (len(before.at), len(after.at)) == (1, 0)
    timer.begin()
    assert timer.soon(after)
    wait_until("folded", lambda: after.at)
    timer.end()


def test_without_threads_nothing_may_wait(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        assert not Quiet().soon(Fake())
    monkeypatch.setattr(quiet, "soon", lambda memory: False)
    with Memory.open(tmp_path) as memory:
        for number in range(5):
            memory.remember(f"number {number}")
            assert folded(tmp_path) == number + 2


# With a memory.


@contextmanager
def server(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that stays, as an MCP server does, and writes a sentence for each line it gets."""
    code = (
        "import sys; from recollect import Memory\n"
        "memory = Memory.open(sys.argv[1]); memory.remember('opened')\n"
        "for line in sys.stdin: print(memory.remember(line.strip()).id, flush=True)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.kill()


def ask(process: subprocess.Popen[str], text: str) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    print(text, file=process.stdin, flush=True)
    return process.stdout.readline().strip()


def test_a_hook_after_a_write_of_a_server_reads_a_current_index(tmp_path: Path) -> None:
    """``quick_read`` is what the hook before a prompt reads with."""
    with server(tmp_path) as process:
        for number in range(4):
            id = ask(process, f"sentence {number}")
            wait_until("current", lambda: quick_read(tmp_path) is not None)
            reads = quick_read(tmp_path)
            assert reads is not None
            row = reads.version(id)
            assert row is not None
            assert row.text == f"sentence {number}"


def test_the_control_without_the_thread_the_index_stays_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quiet, "soon", lambda memory: True)
    with Memory.open(tmp_path) as memory:
        memory.remember("one")
        memory.remember("two")
        time.sleep(10 * FOLD_AFTER_S)
        assert quick_read(tmp_path) is None


@pytest.mark.timing
def test_a_process_that_writes_steadily_is_not_far_behind(tmp_path: Path) -> None:
    with Memory.open(tmp_path) as memory:
        memory.remember("opened")
        behind: list[int] = []
        for number in range(60):
            memory.remember(f"number {number}")
            behind.append(number + 3 - folded(tmp_path))
            time.sleep(0.005)
    assert min(behind[40:]) < 30  # rows that fill a backlog are not there yet: the thread folded


def test_the_thread_leaves_the_lock_to_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(tmp_path) as memory, Memory.open(tmp_path) as other:
        mine, theirs = memory._handle.space, other._handle.space
        assert isinstance(mine, FileSpace)
        assert isinstance(theirs, FileSpace)
        memory.remember("opened")
        with monkeypatch.context() as patch:
            patch.setattr(quiet, "soon", lambda memory: True)  # the thread hears of it below
            memory.remember("waits")
        with theirs._files.exclusive():
            assert quiet.soon(mine._files)
            time.sleep(5 * FOLD_AFTER_S)
            assert folded(tmp_path) == 2
        wait_until("folded", lambda: folded(tmp_path) == 3)


def test_a_memory_that_is_closed_or_dropped_is_left_alone(tmp_path: Path) -> None:
    memory = Memory.open(tmp_path)
    memory.remember("opened")
    memory.remember("waits")
    memory.close()
    assert folded(tmp_path) == 3
    dropped = Memory.open(tmp_path)
    dropped.remember("opened again")
    dropped.remember("waits again")
    del dropped
    wait_until("folded", lambda: folded(tmp_path) == 5)


ENDING = """
import sys
from recollect import Memory
memory = Memory.open(sys.argv[1])
memory.remember("opened")
for number in range(5):
    memory.remember(f"number {number}")
"""


def test_a_process_that_ends_without_a_close_has_folded(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", ENDING, str(tmp_path)], check=True)
    assert folded(tmp_path) == 7


def test_one_that_ends_at_once_leaves_it_to_the_next(tmp_path: Path) -> None:
    code = ENDING + "import os; os._exit(0)"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    with Memory.open(tmp_path) as memory:
        assert len(memory.list()) == 6
        assert memory.admin.verify(deep=True).ok


def test_a_write_while_the_process_ends_is_folded_at_once(tmp_path: Path) -> None:
    code = "import atexit\natexit.register(lambda: memory.remember('at the very end'))\n" + ENDING
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    assert folded(tmp_path) == 8


FORKING = """
import os, sys, time
from pathlib import Path
from recollect import Memory
from recollect.store.files.build import known_head
memory = Memory.open(sys.argv[1])
memory.remember("opened")
for number in range(10):
    memory.remember(f"before {number}")
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
memory.remember("after")
limit = time.monotonic() + 60
while known_head(Path(sys.argv[1], "index.db")).seq != 13:
    assert time.monotonic() < limit
    time.sleep(0.01)
assert len(memory.list()) == 12
"""


def test_a_fork_finds_no_thread_and_the_parent_goes_on(tmp_path: Path) -> None:
    """From Python 3.12 on, a process with threads is warned when it forks."""
    subprocess.run([sys.executable, "-W", "error", "-c", FORKING, str(tmp_path)], check=True)
