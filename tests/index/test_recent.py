"""What is newest in a scope is read from an index, in its order."""

from __future__ import annotations

import re
from contextlib import closing

import pytest

from recollect.index.filter.sql import narrowed
from recollect.index.recent import in_scope
from recollect.index.rows import Cell
from recollect.index.statements import statements
from recollect.store.sqlite import memory_index

# The statement, the scope, and the index that gives both the rows and their order.
PLANS = [
    ("recent_episodes", None, "episodes_by_instant"),
    ("recent_episodes", "user", "episodes_by_user"),
    ("recent_episodes", "session", "episodes_of_session"),
    ("recent_episodes", "agent", "episodes_by_agent"),
    ("recent_records", None, "versions_by_instant"),
    ("recent_records", "user", "versions_of_user"),
    ("list_versions", "user", "versions_by_user"),
    ("list_versions", "session", "versions_by_session"),
    ("list_versions", "agent", "versions_by_agent"),
]


def plan_of(name: str, part: str | None) -> list[str]:
    text = statements()[name]
    params: dict[str, Cell] = {}
    where = in_scope({part: "x"} if part else {})
    if where is not None:
        text, params = narrowed(text, where)
    named = dict.fromkeys(re.findall(r":(\w+)", text), 1) | params
    with closing(memory_index("main")) as db:
        rows = db._connection.execute(f"EXPLAIN QUERY PLAN {text}", named).fetchall()
    return [str(row[3]) for row in rows]


@pytest.mark.parametrize(("name", "part", "index"), PLANS)
def test_a_scope_is_read_from_an_index(name: str, part: str | None, index: str) -> None:
    plan = plan_of(name, part)
    assert any(f"USING INDEX {index} " in step for step in plan), plan
    assert not [step for step in plan if "TEMP B-TREE FOR ORDER BY" in step], plan


def test_a_field_without_an_index_walks_over_all() -> None:
    """The control: nobody asks for what is newest about an entity, so no index narrows it."""
    plan = plan_of("list_versions", "about")
    assert not [step for step in plan if "USING INDEX versions_by_about" in step]
    assert [step for step in plan if "USING INTEGER PRIMARY KEY" in step]


def test_a_scope_of_nothing_is_no_filter() -> None:
    assert in_scope({"user": None, "session": None}) is None
    first, end = (f"2026-0{month}-01T00:00:00.000000Z" for month in (1, 2))
    both = in_scope({"user": "ann", "session": "s"}, "at", first, end)
    assert str(both) == f"user = 'ann' and session = 's' and at >= '{first}' and at < '{end}'"
