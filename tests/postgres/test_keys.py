"""A write finds what holds now by a key, however much held before."""

from __future__ import annotations

import re

import pytest

from recollect.memory import Memory
from recollect.store.postgres.db import PostgresDb, _text

# Each statement, the index that it must take, and the columns by which that must narrow.
BY_KEY = {
    "derived_from": ("links_by_target", "target", "kind", "until"),
    "end_frame": ("frames_by_name", "name", "until"),
    "end_hidden": ("hidden_pkey", "episode", "until", "why"),
    "end_link": ("links_by_(?:source|target)", "source", "target", "kind", "until"),
    "end_tag": ("tags_by_record", "record", "tag", "until"),
    "get_episode": ("hidden_pkey", "episode", "until"),
    "get_frame": ("frames_by_name", "name", "until"),
    "get_link": ("links_by_(?:source|target)", "source", "target", "kind", "until"),
    "holder": ("versions_by_key", "key", "status", "user"),
    "last_named": ("evidence_pkey", "episode", "record"),
    "twins": ("versions_by_content", "content_id", "status", "user"),
}


def plan_of(db: PostgresDb, name: str) -> str:
    """How the server would answer a statement, whatever it is asked."""
    asked = f"EXPLAIN (GENERIC_PLAN, COSTS OFF) {numbered(_text(name))}"
    lines = db.connection.execute(asked).fetchall()
    return "\n".join(str(line) for (line,) in lines)


def numbered(text: str) -> str:
    """The same statement with numbered parameters, which a generic plan takes without values."""
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", text)))
    for number, name in enumerate(names, 1):
        text = text.replace(f"%({name})s", f"${number}")
    count = 0
    while "%s" in text:
        count += 1
        text = text.replace("%s", f"${count}", 1)
    return text


def conditions(plan: str, index: str) -> list[str]:
    """What an index is searched by, wherever a plan takes it."""
    return re.findall(rf"using {index} on .*\n\s*Index Cond: (.*)", plan)


@pytest.mark.parametrize("name", BY_KEY)
def test_what_holds_now_is_found_by_a_key(url: str, name: str) -> None:
    index, *columns = BY_KEY[name]
    with Memory.open(url, space="main") as memory:
        memory.remember("The office is in Oslo.", key="office")
        with memory._handle.space._index.writing() as (db, _):  # type: ignore[attr-defined]
            plan = plan_of(db, name)
    searched = conditions(plan, index)
    assert searched, plan
    assert all(column in each for column in columns for each in searched), plan
