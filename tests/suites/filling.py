"""A memory on a disk that fills up, and the judge of what it then does.

`python -m tests.suites.filling tmpfs FOLDER 1` runs in a mount namespace of its own and mounts a
small file system on FOLDER; with 3 for 1 it tries one amount of room in three.
`python -m tests.suites.filling limit FOLDER 1` limits how long a file may get instead, which also
ends a write in the middle. Prints one `Found`. Invariant: the judge looks twice, while there is no
room and after room was made.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from recollect import Memory, Store
from recollect.errors import NotFound, RecollectError, Unavailable
from recollect.testing.rebuilding import rebuilt_digest

SIZE_KIB = 4 * 1024
PAGE = 4096
RECORDS = 60
WRITES_MAX_COUNT = 5_000
SECRET = "quillwort"
PADDING = "as many words as it takes to need a page of a disk now and then " * 20


class Found(msgspec.Struct, kw_only=True):
    """What the judge counted."""

    cases: int = 0
    refused: int = 0  # calls that ended in a clear error: there was no room
    acknowledged: int = 0
    reads: int = 0  # of what is acknowledged, while there was no room
    behind: int = 0  # cases whose last acknowledged write was in the ledger and not yet readable
    unread: int = 0  # handles opened anew without room that said so instead of answering
    problems: list[str] = []


class Case:
    """One workspace, one call, one amount of room."""

    def __init__(self, where: Path, name: str, found: Found) -> None:
        self._where = where
        self._name = name
        self._found = found
        self.acks: list[str] = []

    def blame(self, problem: str) -> None:
        self._found.problems.append(f"{self._name}: {problem}")

    def call(self, act: Callable[[Memory], object], full: Callable[[], object]) -> None:
        """The call, on a disk that is full from ``full`` on; the same handle reads afterwards."""
        with Memory.open(self._where) as memory:
            self.acks = [record.id for record in memory.list(limit=10_000)]
            full()
            try:
                act(memory)
            except Unavailable as error:
                self._found.refused += 1
                if error.hint is None:
                    self.blame(f"no hint: {error}")
            except BaseException as error:  # noqa: BLE001  # whatever else is the finding
                self.blame(f"{type(error).__name__}: {error}")
            try:
                self.read_while_full(memory, "the same handle")
            except RecollectError as error:
                self.blame(f"the same handle does not read: {type(error).__name__}: {error}")

    def read_while_full(self, memory: Memory, who: str) -> None:
        """Everything acknowledged is read, but for the last write: an index may lag by one append.

        The index needs more room than the ledger, so it is the first to fail. The next write is
        refused until the index has caught up.
        """
        missing = [id for id in self.acks if not is_there(memory, id)]
        self._found.reads += len(self.acks) - len(missing)
        self._found.behind += missing == self.acks[-1:]
        if missing not in ([], self.acks[-1:]):
            self.blame(f"{who} does not find {missing}")

    def read_anew(self) -> None:
        """Another handle, opened without room: it reads, or says that it cannot."""
        with Memory.open(self._where) as memory:
            try:
                self.read_while_full(memory, "another handle")
            except Unavailable:
                self._found.unread += 1

    def judge(self, *, secret: bool) -> None:
        """There is room again: all is there, and everything works."""
        try:
            with Memory.open(self._where) as memory:
                memory.remember("there is room again", id="after")
                missing = [id for id in self.acks if not is_there(memory, id)]
                if missing:
                    self.blame(f"lost: {missing}")
                check = memory.admin.verify()
                if not check.ok or check.problem is not None:
                    self.blame(f"verify: {check}")
                if memory.admin.digest() != rebuilt_digest(memory.admin):
                    self.blame("a rebuild does not agree with the live index")
                Store.restore_backup(memory.admin.backup().path, f"{self._where}-restored").close()
                gone = secret and not is_there(memory, "secret")
        except RecollectError as error:
            self.blame(f"the judge: {type(error).__name__}: {error}")
            return
        for path in self._where.rglob("*"):
            if gone and path.is_file() and SECRET.encode() in path.read_bytes():
                self.blame(f"erased, but in {path.relative_to(self._where)}")
        self._found.cases += 1
        self._found.acknowledged += len(self.acks)


def is_there(memory: Memory, id: str) -> bool:
    try:
        memory.get(id)
    except NotFound:
        return False
    return True


# --- the calls


def write_on(case: Case) -> Callable[[Memory], None]:
    """Until there is no room."""

    def act(memory: Memory) -> None:
        for number in range(WRITES_MAX_COUNT):
            case.acks.append(memory.remember(f"{number} {PADDING}", id=f"more-{number}").id)

    return act


def erase(case: Case) -> Callable[[Memory], None]:
    def act(memory: Memory) -> None:
        case.acks.remove("secret")
        memory.erase("secret")

    return act


def rebuild(case: Case) -> Callable[[Memory], object]:
    return lambda memory: memory.admin.rebuild()


def backup(case: Case) -> Callable[[Memory], object]:
    return lambda memory: memory.admin.backup()


CALLS: dict[str, Callable[[Case], Callable[[Memory], object]]] = {
    "write": write_on,
    "erase": erase,
    "rebuild": rebuild,
    "backup": backup,
}
PAGES = {  # how much room is left when the call begins
    "write": range(0, 200, 20),
    "erase": range(0, 120, 8),
    "rebuild": range(0, 120, 12),
    "backup": range(0, 40, 4),
}


def template(where: Path) -> None:
    with Memory.open(where) as memory:
        for number in range(RECORDS):
            memory.remember(f"{number} {PADDING}", id=f"known-{number}")
        memory.remember(f"{SECRET} {PADDING}", id="secret")
        memory.admin.backup()


# --- a small file system


def on_a_small_disk(folder: Path, one_in: int) -> Found:
    """Every call, with more and more room, until it succeeds and beyond."""
    found = Found()
    template(folder / "template")
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_KIB}k", "tmpfs", str(disk)]
    subprocess.run(mount, check=True)
    for name, call in CALLS.items():
        for pages in sorted({*PAGES[name][::one_in], PAGES[name][-1]}):
            where = disk / "space"
            shutil.copytree(folder / "template", where)
            case = Case(where, f"{name} with {pages} pages left", found)
            case.call(call(case), lambda pages=pages: leave(disk, pages))  # type: ignore[misc]
            case.read_anew()
            (disk / "ballast").unlink()
            case.judge(secret=name == "erase")
            for left in disk.iterdir():
                shutil.rmtree(left)
    return found


def leave(disk: Path, pages: int) -> None:
    """Fill the disk but for some pages."""
    status = os.statvfs(disk)
    room = status.f_bavail * status.f_frsize - pages * PAGE
    with open(disk / "ballast", "wb") as ballast:
        os.posix_fallocate(ballast.fileno(), 0, max(room, 1))


# --- a limit to how long a file may get


@contextmanager
def limited(size: int) -> Iterator[None]:
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


def under_a_limit(folder: Path, one_in: int) -> Found:
    """An append that ends at each of many bytes: before, within and after its lines."""
    found = Found()
    template(folder / "template")
    for extra in range(0, 3 * len(PADDING), 257 * one_in):
        where = folder / "space"
        shutil.copytree(folder / "template", where)
        case = Case(where, f"a ledger that may grow by {extra} bytes", found)
        size = (where / "events.wal").stat().st_size + extra
        with limited(size):
            case.call(write_on(case), lambda: None)
        case.judge(secret=False)
        for left in folder.glob("space*"):
            shutil.rmtree(left)
    return found


if __name__ == "__main__":
    how = {"tmpfs": on_a_small_disk, "limit": under_a_limit}[sys.argv[1]]
    sys.stdout.buffer.write(msgspec.json.encode(how(Path(sys.argv[2]), int(sys.argv[3]))) + b"\n")
