"""Files that are files: what a folder of somebody else's may have in their place is not opened.

An archive may bring a FIFO, a socket or a device under any name, and opening one can wait for ever.
Responsible for telling them from files before and after opening. Leaves what is in a file to its
reader. Invariants: nothing here waits; what is not a regular file is never read.
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


def open_regular(path: Path | str) -> int:
    """A descriptor for reading; whatever is not a regular file is an ``OSError`` at once.

    It is looked at before it is opened, because opening a device may do something, and again
    afterwards, because another may stand there by then.
    """
    _check_mode(os.stat(path).st_mode, path)
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        _check_mode(os.fstat(fd).st_mode, path)
    except OSError:
        os.close(fd)
        raise
    return fd


def opener(path: str, flags: int) -> int:
    """For ``open(path, "rb", opener=opener)``."""
    return open_regular(path)


def read_regular(path: Path | str, at_most: int) -> bytes:
    """The first bytes of a file, ``at_most`` so many."""
    fd = open_regular(path)
    try:
        return os.pread(fd, at_most, 0)
    finally:
        os.close(fd)


def check_regular(*folders: Path) -> None:
    """Refuses folders in which something special stands in the place of a file."""
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
        return  # a link that leads nowhere
    if kind is not None:
        raise ConfigError(
            f"{path} is {kind}, not a file",
            hint="delete it if you do not know what it is for, or name another folder",
        )


def _check_mode(mode: int, path: Path | str) -> None:
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
