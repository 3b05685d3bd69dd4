"""Subjects: encrypted bodies, and the wrapped keys that open them."""

from __future__ import annotations

from recollect.store.postgres.migrate import execute
from recollect.store.postgres.schema import script

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """From the sixteenth revision to the seventeenth."""
    execute(script(revision))
