"""Named statements on a server.

Responsible for running them and for the errors of the driver. Leaves connections to
``store.postgres.pool``. Invariant: the text of a statement comes only from the `.sql` files; every
value of a caller is a bound parameter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import psycopg
from psycopg.types.numeric import Int8Dumper

from recollect.errors import Forbidden, IntegrityError, InvalidInput, RecollectError, Unavailable
from recollect.index.rows import Row
from recollect.store.postgres.wait import ANSWER_MAX_S, LOCK_MAX_S, Lost, Watched

Connection = psycopg.Connection[Any]

_HERE: Final = Path(__file__).parent / "sql"
_NAMED: Final = re.compile(r"(?<!:):([a-z][a-z0-9_]*)")
_BINARY: Final = re.compile(r"(?<!:):([a-z][a-z0-9_]*)(?=::bytea\[\])")
_OUR_MISUSE: Final = (psycopg.ProgrammingError, psycopg.InterfaceError, psycopg.NotSupportedError)
_STOPPED: Final = (psycopg.errors.AdminShutdown, psycopg.errors.CrashShutdown)

# What may wait for a standby or a lock; a cache and a note about who reads do not.
_CACHING: Final = "keep_snapshot|keep_block|keep_cache_key|hold|let_go|has_keys"
_WRITES: Final = re.compile(
    r"^\s*(?:INSERT|UPDATE|DELETE)|\bFOR (?:UPDATE|KEY SHARE)"
    rf"|\bSELECT recollect\.(?!(?:{_CACHING})\()",
    re.MULTILINE,
)
_MIB: Final = 1 << 20
_LONG: Final = frozenset(  # in proportion to a whole space
    {"drop_space", "erase", "last_seal", "resize", "restart"}
)

# Limits for waiting for a lock, for running a statement and for an idle transaction.
WAITS_MAX: Final = {"lock": f"{LOCK_MAX_S}s", "statement": "600s", "idle": "300s"}


def script(name: str) -> bytes:
    """A script that makes tables and functions."""
    return (_HERE / name).read_bytes()


def run(connection: Connection, name: str, params: Mapping[str, object]) -> list[Row]:
    """Runs a statement; returns all its rows."""
    with _patient(connection, name, params):
        cursor = connection.execute(_statements()[name], params, binary=True)
    return cursor.fetchall() if cursor.description else []


@contextmanager
def _patient(connection: Connection, name: str, params: Mapping[str, object]) -> Iterator[None]:
    """What takes long may take long: a second more for each MiB that is sent."""
    if not isinstance(connection, Watched) or connection.answer_max_s is None:
        yield
        return
    usual = ANSWER_MAX_S["usual"]
    sent = sum(map(_size, params.values()))
    connection.answer_max_s = ANSWER_MAX_S["long"] if name in _LONG else usual + sent / _MIB
    try:
        yield
    finally:
        connection.answer_max_s = usual


def _size(value: object) -> int:
    if isinstance(value, bytes):
        return len(value)
    return sum(map(_size, value)) if isinstance(value, list) else 0


@cache
def is_write(name: str) -> bool:
    """True for a statement that may wait for a lock or, at its commit, for a standby."""
    return _WRITES.search(_statements()[name]) is not None


@cache
def _statements() -> dict[str, str]:
    """Every statement by its name; those of jobs begin with "job"."""
    return {**_loaded("statements.sql", ""), **_loaded("jobs.sql", "job ")}


def _loaded(file: str, before: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for piece in script(file).decode().split("-- name: ")[1:]:
        name, _, body = piece.partition("\n")
        text = body.strip().removesuffix(";").replace("%", "%%")
        text = _BINARY.sub(r"%(\1)b", text)  # the driver would send digits, two for each byte
        found[f"{before}{name.strip()}"] = _NAMED.sub(r"%(\1)s", text)
    return found


class Found(NamedTuple):
    """What a server says when a connection begins."""

    is_ours: bool  # no pooler gives the server's process to others between two transactions
    limits: list[str | None] | None
    fsync: str
    full_page_writes: str
    synchronous_commit: str
    isolation: str
    is_standby: bool
    has_schema: bool


def set_up(connection: Connection) -> Found:
    """Sets limits where they stay with the connection, and says what is there.

    Every integer is sent as a bigint, so that a statement is prepared once. Behind a pooler nothing
    is prepared: the next statement may go to another process of the server.
    """
    connection.adapters.register_dumper(int, Int8Dumper)
    connection.prepare_threshold = None
    asked = {**WAITS_MAX, "pid": connection.info.backend_pid}
    (row,) = run(connection, "set_up", asked)
    found = msgspec.convert(row, Found)
    if found.is_ours:
        connection.prepare_threshold = 2
    return found


def as_ours(error: psycopg.Error) -> RecollectError:
    """Converts an error of the driver or server to one of Recollect's; it stays the cause.

    An error in how this program uses the driver is raised as it is: a caller cannot act on it.
    """
    if error.sqlstate is None and isinstance(error, _OUR_MISUSE):
        raise error
    if error.sqlstate is None and isinstance(error, psycopg.DataError):
        return InvalidInput(f"the server cannot keep this value: {error}")
    if isinstance(error, psycopg.errors.IntegrityConstraintViolation):
        return IntegrityError(
            "the server refused an append that does not continue the ledger",
            hint="run `recollect admin verify`",
        )
    if isinstance(error, psycopg.errors.DatetimeFieldOverflow):
        return Unavailable(
            "the server refused an append that is dated more than 5 minutes ahead of its clock",
            hint="compare this machine's clock with the server's, then try again",
        )
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return Forbidden(
            "the server does not allow that with this login",
            hint="use the login that owns the database's memory, or let it grant what is needed",
        )
    if isinstance(error, psycopg.errors.LockNotAvailable | psycopg.errors.QueryCanceled):
        return Unavailable(
            "the server did not answer in time: another session holds a lock it needs",
            hint="try again; if it lasts, the owner of the database can find it in pg_locks",
        )
    if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
        return Unavailable(
            "this server answers reads and takes no writes: it is a standby, or was made read-only",
            hint="use the address of the primary; with several hosts in one address, add "
            "target_session_attrs=read-write; `recollect admin doctor` says which it is",
        )
    if isinstance(error, psycopg.errors.DiskFull):
        return Unavailable(
            "the server's disk is full, so it takes no writes",
            hint="give it more room; reads go on, and nothing that was acknowledged is lost",
        )
    if error.sqlstate is None or isinstance(error, _STOPPED):
        return Lost()
    return Unavailable(
        f"the server could not be used: {type(error).__name__}",
        hint="look into the server's log, then try again",
    )
