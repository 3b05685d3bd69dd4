"""The seam to the world: clock, chance, and what the disk keeps.

Responsible for being the only place that asks the machine for the time or for random bytes, and
the only way in which the package itself changes files (SQLite writes the index through its own).
So a test can record every change the real code makes, replay a run from a seed, and build each
state a crash could leave. Reading needs no seam: a crash changes nothing about it. Invariant:
nothing else in the package has a clock, dice, or a call that changes a file or a folder.
"""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from recollect.model.instants import from_microseconds


class Seam:
    """The real world."""

    _second: tuple[int, str] = (0, "1970-01-01T00:00:00.")  # the last one asked for, spelled out

    def now(self) -> str:
        """The present instant."""
        second, us = divmod(time.time_ns() // 1_000, 1_000_000)
        known, text = self._second
        if second != known:
            text = from_microseconds(second * 1_000_000)[:20]
            self._second = second, text
        return f"{text}{us:06d}Z"

    def random(self, count: int) -> bytes:
        """Bytes nobody can guess."""
        return os.urandom(count)

    def tz_minutes(self) -> int:
        """This machine's offset from UTC."""
        offset = datetime.now(UTC).astimezone().utcoffset()
        return 0 if offset is None else int(offset.total_seconds() // 60)

    # What the disk keeps.

    def open(self, path: Path, flags: int) -> int:
        """A descriptor; a file that this makes is its owner's alone."""
        return os.open(path, flags | os.O_CLOEXEC, 0o600)

    def pwrite(self, fd: int, data: bytes | memoryview, offset: int) -> int:
        """Writes bytes at an offset; returns how many the system took."""
        return os.pwrite(fd, data, offset)

    def ftruncate(self, fd: int, size: int) -> None:
        """Cuts an open file."""
        os.ftruncate(fd, size)

    def fsync(self, fd: int) -> None:
        """A file's bytes, or the names in a folder, are on the disk when this returns."""
        os.fsync(fd)

    def close(self, fd: int) -> None:
        """Lets go of a descriptor."""
        os.close(fd)

    def link(self, source: Path, target: Path) -> None:
        """A second name for a file, not for a symbolic link that leads to it."""
        os.link(os.path.realpath(source), target)

    def replace(self, source: Path, target: Path) -> None:
        """Another name for a file, in the place of whatever has that name."""
        os.replace(source, target)

    def chmod(self, path: Path, mode: int) -> None:
        """Who may read and write a file."""
        os.chmod(path, mode)

    def unlink(self, path: Path) -> None:
        """Takes a name away; that it is gone already is fine."""
        path.unlink(missing_ok=True)

    def mkdir(self, path: Path) -> None:
        """A folder for its owner alone."""
        path.mkdir(mode=0o700, exist_ok=True)


REAL: Final = Seam()
