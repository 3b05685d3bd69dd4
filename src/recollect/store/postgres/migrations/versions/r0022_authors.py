"""Events say who acted."""

from __future__ import annotations

from recollect.store.postgres.migrate import execute
from recollect.store.postgres.schema import script

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """From the twenty-first revision to the twenty-second."""
    execute(script(revision))
