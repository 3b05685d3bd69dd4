"""The lock between processes: bounded waits, a holder with a name, forks, and read-only places.

Real processes hold the lock here: one is stopped in the middle of a write, one is killed while a
child that it forked lives on.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from recollect import Memory
from recollect.errors import NotFound, Unavailable
from recollect.memory.keys import Keys
from recollect.store.files import lock, open_files
from recollect.store.files.space import FileSpace
from recollect.store.seam import REAL

PATIENCE_S = 60.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "memory"
    with Memory.open(folder) as memory:
        memory.remember("The staging database listens on port 5433.", id="a")
    return folder


def child(code: str, *args: str) -> subprocess.Popen[str]:
    source = "from recollect import Memory\nfrom recollect.store.seam import Seam\n"
    source += "import os, signal, sys, time\n" + textwrap.dedent(code)
    return subprocess.Popen(
        [sys.executable, "-c", source, *args], stdout=subprocess.PIPE, text=True
    )


def wait_for(what: str, process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline().strip() == what


STOPPED = """
memory = Memory.open(sys.argv[1])
memory.recall("port")
real = Seam.fsync
def stop(self, fd):
    print("inside", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
    real(self, fd)
Seam.fsync = stop
memory.remember("stopped in the middle")
"""


@contextmanager
def stopped_writer(folder: Path) -> Iterator[int]:
    """A process that is stopped between its write and its fsync."""
    process = child(STOPPED, str(folder))
    try:
        wait_for("inside", process)
        deadline = time.monotonic() + PATIENCE_S
        while b") T" not in Path(f"/proc/{process.pid}/stat").read_bytes():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        yield process.pid
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


LOOK = """
memory = Memory.open(sys.argv[1])
assert [hit.text for hit in memory.recall("staging port").hits], "nothing recalled"
assert memory.list() and memory.status().records == 1
assert memory.context("staging port").text
assert all(each.level != "problem" for each in memory.admin.doctor())
print("answered", flush=True)
"""


def test_readers_go_on_while_a_writer_is_stopped(folder: Path) -> None:
    with stopped_writer(folder):
        reader = child(LOOK, str(folder))
        try:
            out, _ = reader.communicate(timeout=PATIENCE_S)
        finally:
            reader.kill()
        assert out == "answered\n"


def test_a_writer_gives_up_and_names_who_holds_the_lock(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_files, "WAIT_S", 0.3)
    monkeypatch.setattr(open_files, "SHORT_WAIT_S", 0.3)
    with stopped_writer(folder) as pid, Memory.open(folder) as memory:
        for act in (lambda: memory.remember("more"), memory.admin.verify):
            with pytest.raises(Unavailable, match=rf"process {pid} \(stopped\)") as caught:
                act()
            assert caught.value.hint
    with Memory.open(folder) as memory:
        memory.remember("it is free again")
        assert memory.admin.verify(deep=True).ok


def test_who_waits_gets_the_lock_when_it_is_free(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = child(
        """
        memory = Memory.open(sys.argv[1])
        with memory._handle.space._files.exclusive():
            print("inside", flush=True)
            time.sleep(0.5)
        """,
        str(folder),
    )
    wait_for("inside", process)
    with Memory.open(folder) as memory:
        started = time.monotonic()
        memory.remember("after a wait")
        assert time.monotonic() - started < PATIENCE_S
        memory.remember("and one more")
        assert memory.admin.verify().events == 4
    assert process.wait() == 0
    assert process.stdout is not None
    process.stdout.close()


def test_a_new_file_is_never_taken_for_the_one_that_was_held(tmp_path: Path) -> None:
    """Systems give the number of a deleted file that nobody has open to the next new file."""
    path = tmp_path / "lock"
    held = lock.Lock(path, REAL, lambda: None, lambda: NotFound("gone"))
    with held.held():
        pass
    path.unlink()
    for _ in range(200):
        with pytest.raises(NotFound, match="gone"):
            held.take(0)
        assert held.is_lost
        path.write_bytes(b"")
        with pytest.raises(NotFound, match="gone"):
            held.take(0)
        assert held.is_lost
        path.unlink()
    held.close()


def test_a_lock_that_was_deleted_before_it_was_ever_held_is_created_again(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    made = lock.Lock(path, REAL, lambda: None, lambda: NotFound("gone"))
    with lock.Lock(path, REAL, lambda: None, lambda: NotFound("gone")).held():
        with pytest.raises(BlockingIOError):
            made.take(0)
        path.unlink()
    with made.held(0):
        assert path.exists()
    made.close()


def test_a_wait_that_was_given_up_leaves_no_lock_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_files, "WAIT_S", 0.2)
    one, two = (FileSpace(folder, "main", create=False) for _ in range(2))
    with one._files.exclusive():
        for _ in range(3):
            with pytest.raises(lock.Locked), two._files.exclusive():
                pass
    deadline = time.monotonic() + PATIENCE_S
    while True:  # the threads that waited come to the lock one by one, and let go of it
        try:
            with one._files.locked(0):
                break
        except BlockingIOError:
            assert time.monotonic() < deadline
    with two._files.exclusive():
        pass
    one.close()
    two.close()


FORKED = """
memory = Memory.open(sys.argv[1])
memory.remember("opened")
if os.fork() == 0:
    print("child", os.getpid(), flush=True)
    time.sleep(600)
    os._exit(0)
time.sleep(0.3)
Seam.fsync = lambda self, fd: os.kill(os.getpid(), signal.SIGKILL)
memory.remember("in flight")
"""


def killed_with_a_child(folder: Path, code: str = FORKED) -> int:
    process = child(code, str(folder))
    assert process.stdout is not None
    pid = int(process.stdout.readline().split()[1])
    process.wait()
    process.stdout.close()
    return pid


def test_the_lock_of_a_killed_writer_does_not_live_on_in_its_child(folder: Path) -> None:
    idle = killed_with_a_child(folder)
    try:
        with Memory.open(folder) as memory:
            started = time.monotonic()
            memory.remember("and on")
            assert time.monotonic() - started < PATIENCE_S
            assert memory.admin.verify(deep=True).ok
    finally:
        os.kill(idle, signal.SIGKILL)


def test_without_letting_go_it_does(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control."""
    monkeypatch.setattr(open_files, "WAIT_S", 0.5)
    off = "from recollect.store.files.lock import Lock\nLock.forget = lambda self: None\n"
    idle = killed_with_a_child(folder, off + textwrap.dedent(FORKED))
    try:
        with Memory.open(folder) as memory:
            with pytest.raises(Unavailable, match="has ended; a process that it started"):
                memory.remember("and on")
            assert memory.list()  # reading goes on
    finally:
        os.kill(idle, signal.SIGKILL)


def test_a_child_that_was_forked_during_a_write_can_close_what_it_inherited(folder: Path) -> None:
    code = """
    memory = Memory.open(sys.argv[1])
    real = Seam.fsync
    def fork(self, fd):
        Seam.fsync = real
        pid = os.fork()
        if pid == 0:
            memory.close()
            os._exit(0)
        os.waitpid(pid, 0)
        real(self, fd)
    memory.recall("port")
    Seam.fsync = fork
    memory.remember("forked in the middle")
    memory.remember("and after it")
    print(memory.admin.verify(deep=True).events, flush=True)
    """
    process = child(code, str(folder))
    out, _ = process.communicate(timeout=PATIENCE_S)
    assert out.strip() == "4"


# Read-only places.


READ = """
memory = Memory.open(sys.argv[1])
assert [hit.id for hit in memory.recall("staging port").hits] == ["a"]
assert [record.id for record in memory.list()] == ["a"]
assert memory.at(2).list() and memory.history("a") and memory.context("staging port").text
assert memory.context("staging port").receipt is None  # it could not be written
assert memory.admin.verify().ok and memory.admin.verify(deep=True).ok
found = memory.admin.doctor()
assert not [each for each in found if each.level == "problem" and each.what != BROKEN]
try:
    memory.remember("more")
except Exception as error:
    print(type(error).__name__, error, flush=True)
memory.close()
"""
MOUNT = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'


def read_only(folder: Path, *, broken: str = "") -> str:
    """What a new process reads on a file system, or in a folder, that it may only read."""
    return in_read_only(
        folder, "from recollect import Memory\n" + READ.replace("BROKEN", repr(broken))
    )


def in_read_only(folder: Path, code: str) -> str:
    """What code prints in a new process that may only read a folder, its first argument."""
    source = "import sys\n" + code
    command = [sys.executable, "-c", source, str(folder)]
    if os.getuid() == 0:  # for whom permissions mean nothing
        command = ["unshare", "-m", "sh", "-c", MOUNT, str(folder), *command]
    else:
        folder.chmod(0o555)
    try:
        done = subprocess.run(
            command, capture_output=True, check=False, text=True, timeout=3 * PATIENCE_S
        )
    finally:
        folder.chmod(0o700)
    if done.returncode and "unshare" in done.stderr:
        pytest.skip(f"no read-only mount here: {done.stderr}")
    assert done.returncode == 0, done.stderr
    return done.stdout


def spoil_nothing(folder: Path) -> None:
    """As it is."""


def delete_index(folder: Path) -> None:
    for path in folder.glob("index.db*"):
        path.unlink()


def make_it_stale(folder: Path) -> None:
    before = (folder / "index.db").read_bytes()
    with Memory.open(folder) as memory:
        memory.observe("something that the old index does not know")
    (folder / "index.db").write_bytes(before)


def break_index(folder: Path) -> None:
    data = bytearray((folder / "index.db").read_bytes())
    data[4096:] = bytes(len(data) - 4096)
    (folder / "index.db").write_bytes(data)


@pytest.mark.parametrize("spoil", [spoil_nothing, delete_index, make_it_stale, break_index])
def test_a_read_only_place_is_read_recalled_from_and_verified(folder: Path, spoil: object) -> None:
    assert callable(spoil)
    spoil(folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    out = read_only(folder, broken="index rows" if spoil is break_index else "")
    assert out.startswith("ReadOnly")
    assert "is read-only: nothing can be written" in out
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_read_only_place_is_compared_with_the_last_checkpoint_of_this_person(
    folder: Path,
) -> None:
    with Memory.open(folder) as memory:
        Keys(memory).create()
        memory.proof.checkpoint()
    assert read_only(folder).startswith("ReadOnly")


def test_a_read_only_folder_without_a_memory_has_nothing_to_compare(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "other") as memory:
        Keys(memory).create()
    empty = tmp_path / "empty"
    empty.mkdir()
    out = in_read_only(
        empty, "from recollect import Memory\nMemory.open(sys.argv[1]).admin.doctor()"
    )
    assert out == ""
