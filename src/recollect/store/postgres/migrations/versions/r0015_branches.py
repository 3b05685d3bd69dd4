"""Branches: two kinds of events that the server accepts."""

from __future__ import annotations

from recollect.store.postgres.migrate import execute
from recollect.store.postgres.schema import script

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """From the fourteenth revision to the fifteenth."""
    execute(script(revision))
