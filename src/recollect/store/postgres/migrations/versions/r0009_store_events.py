"""Events of the store itself need a person's token."""

from __future__ import annotations

from recollect.store.postgres.migrate import execute
from recollect.store.postgres.schema import script

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """From the eighth revision to the ninth."""
    execute(script(revision))
