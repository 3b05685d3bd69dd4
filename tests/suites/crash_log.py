"""An operation log of the real code: what it asked of the disk, in order.

Responsible for performing each call for real, writing it down with the identity of the file (a
name may change hands), and for dying or failing where it is told to. One ``Journal`` is one disk;
each ``Recorder`` on it is one process. What SQLite writes does not come through the seam: the
journal keeps an image of every committed state of an index instead. Leaves what a crash may make
of the log to ``crash_disk``. Invariant: a process that was killed changes nothing any more.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import msgspec

from recollect.testing.seams import FixedSeam

ROOT = 0  # the folder that is there before anything happens
INDEX = "index.db"
LOG = "index.db-wal"


class Made(msgspec.Struct, frozen=True):
    """A new file or folder, and its first name."""

    folder: int
    name: str
    ino: int
    is_folder: bool = False


class Wrote(msgspec.Struct, frozen=True):
    """Bytes at an offset."""

    ino: int
    offset: int
    data: bytes


class Sized(msgspec.Struct, frozen=True):
    """A file was cut."""

    ino: int
    size: int


class Synced(msgspec.Struct, frozen=True):
    """A file or folder was synced, or the attempt failed."""

    ino: int
    ok: bool = True
    image: bytes | None = None  # of an index that SQLite filled


class Linked(msgspec.Struct, frozen=True):
    """A further name."""

    folder: int
    name: str
    ino: int


class Renamed(msgspec.Struct, frozen=True):
    """One name in place of another, in one folder."""

    folder: int
    source: str
    target: str
    ino: int


class Gone(msgspec.Struct, frozen=True):
    """A name was taken away."""

    folder: int
    name: str


class Imaged(msgspec.Struct, frozen=True):
    """A committed state of an index."""

    ino: int
    image: bytes


class Kept(msgspec.Struct, frozen=True):
    """What an index's own log held when names around it changed hands."""

    ino: int
    data: bytes


class Acked(msgspec.Struct, frozen=True):
    """Somebody was told: all events up to ``seq`` are there, and so is this backup."""

    space: str
    seq: int
    command: str = ""
    backup: str = ""


Op = Made | Wrote | Sized | Synced | Linked | Renamed | Gone | Imaged | Kept | Acked


class Killed(BaseException):
    """The process is gone."""


class Journal:
    """One disk: its log, and which number each real file has in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.ops: list[Op] = []
        self._known = {_real(root): ROOT}
        self._last_images: dict[Path, object] = {}
        self._count = ROOT
        self._adopt(root)
        self.start = len(self.ops)  # what stands before was there already

    def _adopt(self, folder: Path) -> None:
        """Takes in what lies there, all of it durable."""
        for path in sorted(folder.iterdir()):
            if self.knows(path):
                self.ops.append(Linked(self.of(folder), path.name, self.of(path)))
                continue
            ino = self.made(path, path.stat())
            if path.is_dir():
                self._adopt(path)
            elif path.name == LOG:
                self.ops.append(Kept(ino, path.read_bytes()))
            elif path.name.startswith(INDEX):
                self.ops.append(Synced(ino, image=path.read_bytes()))
            else:
                self.ops += [Wrote(ino, 0, path.read_bytes()), Synced(ino)]
        self.ops.append(Synced(self.of(folder)))

    def made(self, path: Path, status: os.stat_result) -> int:
        """A number for a new file or folder."""
        self._count += 1
        self._known[status.st_dev, status.st_ino] = self._count
        self.ops.append(Made(self.of(path.parent), path.name, self._count, path.is_dir()))
        return self._count

    def of(self, path: Path | int) -> int:
        """The number of what stands at a path, or is open."""
        return self._known[_real(path)]

    def knows(self, path: Path | int) -> bool:
        """True if it is part of this disk."""
        return _real(path) in self._known

    def gone(self, path: Path) -> None:
        """Somebody takes a name away, not through the seam."""
        if path.exists():
            path.unlink()
            self.ops.append(Gone(self.of(path.parent), path.name))

    def look(self, *, closely: bool = False) -> None:
        """Notes every index that has committed something since the last look."""
        for path in sorted(self.root.rglob(INDEX)):
            if not self.knows(path):
                continue
            log = path.with_name(LOG)
            now = (_signature(path), _signature(log))
            if closely or self._last_images.get(path) != now:
                self._last_images[path] = now
                image = _image(path)
                if image is not None:
                    self.ops.append(Imaged(self.of(path), image))

    def log_of(self, folder: Path) -> None:
        """Notes the log of an index before names around it change hands."""
        path = folder / LOG
        if path.exists():
            if not self.knows(path):
                self.made(path, path.stat())
            self.ops.append(Kept(self.of(path), path.read_bytes()))


def _real(path: Path | int) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_dev, status.st_ino


def _signature(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _image(path: Path) -> bytes | None:
    """The last committed state; None if it does not read."""
    try:
        with closing(sqlite3.connect(path, timeout=0)) as connection:
            return connection.serialize()
    except sqlite3.Error:
        return None


class Recorder(FixedSeam):
    """One process on a journal's disk, until it is killed."""

    def __init__(
        self,
        journal: Journal,
        seed: int,
        *,
        kill_at: int = 0,  # this call, counted from 1, does not happen any more
        torn_bytes: int = 0,  # if it is a write, so many bytes still do
        fail_sync_at: Iterable[int] = (),  # these syncs of files fail
        short_at: int = 0,  # this write takes half of what it was given
        links: bool = True,  # whether the file system knows links
    ) -> None:
        super().__init__(seed)
        self.journal = journal
        self.calls = self.syncs = self.writes = 0
        self._kill_at = kill_at
        self._torn_bytes = torn_bytes
        self._fail_sync_at = frozenset(fail_sync_at)
        self._short_at = short_at
        self._links = links
        self.is_dead = False
        self._stop_before = ""  # a name that this process does not live to give

    def die_before(self, name: str) -> None:
        """Dies instead of renaming something to this."""
        self._stop_before = name

    def die_at(self, call: int, torn_bytes: int = 0) -> None:
        """Dies at a call from now on; if that is a write, after so many of its bytes."""
        self._kill_at = self.calls + call
        self._torn_bytes = torn_bytes

    def _step(self) -> None:
        if self.is_dead:
            raise Killed
        self.calls += 1
        self.journal.look()
        if self.calls == self._kill_at:
            self.is_dead = True
            if not self._torn_bytes:
                raise Killed

    def open(self, path: Path, flags: int) -> int:
        fresh = bool(flags & os.O_CREAT) and not path.exists()
        if fresh or flags & os.O_TRUNC:
            self._step()
        elif self.is_dead:
            raise Killed
        fd = super().open(path, flags)
        if fresh:
            self.journal.made(path, os.fstat(fd))
        elif flags & os.O_TRUNC:
            self.journal.ops.append(Sized(self.journal.of(fd), 0))
        return fd

    def pwrite(self, fd: int, data: bytes | memoryview, offset: int) -> int:
        self._step()
        self.writes += 1
        if self.is_dead:
            data = data[: self._torn_bytes]
        elif self.writes == self._short_at:
            data = data[: len(data) // 2]
        taken = super().pwrite(fd, data, offset)
        self.journal.ops.append(Wrote(self.journal.of(fd), offset, bytes(data[:taken])))
        if self.is_dead:
            raise Killed
        return taken

    def ftruncate(self, fd: int, size: int) -> None:
        self._step()
        super().ftruncate(fd, size)
        self.journal.ops.append(Sized(self.journal.of(fd), size))

    def fsync(self, fd: int) -> None:
        self._step()
        if not self.journal.knows(fd):  # a folder above the root: durable before anything began
            return
        ino = self.journal.of(fd)
        name, is_folder = _opened(fd)
        if not is_folder:
            self.syncs += 1
            if self.syncs in self._fail_sync_at:
                self.journal.ops.append(Synced(ino, ok=False))
                raise OSError(errno.EIO, "the disk did not take it")
        super().fsync(fd)
        image = os.pread(fd, os.fstat(fd).st_size, 0) if name.startswith(INDEX) else None
        self.journal.ops.append(Synced(ino, image=image))

    def link(self, source: Path, target: Path) -> None:
        self._step()
        if not self._links:
            raise OSError(errno.EPERM, "no links here")
        super().link(source, target)
        of = self.journal.of
        self.journal.ops.append(Linked(of(target.parent), target.name, of(source)))

    def replace(self, source: Path, target: Path) -> None:
        if self._stop_before == target.name:
            self.is_dead = True
        self._step()
        assert source.parent == target.parent
        if target.name == INDEX:
            self.journal.log_of(target.parent)
        super().replace(source, target)
        of = self.journal.of
        self.journal.ops.append(Renamed(of(target.parent), source.name, target.name, of(target)))

    def unlink(self, path: Path) -> None:
        self._step()
        if path.name in (INDEX, LOG):
            self.journal.log_of(path.parent)
        there = path.exists()
        super().unlink(path)
        if there:
            self.journal.ops.append(Gone(self.journal.of(path.parent), path.name))

    def rmdir(self, path: Path) -> None:
        self._step()
        parent = self.journal.of(path.parent)
        super().rmdir(path)
        self.journal.ops.append(Gone(parent, path.name))

    def mkdir(self, path: Path) -> None:
        self._step()
        fresh = not path.exists()
        super().mkdir(path)
        if fresh:
            self.journal.made(path, path.stat())


def _opened(fd: int) -> tuple[str, bool]:
    """The name a descriptor was opened under, and whether it is a folder's."""
    path = os.readlink(f"/proc/self/fd/{fd}")
    return os.path.basename(path), os.path.isdir(path)
