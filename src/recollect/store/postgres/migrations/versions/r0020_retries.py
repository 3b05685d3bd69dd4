"""Jobs that failed come first."""

from __future__ import annotations

from recollect.store.postgres.migrate import execute
from recollect.store.postgres.schema import script

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """From the nineteenth revision to the twentieth."""
    execute(script(revision))
