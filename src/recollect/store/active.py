"""The active file of a ledger: the only place that writes its bytes.

Responsible for appending, cutting, replacing and reading ``events.wal`` so that a crash at any
moment leaves a legal state. Leaves who may call it, and when, to ``store.files`` (always under
the lock). Invariants: bytes are acknowledged only after a full write and fsync; a failed fsync is
never tried again; a file's name changes hands only after its bytes are on the disk.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from recollect.store.sqlite import FileId

PIECE_BYTES: Final = 1 << 20
_BACK_STEP_BYTES: Final = 4096


class ActiveFile:
    """``events.wal`` of one space, opened."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        # Whoever made or renamed it may have been stopped before its name was durable.
        sync_folder(path.parent)
        status = os.fstat(self._fd)
        self.file_id: FileId = (status.st_dev, status.st_ino)

    @property
    def size(self) -> int:
        """How long the file is now."""
        return os.fstat(self._fd).st_size

    def append(self, data: bytes, offset: int) -> None:
        """One write and one fsync: the commit point."""
        written = os.pwrite(self._fd, data, offset)
        if written != len(data):
            raise OSError(errno.ENOSPC, "the disk took only a part of the append")
        os.fsync(self._fd)

    def pieces(self, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """The bytes between two offsets."""
        return read_pieces(self._fd, start, self.size if end is None else end)

    def settle(self, start: int) -> None:
        """Makes bytes durable that another writer may have left unsynced.

        Linux calls pages clean after a failed fsync, so a further fsync alone would prove
        nothing: the bytes are written again, in place, and then synced.
        """
        offset = start
        for piece in self.pieces(start):
            os.pwrite(self._fd, piece, offset)
            offset += len(piece)
        os.fsync(self._fd)

    def cut(self, end: int, aside: Path) -> int:
        """Copies what stands after ``end`` to another file, then cuts it off."""
        count = write_file(aside, self.pieces(end))
        os.ftruncate(self._fd, end)
        os.fsync(self._fd)
        return count

    def line_before(self, offset: int) -> bytes:
        """The line that ends at an offset, without its newline."""
        start = offset - 1
        tail = b""
        while start > 0 and b"\n" not in tail:
            step = min(_BACK_STEP_BYTES, start)
            start -= step
            tail = os.pread(self._fd, step, start) + tail
        return tail.rpartition(b"\n")[2]

    def close(self) -> None:
        """Lets go of the file."""
        os.close(self._fd)


def read_pieces(fd: int, start: int, end: int) -> Iterator[bytes]:
    """The bytes of an open file between two offsets, in pieces."""
    while start < end:
        piece = os.pread(fd, min(PIECE_BYTES, end - start), start)
        if not piece:
            return
        yield piece
        start += len(piece)


def write_file(path: Path, pieces: Iterable[bytes]) -> int:
    """A new file with these bytes, on the disk under its name when this returns."""
    count = 0
    with open(path, "wb", opener=_private) as file:
        for piece in pieces:
            file.write(piece)
            count += len(piece)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(path.parent)
    return count


def replace_file(path: Path, pieces: Iterable[bytes]) -> int:
    """Puts other bytes under a name: all of them or, after a crash, the old ones."""
    fresh = path.with_name(path.name + ".new")
    count = write_file(fresh, pieces)
    os.replace(fresh, path)
    sync_folder(path.parent)
    return count


def make_folder(folder: Path) -> None:
    """A folder, and those above it, each durable under its name."""
    missing = [level for level in (folder, *folder.parents) if not level.exists()]
    for level in reversed(missing):
        level.mkdir(mode=0o700, exist_ok=True)
        sync_folder(level.parent)


def sync_folder(folder: Path) -> None:
    """Makes names in a folder durable."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)
