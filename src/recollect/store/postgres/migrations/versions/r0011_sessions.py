"""Sessions: two kinds of events that the server accepts."""

from __future__ import annotations

from recollect.store.postgres.migrate import execute
from recollect.store.postgres.schema import script

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """From the tenth revision to the eleventh."""
    execute(script(revision))
