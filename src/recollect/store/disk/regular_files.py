"""Opening regular files only: a folder from elsewhere may contain something else.

An archive may contain a FIFO, a socket or a device under any name, and opening one can block
forever. Responsible for telling them from files before and after opening. Leaves the contents to
the reader. Invariants: nothing here blocks; only regular files are read.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

from recollect.errors import ConfigError

_KINDS: Final = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def open_regular(path: Path | str, flags: int = 0) -> int:
    """A descriptor for reading; raises ``OSError`` if it is not a regular file.

    ``flags`` are added to those for opening: ``posix.NO_LINK`` refuses a symbolic link.

    Checked before opening, because opening a device may have an effect, and again afterwards,
    because the file may have been replaced in between.
    """
    _check_mode(os.stat(path).st_mode, path)
    fd = os.open(path, flags | os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        _check_mode(os.fstat(fd).st_mode, path)
    except OSError:
        os.close(fd)
        raise
    return fd


def opener(path: str, flags: int) -> int:
    """For ``open(path, "rb", opener=opener)``."""
    return open_regular(path)


def read_regular(path: Path | str, at_most: int, flags: int = 0) -> bytes:
    """The first bytes of a file, at most ``at_most``."""
    fd = open_regular(path, flags)
    try:
        # Not more than there is: the system is asked for that much memory first.
        return os.pread(fd, min(at_most, os.fstat(fd).st_size), 0)
    finally:
        os.close(fd)


def check_regular(*folders: Path) -> None:
    """Refuses a folder that contains anything but a regular file under a name that is opened."""
    for place in folders:
        if not place.is_dir():
            continue
        with os.scandir(place) as entries:
            for entry in entries:
                if not entry.is_file() and not entry.is_dir():
                    _check_special(Path(entry.path))


def _check_special(path: Path) -> None:
    try:
        kind = _KINDS.get(stat.S_IFMT(os.stat(path).st_mode))
    except OSError:
        return  # a dangling link
    if kind is not None:
        raise ConfigError(
            f"{path} is {kind}, not a file",
            hint="delete it if you do not know what it is for, or name another folder",
        )


def _check_mode(mode: int, path: Path | str) -> None:
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
