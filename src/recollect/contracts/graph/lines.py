"""A file of lines that only grows.

Responsible for appending a line durably and for reading those that are new. Leaves what a line
means to ``events`` and ``audit``. Invariants: what is in the file is never written again; a line
that a crash cut off stays a line of its own; a symbolic link is not followed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from recollect.errors import ConfigError, Unavailable
from recollect.store import posix
from recollect.store.disk.disk import make_folder, read_pieces, sync_folder, write_all
from recollect.store.seam import REAL, Seam

_APPEND: Final = os.O_RDWR | os.O_CREAT


class LineFile:
    """One file. ``take`` is given each new line with its number; ``restart`` comes before line 1.

    Every call holds a lock on the file, so that several processes may append.
    """

    def __init__(
        self,
        path: Path,
        take: Callable[[int, bytes], None],
        restart: Callable[[], None],
        seam: Seam = REAL,
    ) -> None:
        self.path = path
        self.tail = b""  # bytes after the last complete line
        self._take, self._restart, self._seam = take, restart, seam
        self._file: tuple[int, int] | None = None  # device and number of the file that was read
        self._offset = 0
        self._number = 0

    def refresh(self) -> None:
        """Reads what is new; a file that does not exist has no lines."""
        if self.path.exists() or self.path.is_symlink():
            with self._open(os.O_RDONLY) as fd:
                self._read(fd)
        else:
            self._begin(None)

    def append(self, make: Callable[[], bytes], *, is_lasting: bool = True) -> None:
        """Appends the line that ``make`` gives after it has seen every line before it.

        One that is not ``is_lasting`` may be lost if the machine stops.
        """
        is_new = not self.path.exists()
        if is_new:
            make_folder(self._seam, self.path.parent)
        with self._open(_APPEND) as fd:
            self._read(fd)
            if self.tail:
                self._write(fd, b"\n")
                self._read(fd)
            self._write(fd, make())
            if is_lasting:
                self._seam.fsync(fd)
            self._read(fd)
        if is_new:
            sync_folder(self._seam, self.path.parent)

    def _write(self, fd: int, data: bytes) -> None:
        write_all(self._seam, fd, data, os.fstat(fd).st_size)

    @contextmanager
    def _open(self, flags: int) -> Iterator[int]:
        try:
            fd = self._seam.open(self.path, flags | posix.NO_LINK | os.O_NONBLOCK)
        except OSError as error:
            raise Unavailable(f"{self.path} could not be opened: {error.strerror}") from error
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise ConfigError(f"{self.path} is not a file", hint="name another one")
            posix.lock(fd)
            yield fd
        except OSError as error:
            raise Unavailable(f"{self.path} could not be used: {error.strerror}") from error
        finally:
            self._seam.close(fd)

    def _begin(self, file: tuple[int, int] | None) -> None:
        self._file, self._offset, self._number, self.tail = file, 0, 0, b""
        self._restart()

    def _read(self, fd: int) -> None:
        """Takes every complete line after those that were taken before."""
        found = os.fstat(fd)
        if (found.st_dev, found.st_ino) != self._file or found.st_size < self._offset:
            self._begin((found.st_dev, found.st_ino))
        rest = b"".join(read_pieces(fd, self._offset, found.st_size))
        *lines, self.tail = rest.split(b"\n")
        self._offset += len(rest) - len(self.tail)
        for line in lines:
            self._number += 1
            self._take(self._number, line)
