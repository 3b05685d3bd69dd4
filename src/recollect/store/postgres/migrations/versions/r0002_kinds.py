"""Frames and receipts: three kinds of events that the server lets in."""

from __future__ import annotations

from recollect.store.postgres.migrate import execute
from recollect.store.postgres.schema import script

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """From the first revision to the second."""
    execute(script(revision))
