"""A database with many spaces.

Responsible for joining its ledgers with indexes in this process. Leaves both to their modules.
"""

from __future__ import annotations

from recollect.store.indexed.backend import IndexedBackend
from recollect.store.postgres.ledgers import PostgresLedgers
from recollect.store.postgres.subjects import Keeping
from recollect.store.seam import REAL, Seam


class PostgresBackend(IndexedBackend):
    """Spaces on a server, for who has its login."""

    def __init__(
        self,
        url: str,
        *,
        seam: Seam = REAL,
        keeping: Keeping | None = None,
        may_make: bool = True,
    ) -> None:
        super().__init__(PostgresLedgers(url, seam, keeping, may_make=may_make), seam)
