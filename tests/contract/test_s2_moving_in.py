"""S2: what a program has already moves in: a database of the original, and from memory to memory.

Field by field the same, for random stores: a few in CI, many at night.
"""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect import Memory
from recollect.contracts.episodic import (
    Episode,
    Fact,
    FactPattern,
    SQLiteFactStore,
    SQLiteMemoryStore,
    TableRow,
)
from recollect.contracts.episodic.table import table_row
from recollect.errors import ConfigError
from recollect.testing.episodic_suite import episode, put, rule

MANY = [
    pytest.param(count, marks=[pytest.mark.nightly] if count == 200 else []) for count in (10, 200)
]
WORDS = "tea  Zoë's\t100%\n“sure” _ \u2028 seat 4A 😀 […] SELECT 'x'".split(" ")
NAMES = ("alice", "Alice", "a b", "al/ice", "100%", "Zoë", "ⅷ")


def write(file: Path, rows: list[TableRow]) -> Path:
    """A database as the original writes it."""
    with closing(sqlite3.connect(file)) as database:
        database.execute(
            "CREATE TABLE episodes (id TEXT PRIMARY KEY, scope_key TEXT NOT NULL,"
            " content BLOB NOT NULL, timestamp TEXT NOT NULL, metadata BLOB NOT NULL)"
        )
        database.executemany(
            "INSERT INTO episodes VALUES (:id, :scope_key, :content, :timestamp, :metadata)", rows
        )
        database.commit()
    return file


def some(chance: random.Random, depth: int = 0) -> Any:
    """A value of metadata."""
    kinds = 7 if depth < 3 else 5
    match chance.randrange(kinds):
        case 0:
            return " ".join(chance.choices(WORDS, k=3))
        case 1:
            return chance.randint(-(2**53) + 1, 2**53 - 1)
        case 2:
            return chance.uniform(-1e9, 1e9)
        case 3:
            return chance.choice([True, False, None])
        case 4:
            return ""
        case 5:
            return [some(chance, depth + 1) for _ in range(chance.randrange(3))]
        case _:
            return {key: some(chance, depth + 1) for key in chance.sample(WORDS, 2)}


def told(chance: random.Random, id: str) -> Episode:
    triple: dict[str, Any] = {}
    if chance.random() < 0.5:
        triple = {"subject": id, "predicate": "seat", "object": some(chance, 3)}
    return Episode(
        id=id,
        content=" ".join(chance.choices(WORDS, k=chance.randint(1, 9))) + " .",
        timestamp=datetime(2026, 1, 1, tzinfo=UTC)
        + timedelta(microseconds=chance.randrange(10**13)),
        source_node=chance.choice(["", "node-1", "Zoë/2"]),
        user=chance.choice(NAMES),
        session=chance.choice(NAMES),
        agent=chance.choice(NAMES),
        metadata={**{f"k{n}": some(chance) for n in range(chance.randrange(4))}, **triple},
    )


def stores(count: int) -> Iterator[list[Episode]]:
    for seed in range(count):
        chance = random.Random(seed)
        yield [told(chance, f"e-{seed}-{n}") for n in range(chance.randint(1, 8))]


async def held(path: Path) -> tuple[list[TableRow], list[Fact]]:
    """Everything that two stores at a path hold."""
    async with SQLiteMemoryStore(path) as episodes, SQLiteFactStore(path) as facts:
        return await episodes.rows(), await facts.query(FactPattern())


def imported(path: Path, file: Path, format: str | None = None) -> tuple[int, int, int]:
    with Memory.open(path, embedder="none") as memory:
        done = memory.scoped(trust="agent").admin.import_(file, format)
        assert done.problems == ()
        return done.kept, done.changed, done.known


@pytest.mark.parametrize("count", MANY)
def test_a_database_of_the_original_moves_in(tmp_path: Path, count: int) -> None:
    # S2-161 S2-163: every column of every row, and the same again changes nothing
    for number, episodes in enumerate(stores(count)):
        wanted = [table_row(one) for one in sorted(episodes, key=lambda one: one.timestamp)]
        file = write(tmp_path / f"{number}.db", wanted)
        path = tmp_path / str(number)
        assert imported(path, file) == (len(wanted), 0, 0)
        assert imported(path, file) == (0, 0, len(wanted))
        rows, _ = asyncio.run(held(path))
        assert [plain(row) for row in rows] == [plain(row) for row in wanted]


def test_what_a_database_gained_since_is_imported_again(tmp_path: Path) -> None:
    # S2-161: decided: the file of the original is not opened in its place
    first, second = table_row(episode("e1")), table_row(episode("e2", 1, content="And more."))
    file, path = write(tmp_path / "old.db", [first]), tmp_path / "m"
    assert imported(path, file) == (1, 0, 0)
    with closing(sqlite3.connect(file)) as database:  # the program of the original goes on
        names = ", ".join(f":{name}" for name in second)
        database.execute(f"INSERT INTO episodes VALUES ({names})", second)
        database.commit()
    assert imported(path, file) == (1, 0, 1)
    rows, _ = asyncio.run(held(path))
    assert [plain(row) for row in rows] == [plain(first), plain(second)]
    assert imported(path, file) == (0, 0, 2)


def plain(row: TableRow) -> dict[str, Any]:
    """A row with its JSON read: the order of keys means nothing there."""
    columns: dict[str, Any] = {**row}
    return columns | {name: json.loads(columns[name]) for name in ("content", "metadata")}


@pytest.mark.parametrize("count", MANY)
def test_episodes_and_facts_go_out_and_in(tmp_path: Path, count: int) -> None:
    """Through our own export. A fact's ``pinned_at`` is when it was written here."""

    async def fill(path: Path, episodes: list[Episode]) -> None:
        async with SQLiteMemoryStore(path) as store, SQLiteFactStore(path) as facts:
            await put(store, *episodes)
            for delta in await store.consolidate(rule()):
                await facts.apply_delta(delta)

    for number, episodes in enumerate(stores(count)):
        path, other = tmp_path / f"{number}-a", tmp_path / f"{number}-b"
        asyncio.run(fill(path, episodes))
        file = tmp_path / f"{number}.ndjson"
        with Memory.open(path, embedder="none") as memory:
            memory.admin.export("ndjson", file)
        imported(other, file)
        rows, facts = asyncio.run(held(path))
        assert len(rows) == len(episodes)
        again, there = asyncio.run(held(other))
        assert again == rows
        assert sorted(map(unpinned, there)) == sorted(map(unpinned, facts))


def test_an_episode_whose_fact_was_corrected_comes_forgotten(tmp_path: Path) -> None:
    """The one thing that our export does not carry over: the correction must hold (decision 45)."""

    async def fill(path: Path) -> None:
        async with SQLiteMemoryStore(path) as store, SQLiteFactStore(path) as facts:
            seats = {"subject": "alice", "predicate": "seat"}
            await put(store, episode("a", 1, **seats), episode("b", 2, **seats))
            for delta in await store.consolidate(rule()):
                await facts.apply_delta(delta)

    asyncio.run(fill(tmp_path / "a"))
    with Memory.open(tmp_path / "a", embedder="none") as memory:
        memory.admin.export("ndjson", tmp_path / "a.ndjson")
    imported(tmp_path / "b", tmp_path / "a.ndjson")
    rows, facts = asyncio.run(held(tmp_path / "a"))
    again, there = asyncio.run(held(tmp_path / "b"))
    assert [row["id"] for row in rows] == ["a", "b"]
    assert again == rows[1:]
    assert [fact.payload for fact in there] == [fact.payload for fact in facts]


def unpinned(fact: Fact) -> str:
    return json.dumps({**vars(fact), "pinned_at": None}, sort_keys=True)


def test_what_cannot_move_in_as_it_stands_is_named(tmp_path: Path) -> None:
    # S2-130 S2-161: no row becomes that of another scope, and none is dropped without a word
    fine, strange = table_row(episode("fine")), table_row(episode("strange"))
    strange["content"] = strange["content"].replace(b'"alice"', b'" alice"')
    empty = table_row(episode("empty"))
    empty["content"] = b'{"content": " ", "user": "alice"}'
    taken = table_row(episode("taken"))
    file = write(tmp_path / "old.db", [fine, strange, empty, taken])

    async def mine() -> None:
        async with SQLiteMemoryStore(tmp_path / "m") as store:
            await put(store, episode("taken", content="Something else."), episode("fine"))

    asyncio.run(mine())
    with Memory.open(tmp_path / "m", embedder="none") as memory:
        for _ in range(2):
            done = memory.scoped(trust="agent").admin.import_(file)
            assert (done.kept, done.known) == (0, 1)
            assert [(one.where, one.why) for one in done.problems] == [
                ("old.db, strange", "its user, session or agent is not a name as it stands"),
                ("old.db, empty", "an episode without content"),
                ("old.db, taken", "the id 'taken' is already used by something else"),
            ]


def test_a_path_that_is_a_database_says_how_it_moves_in(tmp_path: Path) -> None:
    # S2-161: decided: a path is a folder, and the file of the original is imported into one
    file = write(tmp_path / "old.db", [table_row(episode("e1"))])
    with pytest.raises(ConfigError) as caught:
        asyncio.run(SQLiteMemoryStore(file).bootstrap())
    assert "`recollect --store PATH import FILE` brings it in" in str(caught.value)
    imported(tmp_path / "new", file)

    async def moved() -> list[Episode]:
        async with SQLiteMemoryStore(tmp_path / "new") as store:
            return await store.recent("alice", limit=5)

    assert asyncio.run(moved()) == [episode("e1")]
