"""Checkpoints: a table of signed notes for each space."""

from __future__ import annotations

from recollect.store.postgres.migrate import execute
from recollect.store.postgres.schema import script

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """From the fifteenth revision to the sixteenth."""
    execute(script(revision))
