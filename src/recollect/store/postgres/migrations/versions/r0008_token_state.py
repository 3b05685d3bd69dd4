"""What became of a token, for the one who holds it."""

from __future__ import annotations

from recollect.store.postgres.migrate import execute
from recollect.store.postgres.schema import script

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """From the seventh revision to the eighth."""
    execute(script(revision))
