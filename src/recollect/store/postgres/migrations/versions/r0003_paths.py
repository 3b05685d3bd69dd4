"""The functions that look at a mark keep their plans."""

from __future__ import annotations

from recollect.store.postgres.migrate import execute
from recollect.store.postgres.schema import script

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """From the second revision to the third."""
    execute(script(revision))
