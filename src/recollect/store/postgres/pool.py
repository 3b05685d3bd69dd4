"""Connections to the server.

Responsible for checking connections, for using them again and for what the server says about
itself. Leaves opening one to ``store.postgres.connect``. Invariants: a server that may lose
acknowledged data is refused, and so is a database of another release; nothing runs in the
background.

The driver's own pool connects in threads of its own, where it tries again and again: a wrong
password would be known only after its time limit, without the reason.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from time import monotonic
from typing import Final, NamedTuple

import msgspec
import psycopg
from psycopg.pq import TransactionStatus

from recollect.errors import ConfigError, Unavailable
from recollect.index.rows import Row
from recollect.model.values import Finding
from recollect.store.figures import timed
from recollect.store.postgres import schema
from recollect.store.postgres.connect import where
from recollect.store.postgres.db import Connection, as_ours, is_write, run, set_up
from recollect.store.postgres.hosts import Hosts

_CONNECTIONS_MAX_COUNT: Final = 8
_WRITERS_MAX_COUNT: Final = 6  # so that reads go on while writes wait for locks or a standby
_WAIT_S: Final = 10.0  # for one that another thread uses
_IDLE_MAX_S: Final = 300.0  # longer than that, and something between here and the server may end it
_READ_ONLY = Finding(
    level="problem",
    what="server",
    detail="it takes no writes: default_transaction_read_only is on",
    fix="providers turn that on when a disk is nearly full: give it more room, then turn it off",
)


class Pool:
    """The connections of one process to one database."""

    def __init__(self, url: str, *, may_make: bool = True) -> None:
        self.url = url  # with its password
        self._may_make = may_make  # the schema of an empty database
        self._hosts = Hosts(url)
        self._free = threading.BoundedSemaphore(_CONNECTIONS_MAX_COUNT)
        self._free_to_write = threading.BoundedSemaphore(_WRITERS_MAX_COUNT)
        self._lock = threading.Lock()
        self._idle: list[tuple[float, Connection]] = []  # since when; the newest last
        self._mine = threading.local()  # the connection that a thread has already
        self._closed = False
        self._given_up = threading.Event()
        self._pid = os.getpid()

    @property
    def where(self) -> str:
        """The database, without user and password."""
        return where(self.url)

    @contextmanager
    def connection(self, *, writes: bool = False) -> Iterator[Connection]:
        """A connection. A thread that has one gets the same: it must not wait for a second one."""
        if os.getpid() != self._pid:
            raise Unavailable("this memory is closed", hint="open it again")
        held: Connection | None = getattr(self._mine, "connection", None)
        if held is not None:
            yield held
            return
        with self._room(writes):
            connection = self._take() or self._open()
            self._mine.connection = connection
            try:
                yield connection
            finally:
                self._mine.connection = None
                self._keep(connection)

    @contextmanager
    def _room(self, writes: bool) -> Iterator[None]:
        """One of the connections that are allowed; writers leave some to readers."""
        with ExitStack() as held:
            with timed("pool"):
                end = monotonic() + _WAIT_S
                for each in (self._free_to_write, self._free) if writes else (self._free,):
                    if not each.acquire(timeout=max(0.0, end - monotonic())):
                        raise Unavailable(
                            f"all {_CONNECTIONS_MAX_COUNT} connections of this process, or all "
                            f"{_WRITERS_MAX_COUNT} of those that may write, are in use",
                            hint="try again; make fewer calls at the same time",
                        )
                    held.callback(each.release)
            yield

    @contextmanager
    def transaction(self, *, is_still: bool = False) -> Iterator[Connection]:
        """A connection in a transaction, perhaps one that sees one state and writes nothing."""
        try:
            with self.connection(writes=not is_still) as connection, connection.transaction():
                if is_still:
                    run(connection, "stand_still", {})
                yield connection
        except psycopg.Error as error:
            raise as_ours(error) from error

    def ask(self, name: str, params: Mapping[str, object]) -> list[Row]:
        """Runs one statement; what it changes is durable then. Errors are converted."""
        try:
            with self.connection(writes=is_write(name)) as connection:
                return run(connection, name, params)
        except psycopg.Error as error:
            raise as_ours(error) from error

    def findings(self) -> list[Finding]:
        """The findings of ``doctor`` about the server."""
        (row,) = self.ask("server_state", {})
        return findings(msgspec.convert(row, State))

    def give_up(self) -> None:
        """Ends every wait for the server at once, because the process ends."""
        self._closed = True
        self._given_up.set()

    def close(self) -> None:
        """Closes every connection; one that is in use is closed after its use."""
        if os.getpid() != self._pid:
            return  # closing in a forked child would end what the parent uses
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for _, connection in idle:
            connection.close()

    def _open(self) -> Connection:
        if self._closed:
            raise Unavailable("this memory is closed", hint="open it again")
        connection = self._hosts.connect()
        connection.is_given_up = self._given_up.is_set
        try:
            _configure(connection, self.url, may_make=self._may_make)
        except BaseException:
            connection.close()
            raise
        return connection

    def _take(self) -> Connection | None:
        """The connection that was used last; those that were idle for too long are closed."""
        oldest = monotonic() - _IDLE_MAX_S
        with self._lock:
            stale = [connection for since, connection in self._idle if since < oldest]
            self._idle = [each for each in self._idle if each[0] >= oldest]
            found = self._idle.pop()[1] if self._idle else None
        for connection in stale:
            connection.close()
        return found

    def _keep(self, connection: Connection) -> None:
        """Keeps a connection for the next use, unless it broke or is still busy.

        If it broke, the server may have restarted or fallen silent, so the others are closed as
        well: nobody waits for one after the other.
        """
        drop = [connection]
        with self._lock:
            if connection.broken:
                self._hosts.forget()
                drop += [idle for _, idle in self._idle]
                self._idle = []
            elif connection.info.transaction_status == TransactionStatus.IDLE and not self._closed:
                self._idle.append((monotonic(), connection))
                return
        for each in drop:
            each.close()


def _configure(connection: Connection, url: str, *, may_make: bool) -> None:
    """Time limits and durability; refuses a server or a database that this cannot work with."""
    found = set_up(connection)
    for name, value in (("fsync", found.fsync), ("full_page_writes", found.full_page_writes)):
        if value != "on":
            raise ConfigError(
                f"the server runs with {name} = {value}: it may lose what it acknowledged",
                hint=f"set {name} = on on the server",
            )
    for name, value, wanted in (
        ("synchronous_commit", found.synchronous_commit, ("on", "remote_apply")),
        ("default_transaction_isolation", found.isolation, ("read committed",)),
    ):
        if value not in wanted:  # else it was set
            raise ConfigError(
                f"this login has {name} = {value}, which cannot be changed behind a pooler",
                hint=f"give the login {name} = {wanted[0]} on the server, then let the pooler "
                "connect again",
            )
    if not found.has_schema and may_make:
        if found.is_standby:
            raise Unavailable(
                "this server is a standby, and its database does not contain a memory yet",
                hint="use the address of the primary once, or wait for the standby",
            )
        schema.prepare(url)
    schema.check(connection)


class State(NamedTuple):
    """What the server was asked."""

    version: int
    size_bytes: int
    is_standby: bool
    is_read_only: bool
    is_applied: bool  # a standby has applied everything that it received
    behind_s: float | None  # how old the last change is that a standby has applied


def findings(state: State) -> list[Finding]:
    """The server, and what an operator should know about it."""
    size = f"{state.size_bytes / 1_048_576:,.0f} MiB in this database"
    detail = f"PostgreSQL {state.version // 10_000}; {size}; its free disk space is not known here"
    server = Finding(level="ok", what="server", detail=detail)
    if state.is_standby:
        return [server, _standby(state)]
    if state.is_read_only:
        return [server, _READ_ONLY]
    return [server]


def _standby(state: State) -> Finding:
    last = "none yet" if state.behind_s is None else f"{max(state.behind_s, 0):,.1f} s ago"
    applied = "all that it received is applied" if state.is_applied else "it applies older changes"
    return Finding(
        level="note",
        what="standby",
        detail=f"this server answers reads only; {applied}; its last change was made {last}",
        fix="if the primary is written more often than that, look at pg_stat_replication there",
    )
