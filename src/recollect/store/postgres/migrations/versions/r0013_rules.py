"""Rules, and how far they have looked."""

from __future__ import annotations

from recollect.store.postgres.migrate import execute
from recollect.store.postgres.schema import script

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """From the twelfth revision to the thirteenth."""
    execute(script(revision))
