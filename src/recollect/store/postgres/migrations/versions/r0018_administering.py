"""Tokens that look after tokens, and the verbs review and admin."""

from __future__ import annotations

from recollect.store.postgres.migrate import execute
from recollect.store.postgres.schema import script

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """From the seventeenth revision to the eighteenth."""
    execute(script(revision))
