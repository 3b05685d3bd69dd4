"""What the owner of a database does to its schema, and how an owner opens it.

Responsible for everything that runs with the login's own rights, and for checking that a database
fits this release. Leaves migrating one that does not to ``store.postgres.migrate``. Invariants: a
token is stored as a hash; opening a store changes the schema only of an empty database.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import psycopg

from recollect.errors import ConfigError, Forbidden, NotFound
from recollect.index.statements import INDEX_VERSION, postgres_schema, postgres_vectors
from recollect.store.postgres.connect import connect
from recollect.store.postgres.db import as_ours, bound_waits, run
from recollect.store.tokens import hash_of

_HERE: Final = Path(__file__).parent / "sql"

# The tables that cannot be rebuilt: each revision and the script that leads to it.
REVISIONS: Final = {
    "0001": "ledger.sql",
    "0002": "kinds.sql",
    "0003": "paths.sql",
    "0004": "samples.sql",
    "0005": "limits.sql",
    "0006": "kind_table.sql",
    "0007": "documents.sql",
    "0008": "token_state.sql",
    "0009": "store_events.sql",
    "0010": "dropping.sql",
    "0011": "sessions.sql",
    "0012": "proposals.sql",
    "0013": "rules.sql",
    "0014": "undoing.sql",
    "0015": "branches.sql",
    "0016": "checkpoints.sql",
    "0017": "subjects.sql",
    "0018": "administering.sql",
    "0019": "jobs.sql",
    "0020": "retries.sql",
    "0021": "vouching.sql",
    "0022": "authors.sql",
}
REVISION: Final = max(REVISIONS)

VECTORS: Final = "recollect.vectors"
# Not allowed, not installed, or too old for the script.
_NO_EXTENSION: Final = (
    psycopg.errors.InsufficientPrivilege,
    psycopg.errors.FeatureNotSupported,
    psycopg.errors.UndefinedFile,
    psycopg.errors.UndefinedObject,
)
MIGRATE: Final = "run `recollect admin migrate --store ADDRESS` as the database's owner"
ADD_VECTORS: Final = (
    f"let an administrator run `CREATE EXTENSION vector` there (pgvector), then {MIGRATE}"
)
SESSION_S: Final = 86_400  # lifetime of the token of an owner's process, unless renewed
_UPGRADE: Final = "use a release of Recollect that is as new as the database"


@contextmanager
def owner(url: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection with the login's own rights; errors of the driver are converted."""
    try:
        with connect(url) as connection:
            bound_waits(connection)
            yield connection
    except psycopg.errors.InsufficientPrivilege as error:
        raise Forbidden(
            "this login does not own the database's memory",
            hint="use the owner's address, or set RECOLLECT_TOKEN to a token that was made for you",
        ) from error
    except psycopg.Error as error:
        raise as_ours(error) from error


def prepare(url: str) -> None:
    """Creates the schema in an empty database; refuses one of another release."""
    with owner(url) as connection, connection.transaction():
        run(connection, "lock_schema", {})
        _act_as_service(connection)
        if not _has(connection, "recollect.events"):
            for revision in REVISIONS:
                connection.execute(script(revision))
            run(connection, "stamp_revision", {"revision": REVISION})
            make_derived(connection)
        check(connection)


def _act_as_service(connection: psycopg.Connection[Any]) -> None:
    try:
        with connection.transaction():
            connection.execute((_HERE / "act_as_service.sql").read_bytes())
    except psycopg.errors.InsufficientPrivilege as error:
        raise no_service(connection) from error


def no_service(connection: psycopg.Connection[Any]) -> Forbidden:
    """The error for a login that may not use the role ``recollect_app``."""
    login = connection.info.user
    return Forbidden(
        f"the login {login!r} may not act as the role recollect_app",
        hint="let the login that made the role, or a superuser, run "
        f'`GRANT recollect_app TO "{login}"`; if there is no such role yet, '
        "`CREATE ROLE recollect_app` before it",
    )


def admit(connection: psycopg.Connection[Any], login: str) -> None:
    """Lets a login act as the role ``recollect_app``, which a service's connections do."""
    ((grant,),) = run(connection, "tell_grant", {"login": login})
    try:
        with connection.transaction():
            connection.execute(str(grant).encode())
    except psycopg.errors.UndefinedObject as error:
        raise NotFound(
            f"the server has no login {login!r}",
            hint=f'create it with `CREATE ROLE "{login}" LOGIN PASSWORD …`, then try again',
        ) from error
    except psycopg.errors.InsufficientPrivilege as error:
        raise Forbidden(
            f"the login {connection.info.user!r} may not grant the role recollect_app",
            hint="let the login that made the role, or a superuser, run "
            f'`GRANT recollect_app TO "{login}"`, and leave --login out',
        ) from error


def script(revision: str) -> bytes:
    """The statements that lead to a revision."""
    return (_HERE / REVISIONS[revision]).read_bytes()


def make_derived(connection: psycopg.Connection[Any]) -> bool:
    """Creates the tables that are derived from the ledgers; true if the indexes are new.

    Afterwards the planner takes no samples of any column of the schema, because samples are shared
    by all spaces and EXPLAIN reveals them to every login.
    """
    made = _make_index(connection)
    _make_vectors(connection)
    connection.execute((_HERE / "no_samples.sql").read_bytes())
    return made


def _make_index(connection: psycopg.Connection[Any]) -> bool:
    """Creates the index tables, if they are not those of this release; true if it did."""
    if index_version(connection) == INDEX_VERSION:
        return False
    connection.execute(postgres_schema().encode())
    run(connection, "stamp_index", {"version": INDEX_VERSION})
    return True


def _make_vectors(connection: psycopg.Connection[Any]) -> None:
    """Creates the vector tables; skipped on a server without the extension."""
    if has_vectors(connection):
        return
    with suppress(*_NO_EXTENSION), connection.transaction():
        connection.execute(postgres_vectors().encode())


def has_vectors(connection: psycopg.Connection[Any]) -> bool:
    """True if the vector tables exist."""
    return _has(connection, VECTORS)


def check(connection: psycopg.Connection[Any]) -> None:
    """Refuses a database that this release cannot work with."""
    found = revision_of(connection)
    if found is None:
        raise ConfigError("this database does not contain a memory yet", hint=MIGRATE)
    if found not in (REVISION, _next_revision()):
        raise ConfigError(
            f"the database is at revision {found}, and this release works with {REVISION} and "
            f"{_next_revision()}",
            hint=_UPGRADE if found > REVISION else MIGRATE,
        )
    made = index_version(connection)
    if made != INDEX_VERSION:
        is_newer = made is not None and made > INDEX_VERSION
        raise ConfigError(
            f"the index of the database has version {made}, and this release needs {INDEX_VERSION}",
            hint=_UPGRADE if is_newer else MIGRATE,
        )


def _next_revision() -> str:
    """The one after this release's: a server that is one revision ahead serves its clients still.

    A space there that holds a kind of event this release does not know refuses alone, when it is
    entered.
    """
    return f"{int(REVISION) + 1:04}"


def revision_of(connection: psycopg.Connection[Any]) -> str | None:
    """The revision of the database; None before the first."""
    if not _has(connection, "recollect.revision"):
        return None
    return next((str(row[0]) for row in run(connection, "get_revision", {})), None)


def index_version(connection: psycopg.Connection[Any]) -> int | None:
    """The version of the index tables; None if they do not exist."""
    if not _has(connection, "recollect.index_version"):
        return None
    return next((int(str(row[0])) for row in run(connection, "get_index_version", {})), None)


def session_token(url: str, token: str) -> str:
    """A token for one process of the database's owner; it opens every space."""
    prepare(url)
    renew_session_token(url, token)
    return token


def renew_session_token(url: str, token: str) -> None:
    """Renews such a token; creates it if it is missing."""
    with owner(url) as connection:
        run(connection, "put_session_token", {"hash": hash_of(token), "seconds": SESSION_S})


def drop_session_token(url: str, token: str) -> None:
    """Removes such a token."""
    with owner(url) as connection:
        run(connection, "drop_token", {"hash": hash_of(token)})


def _has(connection: psycopg.Connection[Any], table: str) -> bool:
    return bool(run(connection, "find_table", {"name": table})[0][0])
