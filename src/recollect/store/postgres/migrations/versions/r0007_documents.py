"""Documents: two kinds of events that the server accepts."""

from __future__ import annotations

from recollect.store.postgres.migrate import execute
from recollect.store.postgres.schema import script

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """From the sixth revision to the seventh."""
    execute(script(revision))
