"""Proposals and reviews."""

from __future__ import annotations

from recollect.store.postgres.migrate import execute
from recollect.store.postgres.schema import script

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """From the eleventh revision to the twelfth."""
    execute(script(revision))
