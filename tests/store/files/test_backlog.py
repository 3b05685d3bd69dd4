"""Rows that wait in memory: durable before they are acknowledged, and never missed by a read.

The controls take out one guard each: the wait of a reader for what its process owes, the check that
nothing else has folded, the note for the next holder of the lock.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from recollect import Conflict, Memory
from recollect.errors import NotFound, RecollectError, Unavailable
from recollect.memory.handle.handle import Handle
from recollect.store.files import append, catch_up, open_files
from recollect.store.files.build import known_head
from recollect.store.files.catch_up import Healing
from recollect.store.files.ledger import active, backlog, quiet
from recollect.store.files.ledger.backlog import Pace
from recollect.store.files.lock import Lock
from recollect.store.files.open_files import OpenFiles
from recollect.store.files.space import FileSpace
from recollect.store.seam import Seam
from recollect.store.sqlite import SqliteDb, file_id
from recollect.testing.rebuilding import rebuilt_digest
from recollect.testing.seams import FixedSeam

PATIENCE_S = 60.0


@pytest.fixture(autouse=True)
def no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows wait until something folds them; ``test_quiet`` tests the thread."""
    monkeypatch.setattr(quiet, "soon", lambda memory: True)
    monkeypatch.setattr(Pace, "lets_wait", lambda self: True)


def opened(folder: Path, seam: Seam | None = None) -> Memory:
    seam = seam or Seam()
    return Memory(Handle(FileSpace(folder, "main", create=True, seam=seam), seam))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path) as memory:
        memory.remember("the first write opens the memory")
        yield memory


def files_of(memory: Memory) -> OpenFiles:
    space = memory._handle.space
    assert isinstance(space, FileSpace)
    return space._files


def waiting(memory: Memory) -> int:
    return len(files_of(memory).backlog or ())


def folded(folder: Path) -> int:
    head = known_head(folder / "index.db")
    return 0 if head is None else head.seq


def lines(folder: Path) -> int:
    return (folder / "events.wal").read_bytes().count(b"\n")


# What waits, and for how long.


def test_rows_of_plain_writes_wait_and_their_events_are_synced(tmp_path: Path) -> None:
    class Watched(Seam):
        synced = 0

        def fsync(self, fd: int) -> None:
            super().fsync(fd)
            self.synced += 1

    seam = Watched()
    with opened(tmp_path, seam) as memory:
        memory.remember("one")
        for number in range(5):
            before = seam.synced
            memory.remember(f"another {number}")
            assert seam.synced == before + 1
        memory.observe("somebody said so")
        assert (waiting(memory), lines(tmp_path), folded(tmp_path)) == (6, 8, 2)


def test_the_index_takes_them_together_when_there_are_many(memory: Memory, tmp_path: Path) -> None:
    for number in range(backlog.EVENTS_MAX_COUNT - 1):
        assert waiting(memory) == number
        memory.remember(f"number {number}")
    assert (waiting(memory), folded(tmp_path)) == (63, 2)
    memory.remember("the last that fits")
    assert (waiting(memory), folded(tmp_path)) == (0, 66)


def test_long_texts_do_not_wait_for_long(memory: Memory) -> None:
    for number in range(20):
        memory.remember(f"{number} " + "long " * 20_000)
        assert waiting(memory) <= 10


def test_nothing_waits_on_a_disk_that_is_almost_full(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(append, "ROOM_MIN_BYTES", 1 << 62)
    memory.remember("no room")
    assert waiting(memory) == 0


def in_one_batch(memory: Memory) -> None:
    with memory.batch() as batch:
        batch.remember("one of two")
        batch.remember("two of two")


def waits(pace: Pace, reads: list[int]) -> list[bool]:
    """Which of the writes wait; each number is that of the writes before a read."""
    found = []
    for writes in reads:
        waiting = 0
        for _ in range(writes):
            waited = waiting > 0 or real_pace(pace)
            waiting += waited
            found.append(waited)
        if waiting:
            pace.was_read(waiting)
    return found


real_pace = Pace.lets_wait


def test_rows_do_not_wait_while_each_write_is_read() -> None:
    paired = waits(Pace(), [1] * 200)
    assert [place for place, waited in enumerate(paired) if waited] == [0, 5, 14, 31, 64, 129, 194]
    assert all(waits(Pace(), [10] * 20))
    again = waits(Pace(), [*([1] * 32), 100, 100])
    assert again[:32].count(True) == 4
    assert all(again[-100:])


ACTS: dict[str, Callable[[Memory], object]] = {
    "a key that is held": lambda m: m.remember("another value", key="k"),
    "a text that is known": lambda m: m.remember("known", tags=("again",)),
    "revise": lambda m: m.revise("known", text="known better"),
    "forget": lambda m: m.forget("known"),
    "tag": lambda m: m.revise("known", tags=["t"]),
    "link": lambda m: m.graph.link("known", "other", "relates_to"),
    "batch": in_one_batch,
    "erase": lambda m: m.erase("known"),
    "seal": lambda m: m.admin.seal(),
    "backup": lambda m: m.admin.backup(),
    "rebuild": lambda m: m.admin.rebuild(),
    "verify": lambda m: m.admin.verify(),
    "doctor": lambda m: m.admin.doctor(),
    "close": lambda m: m.close(),
}


@pytest.mark.parametrize("name", ACTS)
def test_anything_else_folds_first(memory: Memory, tmp_path: Path, name: str) -> None:
    memory.remember("known", id="known")
    memory.remember("a value", key="k")
    memory.remember("other", id="other")
    assert waiting(memory) == 3
    ACTS[name](memory)
    assert waiting(memory) == 0
    if name != "erase":  # which leaves fewer lines with bodies, and as many events
        assert folded(tmp_path) >= 5
    with suppress(RecollectError):
        memory.close()
    with Memory.open(tmp_path) as again:
        assert again.admin.verify(deep=True).ok
        assert again.admin.digest() == rebuilt_digest(again.admin)


def test_a_repeated_command_and_a_known_text_are_found_among_waiting_rows(memory: Memory) -> None:
    one = memory.remember("said once", idempotency_key="once")
    assert waiting(memory) == 1
    assert memory.remember("said once", idempotency_key="once") == one
    two = memory.remember("said twice")
    assert memory.remember("said twice").id == two.id
    memory.remember("with an id", id="mine")
    with pytest.raises(Conflict):
        memory.remember("with the same id", id="mine")
    assert memory.admin.verify(deep=True).ok


def test_expect_counts_waiting_rows(memory: Memory) -> None:
    position = memory.events.position
    memory.remember("in between")
    with pytest.raises(Conflict):
        memory.remember("too late", expect=position)
    assert memory.remember("in time", expect=position + 1).text == "in time"


# Reads.


def test_every_read_sees_what_was_written_before(memory: Memory) -> None:
    for number in range(20):
        record = memory.remember(f"sentence {number}")
        assert waiting(memory) == 1
        match number % 4:
            case 0:
                assert memory.get(record.id) == record
            case 1:
                assert memory.list(limit=1) == [record]
            case 2:
                assert memory.recall(f"sentence {number}").hits[0].id == record.id
            case _:
                assert memory.events.list(limit=100)[-1].id == record.id
        assert (waiting(memory), memory.events.position) == (0, number + 3)


def test_another_handle_sees_it(memory: Memory, tmp_path: Path) -> None:
    with Memory.open(tmp_path) as other:
        for number in range(10):
            ours = memory.remember(f"ours {number}").id
            assert other.get(ours).id == ours
            theirs = [other.remember(f"theirs {number} {part}").id for part in range(3)]
            assert {record.id for record in memory.list(limit=4)} == {ours, *theirs}
    assert memory.admin.verify(deep=True).ok


@contextmanager
def writing_slowly(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, for_s: float = PATIENCE_S
) -> Iterator[None]:
    """Another thread is inside an fsync, with turn and lock, for that long or until the end."""
    inside, done = threading.Event(), threading.Event()
    real = Seam.fsync

    def slow(self: Seam, fd: int) -> None:
        inside.set()
        done.wait(for_s)
        real(self, fd)

    with monkeypatch.context() as patch:
        patch.setattr(Seam, "fsync", slow)
        thread = threading.Thread(target=lambda: memory.remember("slowly"))
        thread.start()
        assert inside.wait(PATIENCE_S)
        try:
            yield
        finally:
            done.set()
    thread.join()


@pytest.mark.parametrize("which", ["same", "another"])
def test_a_read_sees_it_while_another_thread_writes(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    with Memory.open(tmp_path) as other:
        other.list()
        record = memory.remember("acknowledged")
        assert waiting(memory) == 1
        reader = memory if which == "same" else other
        with writing_slowly(memory, monkeypatch, for_s=0.5):
            assert reader.get(record.id) == record


@pytest.mark.parametrize("which", ["same", "another"])
def test_the_control_a_read_that_does_not_wait_misses_it(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    monkeypatch.setattr(Healing, "await_acknowledged", lambda self: None)
    with Memory.open(tmp_path) as other:
        other.list()
        record = memory.remember("acknowledged")
        reader = memory if which == "same" else other
        with writing_slowly(memory, monkeypatch), pytest.raises(NotFound):
            reader.get(record.id)


HOLDER = """
import fcntl, sys, time
with open(sys.argv[1], "r+") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    print("inside", flush=True)
    time.sleep(600)
"""


@contextmanager
def process(code: str, path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process, once it has the lock."""
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "inside\n"
        try:
            yield holder
        finally:
            holder.kill()


def test_a_read_fails_rather_than_miss_it_while_another_process_keeps_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_files, "WAIT_S", 0.3)
    with opened(tmp_path) as memory:
        memory.remember("opened")
        record = memory.remember("acknowledged")
        with process(HOLDER, tmp_path / "ledger.lock") as holder:
            with pytest.raises(Unavailable, match="locked by") as caught:
                memory.get(record.id)
            assert "safe in the ledger" in str(caught.value.hint)
            holder.kill()
            holder.wait()
            assert memory.get(record.id) == record
        assert memory.admin.verify(deep=True).ok


def test_rows_that_another_process_folded_are_owed_no_more(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.remember("opened")
        memory.remember("acknowledged")
        number = file_id(tmp_path / "events.wal")
        with process(FOLDER, tmp_path):  # which keeps the lock
            memory.list()
            memory.close()
    assert number is not None
    assert backlog.owed(number) == 0
    assert number not in backlog._KEPT


FOLDER = """
import sys, time
from recollect import Memory
space = Memory.open(sys.argv[1])._handle.space
with space._files.exclusive():
    print("inside", flush=True)
    time.sleep(0.2)
    space._index.attempt(space._index.refresh)
    time.sleep(600)
"""


def test_a_read_goes_on_as_soon_as_another_process_has_folded(tmp_path: Path) -> None:
    """The other process keeps the lock after that, as a long backup does."""
    with opened(tmp_path) as memory:
        memory.remember("opened")
        record = memory.remember("acknowledged")
        with process(FOLDER, tmp_path):
            started = time.monotonic()
            assert memory.get(record.id) == record
            assert time.monotonic() - started < PATIENCE_S


WRITER = """
import os, signal, sys, time
from recollect import Memory
from recollect.store.files.ledger import quiet
from recollect.store.seam import Seam
quiet.soon = lambda memory: True
memory = Memory.open(sys.argv[1])
memory.remember("opened")
memory.remember("acknowledged", id="acknowledged")
real = Seam.fsync
def slowly(self, fd):
    print("inside", flush=True)
    STEP
    real(self, fd)
Seam.fsync = slowly
memory.remember("not yet")
time.sleep(600)
"""


def test_a_read_waits_for_what_another_process_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catch_up, "_OTHERS_S", PATIENCE_S)
    with process(WRITER.replace("STEP", "time.sleep(0.5)"), tmp_path), Memory.open(tmp_path) as m:
        assert m.get("acknowledged").text == "acknowledged"


def test_the_control_a_read_that_does_not_look_at_the_note_misses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Lock, "note", lambda self: "")
    with (
        process(WRITER.replace("STEP", "time.sleep(600)"), tmp_path),
        Memory.open(tmp_path) as memory,
        pytest.raises(NotFound),
    ):
        memory.get("acknowledged")


def test_a_read_does_not_wait_for_long_if_the_other_process_is_stopped(tmp_path: Path) -> None:
    stop = "os.kill(os.getpid(), signal.SIGSTOP)"
    with (
        process(WRITER.replace("STEP", stop), tmp_path) as stopped,
        Memory.open(tmp_path) as memory,
    ):
        started = time.monotonic()
        assert [record.text for record in memory.list()] == ["opened"]
        assert time.monotonic() - started < PATIENCE_S
        stopped.kill()
        stopped.wait()
        assert memory.get("acknowledged").text == "acknowledged"


@pytest.mark.parametrize("is_control", [False, True])
def test_a_new_memory_owes_nothing_of_one_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_control: bool
) -> None:
    """A file that is closed gives its number to a new one; in the control it does so for sure."""
    if is_control:
        monkeypatch.setattr(active, "close_or_keep", lambda ledger, close: close())
    monkeypatch.setattr(open_files, "WAIT_S", 0.3)
    gone, new = tmp_path / "gone", tmp_path / "new"
    with opened(gone) as memory:
        memory.remember("opened")
        for count in range(9):
            memory.remember(f"acknowledged {count}")
        number = file_id(gone / "events.wal")
        with process(HOLDER, gone / "ledger.lock"):
            memory.close()  # which cannot fold
    assert number is not None
    assert backlog.owed(number) == 11
    shutil.rmtree(gone)
    new.mkdir()
    stop = "os.kill(os.getpid(), signal.SIGSTOP)"
    with process(WRITER.replace("STEP", stop), new), Memory.open(new) as memory:
        if is_control:
            backlog._OWED[file_id(new / "events.wal") or number] = backlog._OWED.pop(number)
            with pytest.raises(Unavailable, match="locked by"):
                memory.list()
        else:
            assert file_id(new / "events.wal") != number
            assert [record.text for record in memory.list()] == ["opened"]
    assert (number in backlog._KEPT) != is_control
    backlog._OWED.clear()
    backlog.settle(number, 11)
    assert number not in backlog._KEPT


# What goes wrong.


class Failing(Seam):
    """A seam whose syncs fail when told to."""

    error: BaseException | None = None

    def fsync(self, fd: int) -> None:
        if self.error is not None:
            raise self.error
        super().fsync(fd)


def test_a_failed_write_leaves_what_was_acknowledged_readable(tmp_path: Path) -> None:
    seam = Failing()
    with opened(tmp_path, seam) as memory:
        memory.remember("opened")
        known = [memory.remember(f"acknowledged {number}").id for number in range(5)]
        assert waiting(memory) == 5
        seam.error = OSError(5, "input/output error")
        with pytest.raises(Unavailable):
            memory.remember("failed")
        assert [record.id for record in memory.list(limit=5)] == known[::-1]
        with pytest.raises(Unavailable, match="open it again"):
            memory.remember("still failed")
    with Memory.open(tmp_path) as again:
        assert {*known} <= {record.id for record in again.list()}
        assert again.admin.verify(deep=True).ok


def test_an_interrupted_write_leaves_what_was_acknowledged_readable(tmp_path: Path) -> None:
    seam = Failing()
    with opened(tmp_path, seam) as memory:
        memory.remember("opened")
        known = [memory.remember(f"acknowledged {number}").id for number in range(5)]
        seam.error = KeyboardInterrupt()
        with pytest.raises(KeyboardInterrupt):
            memory.remember("interrupted")
        seam.error = None
        assert {*known} <= {record.id for record in memory.list()}
        memory.remember("and on")
        assert memory.admin.verify(deep=True).ok
        assert memory.admin.digest() == rebuilt_digest(memory.admin)


@pytest.mark.parametrize("statement", ["begin_write", "commit"])
def test_a_fold_that_fails_once_is_made_good_by_the_read(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    record = memory.remember("acknowledged")
    real, times = SqliteDb.run, [1]

    def run(self: SqliteDb, name: str) -> None:
        if name == statement and times:
            times.pop()
            raise sqlite3.OperationalError("disk I/O error")
        real(self, name)

    monkeypatch.setattr(SqliteDb, "run", run)
    assert memory.get(record.id) == record
    assert times == []
    assert memory.admin.verify(deep=True).ok


def test_a_fold_that_keeps_failing_makes_reads_fail(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read that says "not here" about what was acknowledged would be worse."""
    record = memory.remember("acknowledged")
    real = SqliteDb.run

    def run(self: SqliteDb, name: str) -> None:
        if name == "begin_write":
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error
        real(self, name)

    with monkeypatch.context() as patch:
        patch.setattr(SqliteDb, "run", run)
        with pytest.raises(Unavailable, match="disk is full"):
            memory.get(record.id)
    assert memory.get(record.id) == record


def test_an_index_that_is_deleted_meanwhile_is_built_again(memory: Memory, tmp_path: Path) -> None:
    known = [memory.remember(f"acknowledged {number}").id for number in range(5)]
    (tmp_path / "index.db").unlink()
    known.append(memory.remember("without an index").id)
    (tmp_path / "index.db").unlink(missing_ok=True)
    assert [record.id for record in memory.list(limit=6)] == known[::-1]
    assert memory.admin.verify(deep=True).ok


def folded_elsewhere(folder: Path) -> bool:
    """Another handle folds the waiting rows first; then one of them is needed. True if all is well.

    The ledger is put back as it was, in time too: catching up writes its end again in place.
    """
    with opened(folder) as memory, Memory.open(folder) as other:
        memory.remember("opened")
        record = memory.remember("said twice")
        before = os.stat(folder / "events.wal")
        assert other.get(record.id) == record
        os.utime(folder / "events.wal", ns=(before.st_atime_ns, before.st_mtime_ns))
        assert waiting(memory) == 1
        assert memory.remember("said twice").id == record.id
        return memory.admin.verify(deep=True).ok


def test_rows_that_something_else_has_folded_are_dropped(tmp_path: Path) -> None:
    assert folded_elsewhere(tmp_path)


# A process that ends without a word, and what the next one does.


KILLED = """
import sys, os, signal
from recollect import Memory
from recollect.store.files.ledger import quiet
quiet.soon = lambda memory: True
memory = Memory.open(sys.argv[1])
memory.remember("opened")
for number in range(40):
    print(memory.remember(f"acknowledged {number}").id, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(folder: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder)], stdout=subprocess.PIPE, text=True, check=False
    )
    assert done.returncode == -signal.SIGKILL
    return done.stdout.split()


def test_a_killed_process_leaves_an_index_that_catches_up(tmp_path: Path, walks: list[int]) -> None:
    known = killed(tmp_path)
    assert (lines(tmp_path), folded(tmp_path)) == (42, 2)
    with Memory.open(tmp_path) as memory:
        assert [record.id for record in memory.list(limit=40)] == known[::-1]
        assert walks == []  # the lock says how the process left the ledger
        assert memory.admin.verify(deep=True).ok


def test_the_control_without_the_note_the_whole_ledger_is_walked(
    tmp_path: Path, walks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    killed(tmp_path)
    monkeypatch.setattr(Lock, "note", lambda self: "")
    with Memory.open(tmp_path) as memory:
        assert len(memory.list(limit=40)) == 40
        assert walks == [1]


def test_a_change_from_outside_is_noticed_in_spite_of_the_note(tmp_path: Path) -> None:
    killed(tmp_path)
    ledger = tmp_path / "events.wal"
    ledger.write_bytes(ledger.read_bytes().replace(b"acknowledged 7", b"acknowledged 8"))
    with Memory.open(tmp_path) as memory, pytest.raises(RecollectError, match="event 10"):
        memory.list()


def test_two_handles_that_take_turns_walk_nothing(tmp_path: Path, walks: list[int]) -> None:
    with opened(tmp_path) as one, opened(tmp_path) as two:
        for number in range(5):
            for memory in (one, two):
                for part in range(3):
                    memory.remember(f"{number} {part} {memory is one}")
        assert len(one.list()) == 30
        assert two.admin.verify(deep=True).ok
    assert walks == []


@pytest.mark.parametrize("data", [b"of a person\n", b"1234" + b" " * 16 + b"\nof a person\n"])
def test_a_file_that_is_not_a_lock_gets_no_note(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "ledger.lock").write_bytes(data)
    with opened(tmp_path) as memory:
        for number in range(3):
            memory.remember(f"number {number}")
        assert memory.admin.verify(deep=True).ok
    assert (tmp_path / "ledger.lock").read_bytes() == data


def test_a_forked_child_has_no_rows_of_its_parent(memory: Memory, tmp_path: Path) -> None:
    known = [memory.remember(f"before {number}").id for number in range(3)]
    pid = os.fork()
    if pid == 0:
        try:
            files = files_of(memory)
            fine = files.backlog is None and files.fold_if_free()
            memory.close()
            with opened(tmp_path) as mine:
                fine &= {*known} <= {record.id for record in mine.list()}
                mine.remember("by the child")
            os._exit(0 if fine else 1)
        finally:
            os._exit(2)
    assert os.waitpid(pid, 0)[1] == 0
    known.append(memory.remember("after").id)
    assert {*known} <= {record.id for record in memory.list()}
    assert memory.admin.verify(deep=True).ok


# The same ledger and the same rows, whether they wait or not.


class Unsynced(FixedSeam):
    """A fixed seam that does not wait for the disk."""

    def fsync(self, fd: int) -> None:
        """Does nothing."""


Act = Callable[[Memory, random.Random], object]


def told(folder: Path, seed: int, count: int, act: Act) -> tuple[bytes, str]:
    """A random history without reads in between: its ledger and its digest."""
    rng = random.Random(seed)
    with opened(folder, Unsynced(seed)) as memory:
        for _ in range(count):
            with suppress(RecollectError):
                act(memory, rng)
        digest = memory.admin.digest()
        assert memory.admin.verify(deep=True).ok
        assert digest == rebuilt_digest(memory.admin)
    return (folder / "events.wal").read_bytes(), digest


def one_act(memory: Memory, rng: random.Random) -> None:
    text, id = f"sentence {rng.randrange(40)}", f"r{rng.randrange(12)}"
    key = rng.choice([None, None, None, "k1", "k2"])
    match rng.randrange(20):
        case 0:
            memory.revise(id, text=text)
        case 1:
            memory.forget(id)
        case 2:
            memory.undo(id)
        case 3:
            memory.graph.link(id, f"r{rng.randrange(12)}", "relates_to")
        case 4:
            with memory.batch() as batch:
                batch.remember(text, id=id)
                batch.remember(f"{text} again")
        case 5:
            memory.remember(text, idempotency_key=f"command {rng.randrange(9)}")
        case 6:
            memory.remember(text, id=id, key=key, tags=("t",))
        case 7:
            chosen = rng.choice([None, f"m{rng.randrange(99)}"])
            memory.remember(text, id=chosen, evidence=(f"e{rng.randrange(6)}",))
        case 8:
            memory.observe(text, id=f"e{rng.randrange(6)}")
        case 9:
            memory.revise(id, tags=[rng.choice("xyz")])
        case 10:
            memory.remember(text, expect=rng.randrange(200))
        case 11 | 12:
            memory.remember(text, key=key)
        case _:
            memory.remember(f"{text} {rng.random()}")


def one_sentence(memory: Memory, rng: random.Random) -> None:
    """A sentence, mostly new and plain, with any field now and then."""
    words = [rng.choice(WORDS) for _ in range(rng.randrange(1, 9))]
    fields: dict[str, object] = {
        "key": f"k{rng.randrange(50)}",
        "about": rng.choice(["Ada", "the harbour"]),
        "kind": rng.choice(["fact", "preference"]),
        "tags": rng.sample("abc", 2),
        "data": {"n": rng.random()},
        "confidence": rng.random(),
        "evidence": (f"https://example.org/{rng.randrange(9)}",),
        "said_at": "2025-05-05",
        "valid_from": "2025-01-01",
        "is_hypothesis": rng.random() < 0.5,
        "id": f"r{rng.randrange(3_000)}",
        "idempotency_key": f"command {rng.randrange(3_000)}",
    }
    chosen = {name: fields[name] for name in fields if rng.random() < 0.01}
    memory.remember(" ".join(words), **chosen)  # type: ignore[arg-type]  # each fits its name


WORDS = (
    *"the harbour opens at seven a key lies under red stones near Ada's boat".split(),
    *("Zürich", "naïve", "東京", "Δίκη", "e\u0301", "İ", "١٢٣", "😀", "x" * 80, "\t", '"', "\\"),
)


def check_same(folder: Path, patch: pytest.MonkeyPatch, seed: int, count: int, act: Act) -> None:
    waited = told(folder / "waiting", seed, count, act)
    patch.setattr(backlog, "EVENTS_MAX_COUNT", 0)
    assert told(folder / "at once", seed, count, act) == waited


@pytest.mark.parametrize("seed", range(8))
def test_waiting_changes_neither_ledger_nor_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    check_same(tmp_path, monkeypatch, seed, 150, one_act)


@pytest.mark.ci
def test_waiting_changes_nothing_of_a_thousand_sentences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_same(tmp_path, monkeypatch, 1, 1_000, one_sentence)


@pytest.mark.nightly
def test_waiting_changes_nothing_of_a_hundred_thousand_sentences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_same(tmp_path, monkeypatch, 2, 100_000, one_sentence)
