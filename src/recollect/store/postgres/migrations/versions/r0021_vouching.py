"""A person vouches for what they write."""

from __future__ import annotations

from recollect.store.postgres.migrate import execute
from recollect.store.postgres.schema import script

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """From the twentieth revision to the twenty-first."""
    execute(script(revision))
