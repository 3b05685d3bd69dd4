"""Connections to the server, each with the role ``recollect_app``.

Responsible for opening, checking and reusing connections. Leaves transactions to
``store.postgres.entry``. Invariants: every connection has only the rights of ``recollect_app``, not
those of its login; a server that may lose acknowledged data is refused, and so is a database of
another release.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from weakref import WeakSet

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool

from recollect.errors import ConfigError
from recollect.model.values import Finding
from recollect.store.postgres import schema
from recollect.store.postgres.db import Connection, adapt, bound_waits, run

_CONNECTIONS_MAX_COUNT: Final = 8
_WAIT_S: Final = 30.0
_SAFE: Final = ("fsync", "full_page_writes")


class Pool:
    """The connections of one process to one database."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._pool: ConnectionPool[Any] = ConnectionPool(
            url,
            min_size=0,
            max_size=_CONNECTIONS_MAX_COUNT,
            timeout=_WAIT_S,
            kwargs={"autocommit": True},
            open=False,
        )
        self._fit: WeakSet[Connection] = WeakSet()

    @property
    def where(self) -> str:
        """The database, without user and password."""
        parts = conninfo_to_dict(self._url)
        return f"postgresql://{parts.get('host', '')}/{parts.get('dbname', '')}"

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection as the service's role, outside a transaction."""
        self._pool.open()
        with self._pool.connection() as connection:
            if connection not in self._fit:  # here, because the pool would retry a refusal
                _configure(connection)
                self._fit.add(connection)
            yield connection

    def findings(self) -> list[Finding]:
        """The findings of ``doctor`` about the server."""
        with self.connection() as connection:
            version = connection.info.server_version
        return [Finding(level="ok", what="server", detail=f"PostgreSQL {version // 10_000}")]

    def close(self) -> None:
        """Closes every connection."""
        self._pool.close()


def _configure(connection: Connection) -> None:
    adapt(connection)
    bound_waits(connection)
    for name in _SAFE:
        found = str(run(connection, "get_setting", {"name": name})[0][0])
        if found != "on":
            raise ConfigError(
                f"the server runs with {name} = {found}: it may lose what it acknowledged",
                hint=f"set {name} = on on the server",
            )
    for name in ("sync_commits", "see_one_space", "take_indexes"):
        run(connection, name, {})
    try:
        run(connection, "give_up_rights", {})
    except psycopg.errors.InsufficientPrivilege as error:
        raise schema.no_service(connection) from error
    schema.check(connection)
