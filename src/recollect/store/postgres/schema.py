"""What the owner of a database does to its schema, and whether it fits this release.

Responsible for creating the schema and for refusing one of another release. Leaves what is in it to
``sql/schema.sql``. Invariant: opening a store changes the schema only of an empty database.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg

from recollect.errors import ConfigError, Forbidden
from recollect.model.values import Migrated
from recollect.store.postgres.connect import connect
from recollect.store.postgres.db import Connection, adapt, as_ours, bound_waits, run, script

REVISION: Final = "0001"
_SCRIPTS: Final = ("schema.sql", "jobs_schema.sql")
_BEFORE: Final = "recollect.index_version"  # a table that no release has any more
MIGRATE: Final = "run `recollect admin migrate --store ADDRESS` as the database's owner"
_UPGRADE: Final = "use a release of Recollect that is as new as the database"


@contextmanager
def owner(url: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection for what the owner does; errors of the driver are converted."""
    try:
        with connect(url) as connection:
            adapt(connection)
            bound_waits(connection)
            yield connection
    except psycopg.errors.InsufficientPrivilege as error:
        raise Forbidden(
            "this login does not own the database's memory",
            hint="use the owner's address",
        ) from error
    except psycopg.Error as error:
        raise as_ours(error) from error


def prepare(url: str) -> bool:
    """Creates the schema in an empty database; refuses one of another release."""
    with owner(url) as connection, connection.transaction():
        run(connection, "lock_schema", {})
        is_new = not _has(connection, "recollect.revision")
        if is_new:
            for name in _SCRIPTS:
                connection.execute(script(name))
            run(connection, "stamp_revision", {"revision": REVISION})
        check(connection)
    return is_new


def check(connection: Connection) -> None:
    """Refuses a database that this release cannot work with."""
    if not _has(connection, "recollect.revision"):
        raise ConfigError("this database does not contain a memory yet", hint=MIGRATE)
    found = None if _has(connection, _BEFORE) else str(run(connection, "get_revision", {})[0][0])
    if found != REVISION:
        raise ConfigError(
            f"the database is at revision {found or 'of an unreleased version'}, and this release "
            f"works with {REVISION}",
            hint=_UPGRADE if found else "export the memory with the version that made it",
        )


def migrate(url: str) -> Migrated:
    """Brings a database to this release."""
    is_new = prepare(url)
    return Migrated(before=None if is_new else REVISION, after=REVISION)


def _has(connection: Connection, table: str) -> bool:
    return bool(run(connection, "find_table", {"name": table})[0][0])
