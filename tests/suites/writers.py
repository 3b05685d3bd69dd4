"""Real writing processes, and what may be asked of the files they leave.

Run as `python -m tests.suites.writers write`, `read` or `fork`. A process waits for a line on its
input before it touches the workspace, so that several begin at once. Invariant: what a writer says
was acknowledged came back from a call.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from recollect import Memory
from recollect.errors import RecollectError, Unavailable
from recollect.store import sqlite
from recollect.store.files.space import FileSpace
from recollect.testing.rebuilding import rebuilt_digest

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 60.0


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a writer is to do."""

    where: str
    name: str
    count: int
    reopen_every: int = 0  # writes after which the memory is closed and opened again
    lock_name: str = FileSpace.lock_name
    patience_s: float = 0  # how long a command is sent again while the answer is Unavailable
    busy_s: float = 30
    known: list[str] = []  # ids that a reader must find


class Acknowledged(msgspec.Struct, frozen=True, kw_only=True):
    """One write that came back."""

    id: str
    text: str


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """All that a writer had to say."""

    writes: list[Acknowledged]
    retries: int = 0
    reads: int = 0
    stopped: str | None = None


def begin(order: Order, what: str = "write") -> subprocess.Popen[bytes]:
    """A writer or a reader that waits for its signal."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.suites.writers", what],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(msgspec.json.encode(order) + b"\n")
    child.stdin.flush()
    assert child.stdout.readline() == b"ready\n"
    return child


@contextmanager
def ending(child: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Leave no process behind, whatever a test comes to."""
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


def go(*children: subprocess.Popen[bytes]) -> None:
    """Give all of them the signal."""
    for child in children:
        assert child.stdin is not None
        child.stdin.write(b"go\n")
        child.stdin.flush()


def end(child: subprocess.Popen[bytes]) -> Told:
    """Wait for a writer and hear it out."""
    out, _ = child.communicate(timeout=300)
    assert child.returncode == 0, out
    return msgspec.json.decode(out.splitlines()[-1], type=Told)


def problems(where: Path, told: list[Told], *, exactly: bool, before: int = 0) -> list[str]:
    """What is wrong with a workspace, given what its writers were told; empty if all is well.

    ``before`` is the number of writes that the workspace held already.
    """
    found = [f"a process stopped: {one.stopped}" for one in told if one.stopped]
    writes = [write for one in told for write in one.writes]
    try:
        with Memory.open(where) as memory:
            check = memory.admin.verify()
            if not check.ok:
                return [*found, f"broken at {check.broken_at}: {check.problem}"]
            texts = {record.id: record.text for record in memory.list(limit=10_000)}
            lost = [write for write in writes if texts.get(write.id) != write.text]
            found += [f"{len(lost)} acknowledged writes lost"] if lost else []
            if exactly and not any(one.stopped for one in told):
                count = len(writes) + before
                found += [f"{len(texts)} records of {count}"] if len(texts) != count else []
                found += [f"{check.events} events"] if check.events != count + 1 else []
            live = memory.admin.digest()
            if rebuilt_digest(memory.admin) != live:
                found.append("a rebuild does not agree with the live index")
            if memory.admin.digest() != live:
                found.append("the rebuilt index does not agree with itself")
    except RecollectError as error:
        found.append(f"{type(error).__name__}: {error}")
    return found


# --- inside the processes


def write(order: Order) -> Told:
    """Write until the count is reached; stop at the first error that is not to be waited for."""
    FileSpace.lock_name = order.lock_name
    sqlite._BUSY_TIMEOUT_S = order.busy_s  # type: ignore[misc]  # a control waits less long
    writes: list[Acknowledged] = []
    retries = 0
    memory = Memory.open(order.where)
    try:
        for number in range(order.count):
            if order.reopen_every and number and number % order.reopen_every == 0:
                memory.close()
                memory = Memory.open(order.where)
            text = f"{order.name} says number {number}"
            deadline = time.monotonic() + order.patience_s
            while len(writes) == number:
                try:
                    record = memory.remember(text, idempotency_key=f"{order.name}-{number}")
                    writes.append(Acknowledged(id=record.id, text=text))
                except Unavailable:
                    if time.monotonic() >= deadline:
                        raise
                    retries += 1
    except RecollectError as error:
        return Told(writes=writes, retries=retries, stopped=f"{type(error).__name__}: {error}")
    finally:
        memory.close()
    return Told(writes=writes, retries=retries)


def read(order: Order, done: threading.Event) -> Told:
    """Read what is known to be there, again and again, until told to stop."""
    reads = retries = 0
    deadline = time.monotonic() + order.patience_s
    with Memory.open(order.where) as memory:
        while not done.is_set():
            try:
                for id in order.known:
                    memory.get(id)
                    reads += 1
                found = {record.id for record in memory.list(limit=10_000)}
                missing = set(order.known) - found
                if missing:
                    return Told(writes=[], stopped=f"{len(missing)} known records not listed")
                deadline = time.monotonic() + order.patience_s
            except Unavailable as error:
                if time.monotonic() >= deadline:
                    return Told(writes=[], stopped=f"Unavailable: {error}")
                retries += 1
            except RecollectError as error:
                return Told(writes=[], stopped=f"{type(error).__name__}: {error}")
    return Told(writes=[], reads=reads, retries=retries)


def fork(where: str, *, guarded: bool) -> list[str]:
    """What a child may do with a handle that its parent opened; the parent goes on after it."""
    memory = Memory.open(where)
    record = memory.remember("written before the fork")
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writer, msgspec.json.encode(inherited(memory, record.id, guarded=guarded)))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answers = msgspec.json.decode(pipe.read(), type=list[str])
    os.waitpid(pid, 0)
    memory.remember("written after the fork")
    memory.close()
    return answers


def inherited(memory: Memory, id: str, *, guarded: bool) -> list[str]:
    """Every kind of call on a handle that came through a fork: refused, or what it did."""
    if not guarded:
        memory._handle.space._files._pid = os.getpid()  # type: ignore[attr-defined]  # the guard, taken away
    calls: dict[str, Callable[[], object]] = {
        "remember": lambda: memory.remember("written by the child"),
        "get": lambda: memory.get(id),
        "list": memory.list,
        "recall": lambda: memory.recall("fork"),
        "digest": memory.admin.digest,
        "verify": memory.admin.verify,
        "rebuild": memory.admin.rebuild,
        "backup": memory.admin.backup,
        "erase": lambda: memory.erase(id),
    }
    answers: list[str] = []
    for name, call in calls.items():
        try:
            call()
            answers.append(f"{name} worked")
        except Unavailable:
            answers.append(f"{name} refused")
    return answers


def wait_for_the_end(done: threading.Event) -> None:
    while os.read(0, 4096):
        pass
    done.set()


def main(arguments: list[str]) -> None:
    if arguments[0] == "fork":
        answers = fork(arguments[1], guarded=arguments[2] == "guarded")
        sys.stdout.buffer.write(msgspec.json.encode(answers) + b"\n")
        return
    order = msgspec.json.decode(sys.stdin.buffer.readline(), type=Order)
    sys.stdout.buffer.write(b"ready\n")
    sys.stdout.buffer.flush()
    sys.stdin.buffer.readline()
    if arguments[0] == "write":
        told = write(order)
    else:
        done = threading.Event()
        threading.Thread(target=wait_for_the_end, args=(done,), daemon=True).start()
        told = read(order, done)
    sys.stdout.buffer.write(msgspec.json.encode(told) + b"\n")


if __name__ == "__main__":
    main(sys.argv[1:])
