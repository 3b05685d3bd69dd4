"""The heads of many spaces: those that the token opens, in one statement."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing

import pytest

from recollect.errors import Forbidden
from recollect.index.rows import Row
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.store.postgres.ledgers import PostgresBackend
from recollect.store.postgres.pool import Pool
from tests.postgres.conftest import entered, make_token


def test_a_token_is_told_the_heads_that_it_opens(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(PostgresBackend(database)) as owner:
        names = [f"space {number}" for number in range(20)]
        for name in names:
            Memory(Handle(owner.space(name, create=True))).remember("Likes tea")
        asked: list[str] = []
        ask = Pool.ask

        def counted(self: Pool, name: str, params: Mapping[str, object]) -> list[Row]:
            asked.append(name)
            return ask(self, name, params)

        monkeypatch.setattr(Pool, "ask", counted)
        assert owner.heads(names) == dict.fromkeys(names, 2)
        assert asked == ["heads"]
        token = make_token(database, "mine", space="space 3", trust="agent", user="ann")
        mine = entered(owner, token)
        assert mine.heads(names) == {"space 3": 2}
        assert mine.heads(["space 4", "nowhere"]) == {}
        with pytest.raises(Forbidden):
            entered(owner, "rct_stolen").heads(["space 3"])
