"""A server that says nothing: its processes are stopped, or its commits wait for a standby.

Responsible for that state and for its end. Invariant: after the block the server answers again.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import psycopg

EVENT_MAX_S = 60.0


def processes(data: Path) -> list[int]:
    """The server in a folder: the one that was started first, and its children."""
    first = int((data / "postmaster.pid").read_text().split()[0])
    children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
    return [first, *map(int, children)]


@contextmanager
def halted(data: Path) -> Iterator[Callable[[], None]]:
    """Every process of a server is stopped, until the block ends or calls what it gets."""
    stopped = processes(data)

    def go_on() -> None:
        while stopped:
            os.kill(stopped.pop(), signal.SIGCONT)

    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield go_on
    finally:
        go_on()


@contextmanager
def without_standby(server: str) -> Iterator[Callable[[], None]]:
    """Every commit waits for a standby that is not there, until the block ends or calls this."""
    done = threading.Event()
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS tried (n integer)")

        def go_on() -> None:
            done.set()
            _name_standby(connection, "")

        _name_standby(connection, "nobody")
        thread = threading.Thread(target=_commit_until, args=(server, done))
        thread.start()
        try:
            until(lambda: waiting(connection) == 1)
            yield go_on
        finally:
            go_on()
            thread.join()


def waiting(connection: psycopg.Connection[Any]) -> int:
    """How many commits wait for a standby."""
    asked = "SELECT count(*)::integer FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    return int(connection.execute(asked).fetchall()[0][0])


def until(is_so: Callable[[], bool]) -> None:
    """Returns once something is so."""
    end = monotonic() + EVENT_MAX_S
    while not is_so():
        assert monotonic() < end, "it does not happen"
        sleep(0.02)


def _name_standby(connection: psycopg.Connection[Any], name: str) -> None:
    connection.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{name}'".encode())
    connection.execute("SELECT pg_reload_conf()")


def _commit_until(server: str, done: threading.Event) -> None:
    """The server takes note of the setting a little later: commits until one waits."""
    with psycopg.connect(server, autocommit=True) as connection:
        while not done.is_set():
            connection.execute("INSERT INTO tried VALUES (1)")
