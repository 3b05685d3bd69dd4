"""The checkpoints of a ledger in files: ``checkpoints/SIZE.note``.

Responsible for these files. Leaves what they say to ``recollect.proof``, and which of them count to
``store.checkpoints.checkpoints``. Invariant: a note has its name only when it is complete.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from recollect.errors import NotFound
from recollect.store.disk.disk import make_folder, replace_file
from recollect.store.disk.layout import CHECKPOINTS, FRONTIER, NOTE_SUFFIX
from recollect.store.disk.regular_files import read_regular
from recollect.store.seam import Seam
from recollect.store.sqlite import as_ours

_NAME: Final = re.compile(rf"(0|[1-9][0-9]{{0,15}}){re.escape(NOTE_SUFFIX)}")
_MOST_BYTES: Final = 1 << 21  # more than a note may have


class FileCheckpoints:
    """Notes in a folder."""

    keeps = True

    def __init__(self, folder: Path, seam: Seam) -> None:
        self._folder = folder / CHECKPOINTS
        self._seam = seam

    def sizes(self) -> list[int]:
        """The numbers of events for which there is a note, the smallest first."""
        try:
            with os.scandir(self._folder) as entries:
                names = [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise as_ours(error) from error
        found = (_NAME.fullmatch(name) for name in names)
        return sorted(int(name[1]) for name in found if name is not None)

    def note(self, size: int) -> bytes:
        """The note for so many events."""
        path = self._path(size)
        try:
            return read_regular(path, _MOST_BYTES)
        except FileNotFoundError as error:
            raise NotFound(f"no checkpoint was signed at {size} events") from error
        except OSError as error:
            raise as_ours(error) from error

    def keep(self, size: int, note: bytes) -> None:
        """Keeps a note, in place of another one of the same size."""
        self._write(self._path(size), note)

    def frontier(self) -> bytes | None:
        """What ``keep_frontier`` was given last, if it is still there."""
        try:
            return read_regular(self._folder / FRONTIER, _MOST_BYTES)
        except OSError:
            return None

    def keep_frontier(self, data: bytes) -> None:
        """Keeps where the next checkpoint continues."""
        self._write(self._folder / FRONTIER, data)

    def _path(self, size: int) -> Path:
        return self._folder / f"{size}{NOTE_SUFFIX}"

    def _write(self, path: Path, data: bytes) -> None:
        try:
            make_folder(self._seam, self._folder)
            if path.is_symlink():  # a folder from elsewhere must not choose what is written
                self._seam.unlink(path)
            replace_file(self._seam, path, [data])
        except OSError as error:
            raise as_ours(error) from error
