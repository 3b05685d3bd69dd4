"""A clock that jumps, on a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.store.postgres.ledgers import PostgresBackend
from recollect.testing.clock_suite import ClockSuite
from recollect.testing.seams import FixedSeam


class TestPostgres(ClockSuite):
    @pytest.fixture
    def opened(self, seam: FixedSeam, database: str) -> Iterator[Callable[[], Memory]]:
        backend = PostgresBackend(database, seam=seam)
        yield lambda: Memory(Handle(backend.space("main", create=True), seam))
        backend.close()
