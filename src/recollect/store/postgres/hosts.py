"""Which of several servers is the primary.

Responsible for an address that names several hosts and wants one that takes writes. The driver
takes the first, and an old primary that is still up seems to take writes too. Leaves connecting to
``store.postgres.connect``. Invariants: after a server that was promoted, none that it replaced is
used; every host is asked only while it is not known which is the newest.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from recollect.errors import RecollectError, Unavailable
from recollect.store.postgres.connect import connect
from recollect.store.postgres.db import run
from recollect.store.postgres.wait import Watched

_WANTS_WRITES: Final = ("read-write", "primary")
_REPLACED: Final = "this server was replaced by another one, and is still up"


class Hosts:
    """The servers of one address."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._each = split(url)
        self._lock = threading.Lock()
        self._newest = 0  # how often the servers changed places, as far as is known
        self._primary: str | None = None  # the address of it alone, if it is known

    def connect(self) -> Watched:
        """A connection to the server that was promoted last."""
        if not self._each:
            return connect(self._url)
        with self._lock:
            primary = self._primary
        if primary is not None:
            with suppress(RecollectError):
                return self._newest_of([primary])
        return self._newest_of(self._each)

    def forget(self) -> None:
        """The primary may be another one: a connection broke."""
        with self._lock:
            self._primary = None

    def _newest_of(self, addresses: list[str]) -> Watched:
        best: tuple[int, str, Watched] | None = None
        failed: RecollectError = Unavailable(_REPLACED, hint="stop it, and start its successor")
        for address in addresses:
            try:
                found = connect(address)
                timeline = timeline_of(found)
            except RecollectError as error:
                failed = error
                continue
            if timeline < self._newest or (best is not None and timeline <= best[0]):
                found.close()
                continue
            if best is not None:
                best[2].close()
            best = timeline, address, found
        if best is None:
            raise failed
        with self._lock:
            self._newest, self._primary = max(self._newest, best[0]), best[1]
        return best[2]


def timeline_of(connection: Watched) -> int:
    """How often a server was promoted before it had its present state; 0 if that is not known."""
    try:
        return int(str(run(connection, "timeline", {})[0][0]))
    except psycopg.Error:  # a service that hides its log
        return 0


def split(url: str) -> list[str]:
    """The address of each host, if there are several and one that takes writes is wanted."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.Error:
        return []  # who connects says what is wrong
    names = ("host", "hostaddr", "port")
    lists = {name: str(parts[name]).split(",") for name in names if parts.get(name)}
    count = max(map(len, lists.values()), default=1)
    if count < 2 or parts.get("target_session_attrs") not in _WANTS_WRITES:
        return []
    if any(len(found) not in (1, count) for found in lists.values()):
        return []
    return [
        make_conninfo(url, **{name: found[at % len(found)] for name, found in lists.items()})
        for at in range(count)
    ]
