"""On the server, too, what is newest in a scope is read from an index, in its order."""

from __future__ import annotations

import pytest

from recollect.index.filter.sql import narrowed
from recollect.index.recent import in_scope
from recollect.index.statements import postgres_statements
from recollect.memory import Memory
from recollect.store.postgres.db import PostgresDb, _named
from tests.index.test_recent import PLANS
from tests.postgres.test_keys import numbered


def plan_of(db: PostgresDb, name: str, part: str | None) -> str:
    text = postgres_statements()[name]
    where = in_scope({part: "x"} if part else {})
    if where is not None:
        text, _ = narrowed(text, where)
    asked = f"EXPLAIN (GENERIC_PLAN, COSTS OFF) {numbered(_named(text))}"
    return "\n".join(str(line) for (line,) in db.connection.execute(asked).fetchall())


@pytest.mark.parametrize(("name", "part", "index"), PLANS)
def test_a_scope_is_read_from_an_index(url: str, name: str, part: str | None, index: str) -> None:
    with Memory.open(url, space="main") as memory:
        memory.remember("The office is in Oslo.")
        with memory._handle.space._index.writing() as (db, _):  # type: ignore[attr-defined]
            plan = plan_of(db, name, part)
    assert f"using {index} on" in plan, plan
    assert "Sort" not in plan, plan
