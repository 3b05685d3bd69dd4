"""What Alembic runs for a database with these tables.

Responsible for comparing and migrating the tables of ``metadata`` on the connection it is handed,
in batches, because SQLite cannot change a column. Leaves the revisions to the program that has
them: the file of an engine here is made again, never migrated. Invariant: no settings file is read.
"""

from __future__ import annotations

from alembic import context

from recollect.contracts.blocks.db.models import metadata as target_metadata
from recollect.contracts.blocks.db.projection import state

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=target_metadata,
    include_name=lambda name, kind, _: kind != "table" or name != state.name,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
