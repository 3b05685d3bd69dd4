"""The planner's statistics hold nothing of a space."""

from __future__ import annotations

from recollect.store.postgres.migrate import execute
from recollect.store.postgres.schema import script

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """From the third revision to the fourth."""
    execute(script(revision))
