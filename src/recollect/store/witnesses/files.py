"""Files in the folder of a witness, in which no link is followed.

    checkpoints/SIZE.note    each checkpoint that was cosigned
    seen/SIZE                an empty file for each of them, so that a lost note is noticed

Responsible for reading and writing them. Leaves what they say to ``store.witnesses.folder``.
Invariants: a link in the folder is an error, because its author would choose the file that is
shown or replaced; no note is written again; a size is marked only after its note is on the disk.
"""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path
from typing import Final

from recollect.store import posix
from recollect.store.disk.disk import make_folder, replace_file, write_file
from recollect.store.disk.layout import CHECKPOINTS, NOTE_SUFFIX, SEEN
from recollect.store.disk.regular_files import read_regular
from recollect.store.seam import Seam

_MOST_BYTES: Final = 1 << 21  # more than a note may have
_SIZE: Final = "(0|[1-9][0-9]{0,15})"
_NOTE: Final = re.compile(_SIZE + re.escape(NOTE_SUFFIX))
_MARK: Final = re.compile(_SIZE)


def check_no_link(root: Path, path: Path) -> None:
    """Raises ``OSError`` if something below ``root`` on the way to a path is a symbolic link."""
    for level in (path, *path.parents):
        if level == root:
            return
        if level.is_symlink():
            raise OSError(errno.ELOOP, "it is a link, and none is followed here", str(level))


def read_plain(root: Path, path: Path, at_most: int = _MOST_BYTES) -> bytes:
    """The bytes of a file below ``root``."""
    check_no_link(root, path)
    return read_regular(path, at_most, posix.NO_LINK)


def write_plain(seam: Seam, root: Path, path: Path, data: bytes) -> None:
    """Writes a file below ``root``, whose folder is made if it is missing."""
    check_no_link(root, path)
    make_folder(seam, path.parent)
    replace_file(seam, path, [data])


class Notes:
    """What a witness has cosigned of one log; every error is an ``OSError``."""

    def __init__(self, root: Path, log: Path, seam: Seam) -> None:
        self._root, self._seam = root, seam
        self._notes, self._marks = log / CHECKPOINTS, log / SEEN

    def sizes(self) -> list[int]:
        """The numbers of events for which there is a note, the smallest first."""
        return self._named(self._notes, _NOTE)

    def seen(self) -> int:
        """The largest size that was ever cosigned, as far as it was marked."""
        return max(self._named(self._marks, _MARK), default=0)

    def note(self, size: int) -> bytes:
        """The note for so many events."""
        return read_plain(self._root, self._path(size))

    def keep(self, size: int, note: bytes) -> None:
        """Keeps a note."""
        write_plain(self._seam, self._root, self._path(size), note)

    def mark(self, size: int) -> None:
        """Keeps that a note, which is on the disk, was cosigned."""
        path = self._marks / str(size)
        check_no_link(self._root, path)
        if not path.exists():
            make_folder(self._seam, self._marks)
            write_file(self._seam, path, [])

    def _path(self, size: int) -> Path:
        return self._notes / f"{size}{NOTE_SUFFIX}"

    def _named(self, folder: Path, form: re.Pattern[str]) -> list[int]:
        check_no_link(self._root, folder)
        try:
            names = [form.fullmatch(name) for name in os.listdir(folder)]
        except FileNotFoundError:
            return []
        return sorted(int(name[1]) for name in names if name is not None)
