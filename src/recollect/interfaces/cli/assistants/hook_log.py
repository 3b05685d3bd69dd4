"""The log of the hooks: a few hundred lines in the store's folder.

Responsible for adding a line and for the log's size. Leaves the content to ``hook``, which writes
no text of a memory into it. Invariants: at most two files of ``LOG_MAX_BYTES``; a log that cannot
be written does not stop a hook.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from recollect.store import posix
from recollect.store.disk.layout import HOOKS_LOG, LOG
from recollect.store.seam import REAL, Seam

LOG_MAX_BYTES: Final = 65_536
_LINE_MAX_CHARS: Final = 500


def write(store: Path, note: str, seam: Seam = REAL) -> None:
    """Adds a line with the present instant."""
    path = store / LOG / HOOKS_LOG
    line = f"{seam.now()} {' '.join(note.split())[:_LINE_MAX_CHARS]}\n".encode()
    with suppress(OSError):
        seam.mkdir(path.parent)
        if path.parent.is_symlink():
            return
        if path.exists() and path.stat().st_size > LOG_MAX_BYTES:
            seam.replace(path, path.with_name(f"{HOOKS_LOG}.1"))
        # Do not follow a link, and do not block on a pipe.
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | posix.NO_LINK | os.O_NONBLOCK
        fd = seam.open(path, flags)
        try:
            # With O_APPEND the system writes at the end, even if other processes write too.
            seam.pwrite(fd, line, path.stat().st_size)
        finally:
            seam.close(fd)
