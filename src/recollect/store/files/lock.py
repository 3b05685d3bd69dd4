"""The lock between processes: ``flock`` on a file that is deleted only with its space.

Responsible for taking it within a time limit, for naming the holder, for releasing it, for a note
that its holder leaves for the next one, and for telling open spaces that they are in a forked
child, where they give up their locks. Leaves how they do so and the work under a lock to
``store.files.space``. Invariants: a lock counts only if its file has the name when it is held, and
a process that held another file before is refused, so that two processes can never hold two
different locks of one ledger; SQLite connections are neither used nor closed in a process that did
not open them, as SQLite requires; the process id in it is only used for messages; the note may be
missing or old.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Protocol
from weakref import WeakSet

from recollect.errors import RecollectError, Unavailable
from recollect.store import posix
from recollect.store.seam import Seam
from recollect.store.sqlite import FileId, file_id

WAIT_S: Final = 30.0  # for writers
SHORT_WAIT_S: Final = 5.0  # for reading the bytes, and for closing
_PID_WIDTH: Final = 20
_TRIES: Final = 10  # how often the file may be deleted while waiting for it
_NOTE_WIDTH: Final = 78
_LENGTH: Final = _PID_WIDTH + 1 + _NOTE_WIDTH + 1
_READING_WORKS: Final = "wait until it is done, or end it; reading still works"
_DENIED: Final = (errno.EROFS, errno.EACCES, errno.EPERM)
_INHERITED: Final[list[object]] = []


class Locked(Unavailable):
    """Another process held the lock for longer than the time limit."""


class ReadOnly(Unavailable):
    """The folder can be read but not written."""


class Lock:
    """The lock of one space, as one process sees it."""

    def __init__(
        self,
        path: Path,
        seam: Seam,
        make_folder: Callable[[], None],
        gone: Callable[[], RecollectError],
    ) -> None:
        self._path = path
        self._name = str(path)  # converting a path takes longer than a look at it
        self._seam = seam
        self._make_folder = make_folder
        self._gone = gone
        self._id: FileId | None = None  # of the file that this process held first
        self._opening = threading.Lock()
        self._fd: int | None = None
        self._taken: int | None = None  # the descriptor of the thread that got the lock
        self._signature = (0, b"")
        self._is_signed = False

    @contextmanager
    def held(self, wait_s: float = WAIT_S) -> Iterator[None]:
        """Holds the lock; without a wait, raises ``BlockingIOError`` if it is taken."""
        fd = self.take(wait_s)
        try:
            yield
        finally:
            self.release(fd)

    def take(self, wait_s: float) -> int:
        """Takes the lock; the caller releases what it returns."""
        fd = self._current(wait_s)
        try:
            self._sign(fd)
        except BaseException:
            self.release(fd)
            raise
        return fd

    @property
    def was_held(self) -> bool:
        """True once this process has held the lock."""
        return self._id is not None

    @property
    def is_lost(self) -> bool:
        """True if the file that this process held has lost its name: it was deleted or moved."""
        return self._id is not None and file_id(self._name) != self._id

    def may_be_taken(self) -> bool:
        """False where nothing can be written: a read-only disk, or a folder of another account."""
        known = (self._path, *self._path.parents)  # a new space has no folder yet
        return os.access(next(path for path in known if os.path.exists(path)), os.W_OK)

    def _current(self, wait_s: float) -> int:
        """Takes the lock that has the name now: one that was deleted locks nothing."""
        for _ in range(_TRIES):
            try:
                fd = self._take(self._opened(), wait_s)
            except FileNotFoundError:  # dropped between two steps
                pass
            else:
                if self._is_current(fd):
                    return fd
                self.release(fd)
            if self._id is not None:
                # Its file stays open: the system could give the number of a closed one to a new
                # file, which would then be taken for it.
                raise self._gone()
            self.close()
        raise Unavailable(f"{self._path} is deleted again and again", hint="stop what deletes it")

    def _is_current(self, fd: int) -> bool:
        """True if a descriptor is of the file that has the name, and that was held before."""
        named = file_id(self._name)
        if self._id is None and self._fd is not None and file_id(self._fd) == named:
            self._id = named
        mine = self._id if fd == self._fd else file_id(fd)
        return mine is not None and mine == self._id == named

    def _take(self, fd: int, wait_s: float) -> int:
        try:
            posix.lock(fd, wait=False)
        except BlockingIOError:
            if wait_s <= 0:
                raise
            self._taken = self._wait(wait_s)
            return self._taken
        return fd

    def _wait(self, wait_s: float) -> int:
        """Waits for the lock in a thread: the system wakes in order, but has no time limit.

        The thread has its own descriptor, so that one that gets the lock too late releases it
        without affecting ours.
        """
        fd = self._seam.open(self._path, os.O_RDWR)
        came, given_up = threading.Event(), threading.Event()
        turn = threading.Lock()

        def queue() -> None:
            with suppress(OSError):
                posix.lock(fd)
            with turn:
                if given_up.is_set():
                    os.close(fd)
                came.set()

        threading.Thread(target=queue, name="recollect-lock", daemon=True).start()
        try:
            came.wait(wait_s)
        finally:
            with turn:
                if not came.is_set():
                    given_up.set()
        if given_up.is_set():
            raise self.locked(wait_s)
        return fd

    def release(self, fd: int) -> None:
        """Releases the lock."""
        posix.unlock(fd)
        if fd == self._taken:
            self._taken = None
            self._seam.close(fd)

    def _opened(self) -> int:
        """The descriptor of the lock; makes the folder on first use."""
        fd = self._fd
        if fd is not None:
            return fd
        with self._opening:
            if self._fd is None:
                self._make_folder()
                try:
                    self._fd = self._seam.open(self._path, os.O_RDWR | os.O_CREAT)
                except OSError as error:
                    if error.errno not in _DENIED or not self._path.parent.is_dir():
                        raise
                    raise ReadOnly(
                        f"{self._path.parent} is read-only: nothing can be written ({error})",
                        hint="reading still works; to write, make the folder writable or copy it",
                    ) from error
            return self._fd

    def _sign(self, fd: int) -> None:
        """Writes this process's id for messages; a file with other contents is not changed."""
        pid = os.getpid()
        if self._signature[0] != pid:
            self._signature = pid, f"{pid:<{_PID_WIDTH}}\n".encode()
        mine = self._signature[1]
        there = os.pread(fd, _LENGTH + 1, 0)
        is_whole = len(there) in (_PID_WIDTH + 1, _LENGTH)
        self._is_signed = is_whole and there.startswith(mine)
        if self._is_signed:
            return
        if not there or (is_whole and there[: _PID_WIDTH + 1].strip().isdigit()):
            with suppress(OSError):  # a full disk must not prevent locking
                self._is_signed = self._seam.pwrite(fd, mine, 0) == len(mine)

    def leave_note(self, note: str) -> bool:
        """Leaves a line for the next holder, without a sync; False if that is not possible."""
        if self._fd is None or not self._is_signed:
            return False
        line = f"{note:<{_NOTE_WIDTH}}\n".encode()
        try:
            return self._seam.pwrite(self._fd, line, _PID_WIDTH + 1) == len(line)
        except OSError:
            return False

    def note(self) -> str:
        """The line that the last holder to leave one has left; empty if there is none."""
        if self._fd is None:
            return ""
        found = os.pread(self._fd, _NOTE_WIDTH + 1, _PID_WIDTH + 1)
        return found.decode(errors="replace").strip() if found.endswith(b"\n") else ""

    def locked(self, wait_s: float, hint: str = _READING_WORKS) -> Locked:
        """The error for a wait that was too long."""
        what = f"the memory is locked by {self._holder()}; waited {wait_s:.0f} s"
        return Locked(what, hint=hint)

    def _holder(self) -> str:
        """The process that last wrote its id, and its state."""
        with suppress(OSError, ValueError):
            pid = int(self._path.read_bytes()[: _PID_WIDTH + 1])
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                return (
                    f"process {pid}, which has ended; a process that it started may hold the lock"
                )
            except PermissionError:
                return f"process {pid}"
            return f"process {pid}{_state(pid)}"
        return "another process"

    def forget(self) -> None:
        """Called in a forked child: closes the inherited descriptor. The parent keeps its lock."""
        for fd in (self._fd, self._taken):
            if fd is not None:
                with suppress(OSError):
                    os.close(fd)
        self._fd = self._taken = None
        self._opening = threading.Lock()

    def close(self) -> None:
        """Closes the file."""
        if self._fd is not None:
            self._seam.close(self._fd)
            self._fd = None


def _state(pid: int) -> str:
    """What a process is doing, if the system tells."""
    with suppress(OSError, IndexError):
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        state = stat.rpartition(b")")[2].split()[0]
        return " (stopped)" if state in (b"T", b"t") else " (running)"
    return ""


class Forked(Protocol):
    """A space that may be open when its process forks."""

    def let_go(self) -> object:
        """Called in the child: gives up locks; returns objects that must not be closed there."""
        ...


_OPEN: Final[WeakSet[Forked]] = WeakSet()


def watch(space: Forked) -> None:
    """Releases this space in every child from now on."""
    _OPEN.add(space)


def _in_child() -> None:
    _INHERITED.extend(space.let_go() for space in list(_OPEN))


os.register_at_fork(after_in_child=_in_child)
