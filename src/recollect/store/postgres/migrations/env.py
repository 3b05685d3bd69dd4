"""What Alembic runs to migrate, on the connection it is handed.

Responsible for where the revision is stored. Leaves the transaction to the caller. Invariant:
no settings file is read.
"""

from __future__ import annotations

from alembic import context
from sqlalchemy import schema

_connection = context.config.attributes["connection"]
_connection.execute(schema.CreateSchema("recollect", if_not_exists=True))
context.configure(
    connection=_connection, version_table="revision", version_table_schema="recollect"
)
with context.begin_transaction():
    context.run_migrations()
