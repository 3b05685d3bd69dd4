"""The heads of many spaces: those that the token opens, in one statement."""

from __future__ import annotations

from contextlib import closing

import psycopg
import pytest

from recollect.errors import RecollectError
from recollect.index.rows import Row
from recollect.memory import Memory
from recollect.memory.handle import Handle
from recollect.store.postgres import backend as module
from recollect.store.postgres import db
from recollect.store.postgres.backend import PostgresBackend
from tests.postgres.conftest import make_token


def test_a_token_is_told_the_heads_that_it_opens(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(PostgresBackend(database)) as owner:
        names = [f"space {number}" for number in range(20)]
        for name in names:
            Memory(Handle(owner.space(name, create=True))).remember("Likes tea")
        asked: list[str] = []

        def run(connection: psycopg.Connection, name: str, params: dict[str, object]) -> list[Row]:
            asked.append(name)
            return db.run(connection, name, params)

        monkeypatch.setattr(module, "run", run)
        assert owner.heads(names) == dict.fromkeys(names, 2)
        assert asked == ["begin_read", "heads"]
    make_token(database, "mine", label="mine", space="space 3", origin="agent", user="ann")
    with closing(PostgresBackend(database, token="mine")) as backend:
        assert backend.heads(names) == {"space 3": 2}
        assert backend.heads(["space 4", "nowhere"]) == {}
    with (
        closing(PostgresBackend(database, token="stolen")) as backend,
        pytest.raises(RecollectError),
    ):
        backend.heads(["space 3"])
