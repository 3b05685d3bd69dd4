"""Two real processes beside the one that holds a folder of pages: one writes, one syncs and dies.

Run as `python -m tests.suites.page_processes write` or `sync`. The writer takes one write for each
line, and answers when it was acknowledged. The other one opens nothing: for each line it forks a
process that syncs, and which is killed with SIGKILL before a change of a file that the line names,
or after some milliseconds. Invariant: whoever is said to be killed was ended by that signal.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

import msgspec

from recollect import Memory
from recollect.errors import RecollectError
from recollect.memory.handle.handle import Handle
from recollect.model.values import Synced
from recollect.store.files.space import FileSpace
from tests.suites.rendering import Unsynced

ROOT: Final = Path(__file__).resolve().parents[2]
PATIENCE_S: Final = 120.0
ELSEWHERE: Final = "written elsewhere"  # why, in the history of a record

Place = Literal["memory", "pages"]
Side = Literal["page", "memory"]


class Write(msgspec.Struct, frozen=True, kw_only=True):
    """One write of the other process."""

    where: str
    seed: int
    way: Literal["revise", "forget", "add", "tag"]
    id: str
    word: str  # nowhere else
    about: str | None


class Wrote(msgspec.Struct, frozen=True, kw_only=True):
    """The write came back, or was refused."""

    refused: str | None = None


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """Before the n-th change of the files of the memory, or of the pages."""

    place: Place
    number: int


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """A sync, and when its process is killed."""

    where: str
    folder: str
    seed: int
    point: Point | None = None
    after_s: float | None = None
    take: Side | None = None
    renders_first: bool = False  # control: the words are overwritten before they are taken over


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How a syncing process ended; what it showed, if it came so far."""

    killed: bool
    shown: list[str] = []
    error: str = ""


class Watched(Unsynced):
    """Says before each change of a file, and before each command, where it is made.

    Not before a rename or a removal: no step lies between the last look at a file and either.
    """

    def __init__(self, seed: int, folder: Path) -> None:
        super().__init__(seed)
        self._folder = folder
        self._pages = set[int]()  # descriptors
        self.before: Callable[[Place], None] = lambda place: None

    def random(self, count: int) -> bytes:
        self.before("memory")
        return super().random(count)

    def open(self, path: Path, flags: int) -> int:
        place = self._place(path)
        self.before(place)
        fd = super().open(path, flags)
        (self._pages.add if place == "pages" else self._pages.discard)(fd)
        return fd

    def pwrite(self, fd: int, data: bytes | memoryview, offset: int) -> int:
        self.before("pages" if fd in self._pages else "memory")
        return super().pwrite(fd, data, offset)

    def _place(self, path: Path) -> Place:
        return "pages" if self._folder in (path, path.parent) else "memory"


def watched(where: Path, folder: Path, seed: int, *, create: bool) -> tuple[Memory, Watched]:
    """A memory whose changes are watched."""
    seam = Watched(seed, folder)
    return Memory(Handle(FileSpace(where, "main", create=create, seam=seam), seam)), seam


def at_point(point: Point, call: Callable[[], None]) -> Callable[[Place], None]:
    """For ``Watched.before``: calls once, at that point."""
    left = point.number

    def before(place: Place) -> None:
        nonlocal left
        left -= place == point.place
        if left == 0 and place == point.place:
            call()

    return before


def shown(done: Synced) -> list[str]:
    """The ids of what a sync did not take over and says so."""
    found = [*done.conflicts, *(each.change for each in done.refused)]
    return [one.id for one in found if one.id is not None]


# --- the side of the test


class Child:
    """A process that takes and gives lines."""

    def __init__(self, what: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.suites.page_processes", what],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )

    def send(self, message: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(message) + b"\n")

    def line(self, timeout_s: float = PATIENCE_S) -> bytes | None:
        """The next line; None if it does not come in time."""
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], timeout_s)[0]:
            return None
        line = self._process.stdout.readline()
        assert line.endswith(b"\n"), f"a process ended by itself: {line!r}"
        return line

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


class Other(Child):
    """The process that writes. One write is under way at a time."""

    def __init__(self) -> None:
        super().__init__("write")

    def answer(self, timeout_s: float = PATIENCE_S) -> Wrote | None:
        line = self.line(timeout_s)
        return None if line is None else msgspec.json.decode(line, type=Wrote)


class Syncers(Child):
    """The process that forks those that sync and die."""

    def __init__(self) -> None:
        super().__init__("sync")

    def run(self, order: Order, meanwhile: Callable[[], None] | None = None) -> Ended:
        """Sync until the end or the kill; ``meanwhile`` is called when the sync begins."""
        self.send(order)
        while line := self.line():
            if line != b"began\n":
                return msgspec.json.decode(line, type=Ended)
            if meanwhile is not None:
                meanwhile()
        raise AssertionError("a sync does not end")


@contextmanager
def beside() -> Iterator[tuple[Other, Syncers]]:
    """Both processes; none is left behind."""
    children = (Other(), Syncers())
    try:
        yield children
    finally:
        for child in children:
            child.close()


# --- inside the processes


def say(line: bytes) -> None:
    """One line in one write: short enough for a pipe to keep it whole."""
    os.write(1, line + b"\n")


def write(memory: Memory, order: Write) -> Wrote:
    try:
        match order.way:
            case "revise":
                memory.revise(order.id, f"Memory {order.word}.", reason=ELSEWHERE)
            case "forget":
                memory.forget(order.id, reason=ELSEWHERE)
            case "add":
                memory.remember(f"Memory {order.word}.", about=order.about)
            case "tag":
                memory.revise(order.id, tags=[order.word])
    except RecollectError as error:
        return Wrote(refused=repr(error))
    return Wrote()


def writes() -> None:
    """One write for each line; the memory stays open until another one is named."""
    opened, memory = "", None
    for line in sys.stdin.buffer:
        order = msgspec.json.decode(line, type=Write)
        if memory is None or order.where != opened:
            if memory is not None:
                memory.close()
            seam = Unsynced(order.seed)
            space = FileSpace(Path(order.where), "main", create=False, seam=seam)
            opened, memory = order.where, Memory(Handle(space, seam))
        say(msgspec.json.encode(write(memory, order)))


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def sync(order: Order) -> Ended:
    """One sync in a memory that is opened for it."""
    folder = Path(order.folder)
    memory, seam = watched(Path(order.where), folder, order.seed, create=False)
    say(b"began")
    if order.point is not None:
        seam.before = at_point(order.point, die)
    try:
        if order.renders_first:
            memory.pages.render(folder, overwrite=True)
        done = memory.pages.sync(folder, take=order.take)
    except RecollectError as error:
        return Ended(killed=False, error=repr(error))
    finally:
        memory.close()
    return Ended(killed=False, shown=shown(done))


def forked(order: Order) -> bytes:
    """What a process said that did this; it may have been killed before."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writer, msgspec.json.encode(sync(order)))
        finally:
            os._exit(0)
    os.close(writer)
    if order.after_s is not None:
        time.sleep(order.after_s)
        os.kill(pid, signal.SIGKILL)  # it is not waited for yet, so no other process has its id
    with os.fdopen(reader, "rb") as pipe:
        told = pipe.read()
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL and not told:
        return msgspec.json.encode(Ended(killed=True))
    return told or msgspec.json.encode(Ended(killed=False, error="it ended without a word"))


def syncs() -> None:
    """A process for each line. What is loaded on first use is loaded before."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "pages"
        memory, _ = watched(Path(place) / "memory", folder, 0, create=True)
        memory.remember("warm", about="person:Alice")
        memory.pages.sync(folder)
        page = folder / "person-alice.md"
        page.write_text(page.read_text().replace("warm", "warmer"))
        memory.pages.sync(folder)
        memory.close()
    gc.collect()
    gc.freeze()
    for line in sys.stdin.buffer:
        say(forked(msgspec.json.decode(line, type=Order)))


if __name__ == "__main__":
    {"write": writes, "sync": syncs}[sys.argv[1]]()
