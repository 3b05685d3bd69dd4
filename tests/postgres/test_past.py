"""The past is ranked on a server as it was."""

from __future__ import annotations

from recollect.store.postgres.ledgers import PostgresBackend
from tests.index.test_past import differences, played
from tests.suites.histories import Clockwork


def test_at_every_position_recall_is_what_it_was(database: str) -> None:
    backend = PostgresBackend(database, seam=Clockwork(6))
    memory, seen = played(6, 20, backend.space("main", create=True))
    try:
        assert differences(memory, seen[::4]) == []
    finally:
        backend.close()
