"""Acts in a batch on PostgreSQL: the same events and errors as one by one in memory."""

from __future__ import annotations

import random
from contextlib import closing

from recollect.store.indexed.backend import MemorySpace
from recollect.store.postgres.ledgers import PostgresBackend
from tests.store.acting import SAID_AT, Pair, tell_random_acts
from tests.suites.histories import Stopped

SEED = random.randrange(2**32)


def test_a_batch_does_what_its_acts_do_one_by_one(database: str) -> None:
    seam = Stopped(SAID_AT)
    with (
        closing(PostgresBackend(database, seam=seam)) as backend,
        closing(MemorySpace("main", seam)) as single,
    ):
        pair = Pair(single, backend.space("main", create=True), words=False)
        tell_random_acts(pair, random.Random(SEED), 12)
        assert min(pair.told[what] for what in ("acts", "refused", "made later")) > 10, SEED
