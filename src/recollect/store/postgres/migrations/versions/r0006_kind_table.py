"""The kinds of events are a table, and a space says which revision its reader must know."""

from __future__ import annotations

from recollect.store.postgres.migrate import execute
from recollect.store.postgres.schema import script

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """From the fifth revision to the sixth."""
    execute(script(revision))
