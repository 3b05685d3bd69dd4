"""What the owner of a database does to its schema, and whether it fits this release.

Responsible for creating the schema and for refusing one of another release. Leaves what is in it to
``sql/schema.sql``. Invariant: opening a store changes the schema only of an empty database,
and only without a token.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg

from recollect.errors import ConfigError, Forbidden
from recollect.model.values import Migrated
from recollect.store.postgres.db import Connection, as_ours, run, script, set_up
from recollect.store.postgres.hosts import Hosts

REVISION: Final = "0001"
_SCRIPTS: Final = ("schema.sql", "jobs_schema.sql")
MIGRATE: Final = "run `recollect admin migrate --store ADDRESS` as the database's owner"
_UPGRADE: Final = "use a release of Recollect that is as new as the database"


@contextmanager
def owner(url: str, *, is_patient: bool = False) -> Iterator[Connection]:
    """A connection for what the owner does, which may take as long as it takes.

    Errors of the driver are converted.
    """
    try:
        with Hosts(url).connect() as connection:
            found = set_up(connection)
            if is_patient:
                connection.answer_max_s = None
                if found.is_ours:
                    run(connection, "patience", {})
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
        is_new = not is_there(connection)
        if is_new:
            for name in _SCRIPTS:
                connection.execute(script(name))
            run(connection, "stamp_revision", {"revision": REVISION})
        check(connection)
    return is_new


def is_there(connection: Connection) -> bool:
    """True if the database has a schema of any release."""
    return bool(run(connection, "find_schema", {})[0][0])


def check(connection: Connection) -> None:
    """Refuses a database that this release cannot work with."""
    try:
        ((found,),) = run(connection, "get_revision", {})
    except psycopg.errors.UndefinedTable:
        raise ConfigError("this database does not contain a memory yet", hint=MIGRATE) from None
    except psycopg.errors.UndefinedColumn:
        raise ConfigError(
            "the database was made by a version before the first release",
            hint="copy its memories out with the version that made it, `recollect admin push`, and "
            "into a new database with this one",
        ) from None
    if str(found) != REVISION:
        raise ConfigError(
            f"the database is at revision {found!s}, and this release works with {REVISION}",
            hint=_UPGRADE if str(found) > REVISION else MIGRATE,
        )


def migrate(url: str) -> Migrated:
    """Brings a database to this release."""
    is_new = prepare(url)
    return Migrated(before=None if is_new else REVISION, after=REVISION)
