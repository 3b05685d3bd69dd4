"""Files that are complete under their names even after a crash.

Responsible for creating, renaming and removing files, each durable when its function returns.
Leaves which files to its callers, and the system calls to ``store.seam``. Invariants: a file gets
its name only after its bytes are on the disk; a failed fsync is never tried again.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from recollect.store import posix
from recollect.store.disk.layout import OURS, half_made, half_made_apart
from recollect.store.disk.regular_files import opener
from recollect.store.seam import Seam

PIECE_BYTES: Final = 1 << 20
# What a file system without links says.
NO_LINKS: Final = (errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS, errno.EXDEV)
_TOKEN_BYTES: Final = 8


def read_pieces(fd: int, start: int, end: int) -> Iterator[bytes]:
    """The bytes of an open file between two offsets, in pieces."""
    while start < end:
        piece = os.pread(fd, min(PIECE_BYTES, end - start), start)
        if not piece:
            return
        yield piece
        start += len(piece)


def file_pieces(path: Path) -> Iterator[bytes]:
    """The bytes of a file, up to its length when reading begins, in pieces."""
    with open(path, "rb", opener=opener) as file:
        yield from read_pieces(file.fileno(), 0, os.fstat(file.fileno()).st_size)


def write_all(seam: Seam, fd: int, data: bytes, offset: int) -> None:
    """Writes all of these bytes, in as many calls as the system needs."""
    rest = memoryview(data)
    while rest:
        taken = seam.pwrite(fd, rest, offset)
        rest = rest[taken:]
        offset += taken


def write_file(seam: Seam, path: Path, pieces: Iterable[bytes], *, is_new: bool = False) -> int:
    """Writes a file; its bytes and its name are on the disk when this returns.

    If it is to be new, an existing one raises ``FileExistsError`` and is not changed.
    """
    count = 0
    # A link is not followed: its author would choose the file to overwrite.
    how = os.O_EXCL if is_new else os.O_TRUNC
    fd = seam.open(path, os.O_WRONLY | os.O_CREAT | how | posix.NO_LINK | os.O_NONBLOCK)
    try:
        for piece in pieces:
            write_all(seam, fd, piece, count)
            count += len(piece)
        seam.fsync(fd)
    finally:
        seam.close(fd)
    sync_folder(seam, path.parent)
    return count


def replace_file(
    seam: Seam,
    path: Path,
    pieces: Iterable[bytes],
    is_due: Callable[[], bool] | None = None,
    *,
    apart: bool = False,
) -> int:
    """Replaces the bytes of a file: after a crash it has all of the new ones or the old ones.

    If the path is a symbolic link, the file that it points to is replaced. ``is_due`` is asked
    right before that; if it says no, the file stays as it is and 0 is returned. ``apart`` is for
    folders that people use: no file of theirs has the name of the half-made one.
    """
    if path.is_symlink():
        path = path.resolve()
    fresh = half_made_apart(path, OURS) if apart else half_made(path)
    if fresh.is_symlink():
        seam.unlink(fresh)
    count = write_file(seam, fresh, pieces)
    if is_due is not None and not is_due():
        seam.unlink(fresh)
        return 0
    seam.replace(fresh, path)
    sync_folder(seam, path.parent)
    return count


def new_token(seam: Seam) -> str:
    """A part of a name that no person chooses."""
    return seam.random(_TOKEN_BYTES).hex()


def create_file(seam: Seam, path: Path, pieces: Iterable[bytes]) -> int:
    """Writes a file in a folder that people use; it has its name when it is whole.

    Nothing is overwritten, not even a file that appears meanwhile: ``FileExistsError``.
    """
    fresh = half_made_apart(path, new_token(seam))
    try:
        count = write_file(seam, fresh, pieces, is_new=True)
        put_new(seam, fresh, path)
    except BaseException:
        with suppress(OSError):
            seam.unlink(fresh)
        raise
    return count


def put_new(seam: Seam, fresh: Path, path: Path) -> None:
    """Gives a finished file or folder its name, unless there is something of that name."""
    try:
        if fresh.is_dir():
            raise OSError(errno.EPERM, "a folder has one name")
        seam.link(fresh, path)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from error
        seam.replace(fresh, path)
    else:
        seam.unlink(fresh)
    sync_folder(seam, path.parent)


def make_folder(seam: Seam, folder: Path) -> None:
    """Makes a folder and its missing parents, each durable under its name.

    An existing parent is synced too: the process that made it may have been stopped before that.
    """
    missing = [level for level in (folder, *folder.parents) if not level.exists()]
    there = missing[-1].parent if missing else folder
    with suppress(PermissionError):  # a folder that may not be read was not made by this process
        sync_folder(seam, there.parent)
    for level in reversed(missing):
        seam.mkdir(level)
        sync_folder(seam, level.parent)


@contextmanager
def alone(seam: Seam, folder: Path) -> Iterator[None]:
    """A lock, across threads and processes, for changing lists in a folder."""
    fd = seam.open(folder, posix.FOLDER)
    try:
        posix.lock(fd)
        yield
    finally:
        seam.close(fd)


def sync_folder(seam: Seam, folder: Path) -> None:
    """Makes the names in a folder durable."""
    fd = seam.open(folder, posix.FOLDER)
    try:
        seam.fsync(fd)
    finally:
        seam.close(fd)


def sync_file(seam: Seam, path: Path) -> None:
    """Makes the bytes of a closed file durable."""
    fd = seam.open(path, os.O_RDONLY)
    try:
        seam.fsync(fd)
    finally:
        seam.close(fd)
