"""What is expected leaves no line in a log: neither in the server's nor in the driver's."""

from __future__ import annotations

import re
from contextlib import closing

import psycopg
import pytest

from recollect.errors import NotFound
from recollect.memory import Memory
from recollect.store.postgres.backend import PostgresBackend


def errors(database: str) -> list[str]:
    """The errors in the server's log."""
    with psycopg.connect(database) as owner:
        row = owner.execute("SELECT pg_read_file(coalesce(pg_current_logfile(), 'log'))").fetchone()
    assert row is not None
    return re.findall("ERROR: .*", row[0])


def test_a_new_space_is_no_error(database: str, url: str) -> None:
    before = errors(database)
    for _ in range(2):
        for name in ("alice", "bob"):
            with Memory.open(url, space=name, embedder="none") as memory:
                memory.remember("Tea is at four.", key="tea")
                assert len(memory.list()) == 1
    assert errors(database) == before
    with (
        closing(PostgresBackend(database)) as backend,
        pytest.raises(NotFound),  # the control: a refusal is one
    ):
        backend.space("nobody", create=False).head()
    assert len(errors(database)) == len(before) + 1
