"""Opening a connection to a server, and saying why one could not be opened.

Responsible for one attempt that ends soon, and for naming its cause and the next step. Leaves what
a connection may do to ``store.postgres.pool`` and ``store.postgres.schema``. Invariants: an address
is never quoted, because it may hold a password; a server's words are one line.
"""

from __future__ import annotations

import re
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

from recollect.errors import ConfigError, Forbidden, RecollectError, Unavailable
from recollect.store.postgres.wait import ANSWER_MAX_S, Watched

CONNECT_MAX_S: Final = 4  # for each address of the server; the driver waits for minutes
# What the system does about a machine that is gone, unless the address says otherwise.
_ALIVE: Final = {
    "keepalives_idle": 30, "keepalives_interval": 5, "keepalives_count": 3,
    "tcp_user_timeout": 15_000,  # milliseconds
}  # fmt: skip
VERSION_MIN: Final = 16
_SAID_MAX_CHARS: Final = 300
_FATAL: Final = re.compile(r"FATAL:\s*(.+)")
_OTHERS: Final = re.compile(r"\n(?:Multiple connection attempts|\s).*", re.DOTALL)
_ADDRESS: Final = re.compile(r"^(?:connection failed: )?(?:connection to server .+? failed: )?")

# What the server or the driver says, the kind of error it is, and the next step.
_CAUSES: Final[tuple[tuple[str, type[RecollectError], str], ...]] = (
    (
        r"password authentication failed|no password supplied",
        Forbidden,
        "check the login and its password in the address or in ~/.pgpass; in an address, write "
        "special characters of a password as %XX",
    ),
    (
        r'role ".*" does not exist',
        Forbidden,
        "check the login in the address, or let an administrator of the server create it",
    ),
    (
        r"no pg_hba\.conf entry|authentication failed|not permitted to log in",
        Forbidden,
        "check the login in the address; the server's pg_hba.conf says who may log in from where",
    ),
    (
        r'database ".*" does not exist',
        ConfigError,
        "check the database's name in the address, or create it with `createdb`",
    ),
    (
        r"permission denied for database",
        Forbidden,
        "let the owner of the database grant CONNECT on it to this login",
    ),
    (
        r"resolve|translate host name|Name or service not known|nodename nor servname",
        ConfigError,
        "check the host's name in the address",
    ),
    (
        r"too many (?:clients|connections)|connection slots",
        Unavailable,
        "try again later, or raise max_connections on the server",
    ),
    (r"starting up|shutting down|recovery", Unavailable, "try again in a moment"),
    (r"SSL|certificate", ConfigError, "check sslmode and the certificates in the address"),
)
_DOWN: Final = "check that the server is running and that the address has its host and port"


def connect(url: str) -> Watched:
    """A connection in autocommit mode; raises an error that names why there is none."""
    named = _parts(url)
    ours = {"connect_timeout": CONNECT_MAX_S, **_ALIVE}
    more: dict[str, Any] = {name: value for name, value in ours.items() if name not in named}
    try:
        connection = Watched.connect(url, autocommit=True, **more)
    except psycopg.Error as error:
        raise refusal(error) from error
    connection.add_notice_handler(connection.hear)
    connection.answer_max_s = ANSWER_MAX_S["usual"]
    _check_version(connection)
    return connection


def refusal(error: psycopg.Error) -> RecollectError:
    """The error for a connection that could not be opened."""
    if isinstance(error, psycopg.errors.ConnectionTimeout):
        return Unavailable("the server did not answer in time", hint=_DOWN)
    said = _said(str(error))
    for pattern, kind, hint in _CAUSES:
        if re.search(pattern, said):
            return kind(f"the server could not be used: {said}", hint=hint)
    return Unavailable(f"the server could not be reached: {said}", hint=_DOWN)


def _said(text: str) -> str:
    """The one sentence that names the cause: the server's, else the first of the driver's."""
    fatal = _FATAL.search(text)
    said = fatal[1] if fatal else _ADDRESS.sub("", _OTHERS.sub("", text.strip()), count=1)
    return said.strip()[:_SAID_MAX_CHARS] or "no reason was given"


def _parts(url: str) -> dict[str, Any]:
    """The parts of an address."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.Error:
        parts = {}
    places = (parts.get("host"), parts.get("dbname"))  # where an unescaped password ends up
    if not parts or any("@" in str(place) for place in places):
        raise ConfigError(
            "the address of the server cannot be read",
            hint="write postgresql://LOGIN:PASSWORD@HOST:PORT/DATABASE, with special characters "
            "of the password as %XX (@ is %40, / is %2F)",
        ) from None
    return parts


def where(url: str) -> str:
    """The database of an address, without its login and password."""
    parts = _parts(url)
    return f"postgresql://{parts.get('host', '')}/{parts.get('dbname', '')}"


def _check_version(connection: psycopg.Connection[Any]) -> None:
    version = connection.info.server_version // 10_000
    if version < VERSION_MIN:
        connection.close()
        raise ConfigError(
            f"the server is PostgreSQL {version}, and Recollect needs {VERSION_MIN} or later",
            hint="use a newer server",
        )
