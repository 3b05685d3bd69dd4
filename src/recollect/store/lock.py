"""The lock between processes: ``flock`` on a file that is never deleted.

Responsible for taking it and letting it go. Leaves what is done under it to ``store.files``.
Invariant: the file keeps its name and its inode, so that two processes can never hold two
different locks.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from recollect.store.seam import Seam


class Lock:
    """The lock of one space, as one process sees it."""

    def __init__(self, path: Path, seam: Seam, make_folder: Callable[[], None]) -> None:
        self._path = path
        self._seam = seam
        self._make_folder = make_folder
        self._opening = threading.Lock()
        self._fd: int | None = None

    @contextmanager
    def held(self, *, wait: bool) -> Iterator[None]:
        """Holds the lock; without ``wait`` one that is taken is a ``BlockingIOError``."""
        fd = self._opened()
        fcntl.flock(fd, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            yield
        finally:
            fcntl.flock(fd, fcntl.LOCK_UN)

    def _opened(self) -> int:
        """The lock's descriptor; the folder is made on first use."""
        with self._opening:
            if self._fd is None:
                self._make_folder()
                self._fd = self._seam.open(self._path, os.O_RDWR | os.O_CREAT)
            return self._fd

    def close(self) -> None:
        """Lets go of the file."""
        if self._fd is not None:
            self._seam.close(self._fd)
            self._fd = None
