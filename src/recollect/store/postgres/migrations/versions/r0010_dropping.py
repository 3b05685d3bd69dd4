"""A space can be dropped whole."""

from __future__ import annotations

from recollect.store.postgres.migrate import execute
from recollect.store.postgres.schema import script

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """From the ninth revision to the tenth."""
    execute(script(revision))
