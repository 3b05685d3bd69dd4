"""The active file of a ledger: the only module that writes its bytes.

Responsible for appending, cutting, replacing and reading ``events.wal`` so that a crash at any
moment leaves a valid state. Leaves who may call it, and when, to ``store.files.space`` (always
under the lock). Invariants: bytes are acknowledged only after a full write and fsync; a failed
fsync is never tried again.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from recollect.errors import ConfigError
from recollect.ledger.erasure import lines_of
from recollect.ledger.line import seq_of
from recollect.store.disk.disk import read_pieces, sync_folder, write_all, write_file
from recollect.store.disk.layout import MOVED
from recollect.store.figures import timed
from recollect.store.files.ledger.backlog import close_or_keep
from recollect.store.seam import REAL, Seam
from recollect.store.sqlite import FileId

_BACK_STEP_BYTES: Final = 4096
FRONT_MAX_BYTES: Final = 1024  # longer than any header


def moved(folder: Path) -> ConfigError:
    """The error for a memory that was moved away."""
    return ConfigError(
        f"the memory in {folder} was moved into the git folder of its repository",
        hint="open it again without naming a folder, or name .git/recollect",
    )


class ActiveFile:
    """``events.wal`` of one space, opened."""

    def __init__(self, path: Path, seam: Seam = REAL) -> None:
        self.path = path
        self._seam = seam
        self._fd = seam.open(path, os.O_RDWR | os.O_CREAT)
        if os.pread(self._fd, len(MOVED), 0) == MOVED:
            seam.close(self._fd)
            raise moved(path.parent)
        # The process that made or renamed it may have been stopped before its name was durable.
        sync_folder(seam, path.parent)
        status = os.fstat(self._fd)
        self.file_id: FileId = (status.st_dev, status.st_ino)

    @property
    def size(self) -> int:
        """The current length of the file."""
        return os.fstat(self._fd).st_size

    def append(self, data: bytes, offset: int) -> None:
        """One write and one fsync: the commit point."""
        written = self._seam.pwrite(self._fd, data, offset)
        if written != len(data):
            raise OSError(errno.ENOSPC, "only a part of the append was written to the disk")
        with timed("fsync"):
            self._seam.fsync(self._fd)

    def pieces(self, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """The bytes between two offsets."""
        return read_pieces(self._fd, start, self.size if end is None else end)

    def settle(self, start: int) -> None:
        """Makes bytes durable that another writer may not have synced.

        Linux marks pages as clean after a failed fsync, so another fsync alone would prove
        nothing: the bytes are written again, in place, and then synced.
        """
        offset = start
        for piece in self.pieces(start):
            write_all(self._seam, self._fd, piece, offset)
            offset += len(piece)
        self._seam.fsync(self._fd)

    def cut(self, end: int, aside: Path) -> int:
        """Copies the bytes after ``end`` to another file, then cuts them off."""
        count = write_file(self._seam, aside, self.pieces(end))
        self._seam.ftruncate(self._fd, end)
        self._seam.fsync(self._fd)
        return count

    def take_back(self, end: int) -> None:
        """Cuts off bytes that were never acknowledged."""
        self._seam.ftruncate(self._fd, end)
        self._seam.fsync(self._fd)

    def first_line(self) -> bytes | None:
        """The first line without its newline; None if the file is empty."""
        return next((raw[:-1] for raw in lines_of(self.pieces()) if raw[-1:] == b"\n"), None)

    def first_seq(self) -> int | None:
        """The seq of the first event of the file; None if it cannot be read."""
        return seq_of(os.pread(self._fd, FRONT_MAX_BYTES, 0))

    def end_of(self, seq: int) -> tuple[bytes, int] | None:
        """The line of an event and its end offset; None if the file does not contain it."""
        end = 0
        for raw in lines_of(self.pieces()):
            end += len(raw)
            if raw[-1:] == b"\n" and seq_of(raw) == seq:
                return raw[:-1], end
        return None

    def line_before(self, offset: int) -> bytes:
        """The line that ends at an offset, without its newline; empty if none ends there."""
        step = _BACK_STEP_BYTES
        while True:
            start = max(0, offset - step)
            tail = os.pread(self._fd, offset - start, start)
            _, newline, line = tail[:-1].rpartition(b"\n")
            if newline or start == 0:
                return line if tail[-1:] == b"\n" else b""
            step *= 4  # a long line is read in few steps

    def close(self) -> None:
        """Closes the file."""
        close_or_keep(self.file_id, lambda: self._seam.close(self._fd))
