"""What is expected leaves no line in the log of the server."""

from __future__ import annotations

import re

import psycopg
import pytest

from recollect.errors import Conflict, NotFound
from recollect.memory import Memory, Store


def errors(database: str) -> list[str]:
    """The errors in the server's log."""
    with psycopg.connect(database) as owner:
        row = owner.execute("SELECT pg_read_file(coalesce(pg_current_logfile(), 'log'))").fetchone()
    assert row is not None
    return re.findall("ERROR: .*", row[0])


def test_nothing_that_is_expected_is_an_error(database: str, url: str) -> None:
    before = errors(database)
    with Memory.open(url, space="bob", embedder="none") as memory:
        tea = memory.remember("Tea is at six.", key="tea")
    for _ in range(2):
        for name in ("alice", "bob"):
            with Memory.open(url, space=name, embedder="none") as memory:
                memory.remember("Tea is at four.", key="tea")
                assert len(memory.list()) == 1
    with Memory.open(url, space="bob", embedder="none") as one, Store.open(url) as store:
        one.list()
        store.space("bob").remember("Written between two calls of the other.")
        with pytest.raises(Conflict):
            one.revise(tea.id, "Tea is at five.", expect=1)
        with pytest.raises(NotFound):
            store.space("nobody", create=False).list()
        store.drop("bob")
        with pytest.raises(NotFound):
            one.list()
    assert errors(database) == before
    with psycopg.connect(database) as owner, pytest.raises(psycopg.errors.UndefinedTable):
        owner.execute("SELECT 1 FROM recollect.nothing")  # the control
    assert len(errors(database)) == len(before) + 1
