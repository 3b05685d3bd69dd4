"""Bringing a database to this release.

Responsible for running revisions in one transaction and for recreating the index tables. Leaves the
revisions to ``store.postgres.migrations``. Invariants: only the migrate command imports this
module, and with it Alembic; a migration is applied completely or not at all.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import psycopg
from alembic import command, op
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from recollect.errors import ConfigError, Unavailable
from recollect.model.values import Migrated
from recollect.store.postgres import schema
from recollect.store.postgres.connect import connect
from recollect.store.postgres.db import bound_waits, run

_HERE: Final = Path(__file__).parent / "migrations"


def migrate(url: str, *, more: Path | None = None) -> Migrated:
    """Migrates to the newest revision, with an index of this release; ``more`` adds revisions."""
    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: _connected(url), poolclass=NullPool
    )
    try:
        with engine.begin() as connection:
            return _migrate(connection, more)
    except (psycopg.Error, SQLAlchemyError) as error:
        raise Unavailable(
            f"the migration failed and changed nothing: {type(error).__name__}",
            hint="check the address, and that its user owns the database",
        ) from error
    finally:
        engine.dispose()


def _connected(url: str) -> psycopg.Connection[object]:
    connection = connect(url)
    connection.autocommit = False
    return connection


def execute(script: bytes) -> None:
    """Runs a revision's statements as they stand: nothing in them is a parameter."""
    _driver(op.get_bind()).execute(script)


def _migrate(connection: Connection, more: Path | None) -> Migrated:
    driver = _driver(connection)
    bound_waits(driver, "lock_timeout")  # a revision itself may take its time
    run(driver, "lock_schema", {})
    config = _config(connection, more)
    revisions = ScriptDirectory.from_config(config)
    before, after = schema.revision_of(driver), revisions.get_current_head()
    if before is not None and before not in {each.revision for each in revisions.walk_revisions()}:
        raise ConfigError(
            f"the database is at revision {before}, which this release does not know",
            hint="migrate with a release of Recollect that is as new as the database",
        )
    if before != after:
        command.upgrade(config, "head")
    return Migrated(before=before, after=str(after), index=schema.make_derived(driver))


def _config(connection: Connection, more: Path | None) -> Config:
    places = [_HERE / "versions", *([] if more is None else [more])]
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", _escaped(str(_HERE)))
    config.set_main_option("path_separator", "newline")
    config.set_main_option("version_locations", _escaped("\n".join(map(str, places))))
    return config


def _escaped(text: str) -> str:
    return text.replace("%", "%%")


def _driver(connection: Connection) -> psycopg.Connection[object]:
    driver = connection.connection.driver_connection
    if not isinstance(driver, psycopg.Connection):
        raise TypeError("migrations run on psycopg")
    return driver
