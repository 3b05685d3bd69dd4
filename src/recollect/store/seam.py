"""The seam to the outside world: clock, random bytes and changes to the disk.

Responsible for the time, for random bytes and for every change that the package makes to files
(SQLite writes the index itself). So a test can record every change of the real code, replay a run
from a seed, and build each state that a crash could leave. Reads do not go through it, because a
crash does not affect them. Invariant: no other module reads the clock, uses chance or changes a
file or folder.
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

    _second: tuple[int, str] = (0, "1970-01-01T00:00:00.")  # the last second, formatted

    def now(self) -> str:
        """The current instant."""
        second, us = divmod(time.time_ns() // 1_000, 1_000_000)
        known, text = self._second
        if second != known:
            text = from_microseconds(second * 1_000_000)[:20]
            self._second = second, text
        return f"{text}{us:06d}Z"

    def now_ns(self) -> int:
        """The current instant in nanoseconds since 1970, for traces."""
        return time.time_ns()

    def random(self, count: int) -> bytes:
        """Unpredictable random bytes."""
        return os.urandom(count)

    def tz_minutes(self) -> int:
        """This machine's offset from UTC."""
        offset = datetime.now(UTC).astimezone().utcoffset()
        return 0 if offset is None else int(offset.total_seconds() // 60)

    # Changes to the disk.

    def open(self, path: Path, flags: int) -> int:
        """A descriptor; a new file is accessible to its owner only."""
        return os.open(path, flags | os.O_CLOEXEC, 0o600)

    def pwrite(self, fd: int, data: bytes | memoryview, offset: int) -> int:
        """Writes bytes at an offset; returns how many were written."""
        return os.pwrite(fd, data, offset)

    def ftruncate(self, fd: int, size: int) -> None:
        """Cuts an open file."""
        os.ftruncate(fd, size)

    def fsync(self, fd: int) -> None:
        """Makes a file's bytes, or the names in a folder, durable."""
        os.fsync(fd)

    def close(self, fd: int) -> None:
        """Closes a descriptor."""
        os.close(fd)

    def link(self, source: Path, target: Path) -> None:
        """Gives a file a second name; symbolic links are not followed."""
        os.link(os.path.realpath(source), target)

    def replace(self, source: Path, target: Path) -> None:
        """Renames a file, replacing any file with the new name."""
        from recollect.store.posix import rename_over  # not loaded by what only reads

        rename_over(source, target)

    def chmod(self, path: Path, mode: int) -> None:
        """Sets who may read and write a file."""
        os.chmod(path, mode)

    def unlink(self, path: Path) -> None:
        """Removes a file; a missing one is not an error."""
        path.unlink(missing_ok=True)

    def rmdir(self, path: Path) -> None:
        """Removes an empty folder."""
        path.rmdir()

    def mkdir(self, path: Path) -> None:
        """Makes a folder that is accessible to its owner only."""
        path.mkdir(mode=0o700, exist_ok=True)


REAL: Final = Seam()
