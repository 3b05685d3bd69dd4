"""The ledger of every space, the tokens that open them, and the functions that guard both."""

from __future__ import annotations

from recollect.store.postgres.migrate import execute
from recollect.store.postgres.schema import script

revision = "0001"
down_revision = None


def upgrade() -> None:
    """From nothing to the first revision."""
    execute(script(revision))
