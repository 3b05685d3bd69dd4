"""Tokens mean what they say, against SQL of the caller's own too."""

from __future__ import annotations

from recollect.store.postgres.migrate import execute
from recollect.store.postgres.schema import script

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """From the fourth revision to the fifth."""
    execute(script(revision))
