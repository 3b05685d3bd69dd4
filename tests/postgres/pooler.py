"""PgBouncer in front of a server, in transaction mode, if it is installed.

Responsible for starting it and for its end. Invariant: it has fewer connections to the server than
the clients of a test have to it, so that they take turns.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from benchmarks.server import Server
from tests.postgres.halting import until

PROGRAM: Final = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
SERVER_CONNECTIONS_COUNT: Final = 2
_SETTINGS: Final = """
[databases]
* = host={host} port={port} user={user}

[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = {folder}
auth_type = any
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 200
ignore_startup_parameters = extra_float_digits
"""


@contextmanager
def pooled(server: Server, program: str) -> Iterator[str]:
    """The address of a pooler; its databases are those of the server."""
    parts = conninfo_to_dict(server.get_uri())
    folder = Path(tempfile.mkdtemp(prefix="pooler-"))
    settings = folder / "settings.ini"
    settings.write_text(
        _SETTINGS.format(
            host=parts["host"],
            port=parts.get("port", 5432),
            user=parts.get("user", "postgres"),
            folder=folder,
            size=SERVER_CONNECTIONS_COUNT,
        )
    )
    folder.chmod(0o777)  # it refuses to run as the account that tests often have
    words = [program, "-q", str(settings)]
    process = subprocess.Popen(words, user=server.system_user, stderr=subprocess.DEVNULL)
    address = make_conninfo(server.get_uri(), host=str(folder), port=6432)
    try:
        until(lambda: _answers(address))
        yield address
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _answers(address: str) -> bool:
    try:
        psycopg.connect(address).close()
    except psycopg.OperationalError:
        return False
    return True
