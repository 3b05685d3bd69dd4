"""Archiving, and taking back what was derived from something."""

from __future__ import annotations

from recollect.store.postgres.migrate import execute
from recollect.store.postgres.schema import script

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """From the thirteenth revision to the fourteenth."""
    execute(script(revision))
