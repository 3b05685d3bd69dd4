"""Filters mean the same in Python, on SQLite and on the server."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from typing import Final, NamedTuple

import pytest

from recollect.index.filter.sql import compile_sql
from recollect.index.rows import Cell
from recollect.index.tables import Db
from recollect.memory import Memory
from recollect.model.values import Unit
from recollect.store.postgres.db import PostgresDb, _named
from recollect.store.sqlite import SqliteDb, memory_index
from tests.index.test_filter import (
    BROKEN,
    TABLES,
    Compile,
    Row,
    leaves_of,
    random_filter,
    random_rows,
    sees,
)

SEEDS: Final = range(4)  # of twelve rows each, for either unit


class Engines(NamedTuple):
    """The same rows on both engines, and the server's in a transaction that is not committed."""

    rows: dict[Unit, list[Row]]
    lite: SqliteDb
    server: PostgresDb


@pytest.fixture
def engines(url: str) -> Iterator[Engines]:
    rows = {unit: list(numbered(unit)) for unit in TABLES}
    with closing(memory_index("main")) as lite, Memory.open(url, space="main") as memory:
        fill(lite, rows)
        with memory._handle.space._index.writing() as (server, _):  # type: ignore[attr-defined]
            fill(server, rows)
            yield Engines(rows, lite, server)


def numbered(unit: Unit) -> Iterator[Row]:
    """Rows of all seeds, with ids and numbers of their own."""
    every = (row for seed in SEEDS for row in random_rows(unit, seed))
    for number, row in enumerate(every, 100 if unit == "record" else 1_000):
        yield row._replace(seq=number, id=f"{row.id}{number}")


def fill(db: Db, rows: dict[Unit, list[Row]]) -> None:
    db.many("add_version", rows["record"])
    db.many("add_episode", [row[:-1] for row in rows["episode"]])  # `hidden` is no column


def asked(unit: Unit, sql: str) -> str:
    return f"SELECT seq FROM {TABLES[unit][0]} WHERE {sql} ORDER BY seq"


def on_sqlite(engines: Engines, unit: Unit, sql: str, params: dict[str, Cell]) -> list[int]:
    rows = engines.lite._connection.execute(asked(unit, sql), params).fetchall()
    return [seq for (seq,) in rows]


def on_server(engines: Engines, unit: Unit, sql: str, params: dict[str, Cell]) -> list[int]:
    rows = engines.server.connection.execute(_named(asked(unit, sql)), params).fetchall()
    return [seq for (seq,) in rows]


def check(engines: Engines, count: int, seed: int, compile: Compile = compile_sql) -> None:
    """So many filters find the same; what ``compile`` makes of them runs on the server."""
    chance = random.Random(seed)
    for _ in range(count):
        filter = random_filter(chance)
        for unit, rows in engines.rows.items():
            found = on_server(engines, unit, *compile(filter, unit))
            assert found == on_sqlite(engines, unit, *compile_sql(filter, unit)), filter
            wanted = [row.seq for row in rows if filter.matches(row)]
            assert set(wanted) <= set(found), filter
            if all(sees(leaf.field, unit) for leaf in leaves_of(filter.root)):
                assert found == wanted, filter


def test_the_server_finds_what_python_and_sqlite_find(engines: Engines) -> None:
    check(engines, 500, seed=16)


@pytest.mark.nightly
def test_the_three_agree_on_100_000_filters(engines: Engines) -> None:
    check(engines, 100_000, seed=17)


@pytest.mark.parametrize(
    "name", ["what SQL cannot judge is false", "an end is left out", "and is or"]
)
def test_control_a_broken_compiler_is_caught(engines: Engines, name: str) -> None:
    with pytest.raises(AssertionError):
        check(engines, 500, seed=18, compile=BROKEN[name])
