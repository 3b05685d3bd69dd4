"""Jobs, leases and schedules."""

from __future__ import annotations

from recollect.store.postgres.migrate import execute
from recollect.store.postgres.schema import script

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """From the eighteenth revision to the nineteenth."""
    execute(script(revision))
