"""S2: what is on the disk, and several programs at once."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Coroutine
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import pytest

from recollect import ConfigError, Conflict, Memory
from recollect.contracts.episodic import (
    Episode,
    SQLiteFactStore,
    SQLiteMemoryStore,
    scope_pattern,
)
from recollect.testing.episodic_suite import episode, ids, put, rule

T = TypeVar("T")
ROOT = Path(__file__).parents[2]

# The table as the seed prints it.
SCHEMA = """
CREATE TABLE IF NOT EXISTS episodes (
  id         TEXT PRIMARY KEY,
  scope_key  TEXT NOT NULL,
  content    BLOB NOT NULL,   -- orjson JSONB of the Episode payload
  timestamp  TEXT NOT NULL,
  metadata   BLOB NOT NULL    -- orjson JSONB
);
CREATE INDEX IF NOT EXISTS idx_episodes_scope_ts
  ON episodes(scope_key, timestamp DESC);
"""


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def index(path: Path) -> sqlite3.Connection:
    """The index of a store, as any SQLite program opens it."""
    return sqlite3.connect(f"file:{path / 'index.db'}?mode=ro", uri=True)


def test_bootstrap_creates_the_folder_with_its_parents(tmp_path: Path) -> None:  # S2-161
    path = tmp_path / "a" / "b" / ".memory"
    store = SQLiteMemoryStore(path=path)
    assert not (tmp_path / "a").exists()  # nothing before bootstrap

    async def scenario() -> None:
        await store.bootstrap()
        assert path.is_dir()
        assert (path / "events.wal").is_file()
        await put(store, episode("e1"))
        await store.close()
        await store.close()

    run(scenario())
    with Memory.open(path) as memory:  # it is a memory like any other
        assert memory.get("e1").text == "content of e1"


def test_a_path_that_is_a_file_is_refused(tmp_path: Path) -> None:  # S2-161
    path = tmp_path / "old.db"
    path.write_bytes(b"SQLite format 3\0")
    with pytest.raises(ConfigError, match="is a file"):
        run(SQLiteMemoryStore(path=path).bootstrap())
    assert path.read_bytes() == b"SQLite format 3\0"


def test_an_empty_path_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in ("", "a\0b"):
        with pytest.raises(ConfigError):
            run(SQLiteMemoryStore(path=path).bootstrap())
    assert list(tmp_path.iterdir()) == []


def test_a_store_is_used_after_bootstrap(tmp_path: Path) -> None:
    store = SQLiteMemoryStore(path=tmp_path / "m")
    for call in (store.health(), store.recent("alice", limit=1), store.consolidate(rule())):
        with pytest.raises(Conflict, match="not open"):
            run(call)
    assert not (tmp_path / "m").exists()


def test_bootstrap_creates_a_table_of_episodes(tmp_path: Path) -> None:  # S2-123 S2-124
    async def scenario() -> None:
        async with SQLiteMemoryStore(path=tmp_path / "m") as store:
            await store.bootstrap()
            with index(tmp_path / "m") as db:
                assert db.execute("SELECT count(*) FROM episodes").fetchone() == (0,)
            db.close()
            await put(store, episode("e1"))
            assert ids(await store.recent("alice", limit=1)) == ["e1"]  # a read folds the rows
            with index(tmp_path / "m") as db:
                found = db.execute("SELECT id, user, session, agent FROM episodes").fetchall()
                assert found == [("e1", "alice", "S1", "rag")]
            db.close()

    run(scenario())


def test_the_table_is_written_ahead(tmp_path: Path) -> None:  # S2-126
    async def scenario() -> None:
        async with SQLiteMemoryStore(path=tmp_path / "m"):
            db = index(tmp_path / "m")
            assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            db.close()

    run(scenario())


INDEXES = {
    "user": "episodes_by_user",
    "session": "episodes_of_session",
    "agent": "episodes_by_agent",
}


def test_a_read_by_scope_and_time_uses_an_index(tmp_path: Path) -> None:  # S2-125
    """Not one index over a key of text, but one for each name with the instant."""

    async def scenario() -> None:
        async with SQLiteMemoryStore(path=tmp_path / "m"):
            db = index(tmp_path / "m")
            for name, used in INDEXES.items():
                plan = db.execute(
                    f'EXPLAIN QUERY PLAN SELECT * FROM episodes WHERE "{name}" = ?'
                    " AND said_at < '~' ORDER BY said_at DESC LIMIT 10",
                    ("alice",),
                ).fetchall()
                assert f"USING INDEX {used}" in plan[0][3]
                assert not any("TEMP B-TREE" in step[3] for step in plan)
            db.close()

    run(scenario())


@pytest.mark.parametrize(
    "scope", [("alice",), ("alice", "S1"), ("alice", None, "rag"), ("alice", "S1", "rag")]
)
def test_what_recent_runs_is_read_from_such_an_index_in_its_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scope: tuple[str, ...]
) -> None:  # S2-125
    ran: list[tuple[sqlite3.Connection, str]] = []
    connect = sqlite3.connect

    def traced(*args: Any, **named: Any) -> sqlite3.Connection:
        made: sqlite3.Connection = connect(*args, **named)
        made.set_trace_callback(lambda text: ran.append((made, text)))
        return made

    async def scenario() -> None:
        monkeypatch.setattr(sqlite3, "connect", traced)
        async with SQLiteMemoryStore(path=tmp_path / "m") as store:
            await put(store, *(episode(f"e{n}", n) for n in range(5)))
            await store.recent("alice", limit=1)  # the fold of what was put
            ran.clear()
            assert ids(await store.recent(*scope, limit=2)) == ["e4", "e3"]
            asked = [(db, text) for db, text in ran if re.search(r"FROM episodes\b", text)]
            assert asked
            for db, text in asked:
                steps = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {text}").fetchall()]
                used = [name for name in INDEXES.values() if f"INDEX {name} " in " ".join(steps)]
                assert used, steps
                assert not [step for step in steps if "TEMP B-TREE" in step], steps

    run(scenario())


TOLD = [
    episode("a", 1, user="alice/x", nested={"list": [1, 2.5, None, True], "": {}}),
    episode("b", 2, "Zoë said: 0°C\nand 'ok'", mood="calm"),
    episode("c", 3, session="S2", agent="web"),
]


def given_rows(path: Path) -> list[dict[str, Any]]:
    async def scenario() -> list[dict[str, Any]]:
        async with SQLiteMemoryStore(path=path) as store:
            await put(store, TOLD[1], TOLD[0], TOLD[2])
            return [dict(row) for row in await store.rows()]

    return run(scenario())


def test_the_rows_of_the_table_are_given(tmp_path: Path) -> None:  # S2-129 S2-163
    """The stated columns are not the file's own; ``rows`` gives them, and they fit the schema."""
    rows = given_rows(tmp_path / "m")
    assert [row["id"] for row in rows] == ["a", "b", "c"]
    db = sqlite3.connect(tmp_path / "table.db")
    db.executescript(SCHEMA)
    columns = db.execute("PRAGMA table_info(episodes)").fetchall()
    assert list(rows[0]) == [name for _, name, *_ in columns]
    for row in rows:
        for _, name, kind, *_ in columns:
            assert isinstance(row[name], bytes if kind == "BLOB" else str), name
    db.executemany(
        "INSERT INTO episodes VALUES (:id, :scope_key, :content, :timestamp, :metadata)", rows
    )
    found = db.execute(
        "SELECT id FROM episodes WHERE scope_key LIKE ? ORDER BY timestamp DESC",
        (scope_pattern("alice"),),
    )
    assert found.fetchall() == [("c",), ("b",)]
    (mood,) = db.execute(
        "SELECT json_extract(CAST(metadata AS TEXT), '$.mood') FROM episodes WHERE id = 'b'"
    ).fetchone()
    assert mood == "calm"
    db.close()


def test_a_row_holds_the_whole_episode(tmp_path: Path) -> None:  # S2-163
    """``content`` has the fields without a column of their own; no episode is lost in a row."""
    for told, row in zip(TOLD, given_rows(tmp_path / "m"), strict=True):
        assert None not in row.values()
        payload, metadata = json.loads(row["content"]), json.loads(row["metadata"])
        assert payload == {
            name: getattr(told, name)
            for name in ("content", "source_node", "agent", "user", "session")
        }
        assert metadata == told.metadata
        at = datetime.fromisoformat(row["timestamp"])
        assert Episode(id=row["id"], timestamp=at, metadata=metadata, **payload) == told


# A program in which none of what an extra brings can be imported.
WITHOUT_EXTRAS = """
import asyncio, importlib, sys
LEFT_OUT = (
    "aiosqlite", "alembic", "agents", "anthropic", "cryptography", "langgraph", "mcp", "numpy",
    "onnxruntime", "orjson", "psycopg", "pydantic", "pydantic_ai", "sqlalchemy", "tokenizers",
    "wordllama", "yaml",
)
for name in LEFT_OUT:
    sys.modules[name] = None
from recollect.contracts.episodic import FactPattern, SQLiteFactStore, SQLiteMemoryStore
from recollect.errors import Unsupported
from recollect.testing.episodic_suite import episode, ids, put, rule

async def main(path):
    store, facts = SQLiteMemoryStore(path), SQLiteFactStore(path)
    await store.bootstrap(); await facts.bootstrap()
    await put(store, episode("e1"))
    print(ids(await store.recent("alice", limit=1)))
    for delta in await store.consolidate(rule()):
        await facts.apply_delta(delta)
    (fact,) = await facts.query(FactPattern())
    print([fact.payload["content"]])
    try:
        fact.model_dump()
    except Unsupported as error:
        print(error.hint)
    await facts.close(); await store.close()

asyncio.run(main(sys.argv[1]))
for name in LEFT_OUT:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        continue
    print("not left out:", name)
"""


def test_no_driver_and_no_extra_is_needed(tmp_path: Path) -> None:  # S2-162
    """The store needs no aiosqlite: its path is a memory, and each call runs in a thread."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = [re.split(r"[<>=\[]", one)[0].lower() for one in project["dependencies"]]
    assert names
    assert "aiosqlite" not in names
    wanted = ["['e1']", "['content of e1']", "pip install pydantic"]
    assert printed(WITHOUT_EXTRAS, str(tmp_path / "m")) == wanted


def test_pydantic_is_loaded_by_who_uses_it() -> None:  # S2-155
    program = (
        "import sys, recollect, recollect.contracts.episodic; print('pydantic' in sys.modules)"
    )
    assert printed(program) == ["False"]


def test_a_program_may_end_without_closing(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys\n"
        "from recollect.contracts.episodic import SQLiteMemoryStore\n"
        "from recollect.testing.episodic_suite import episode, put\n"
        "async def main():\n"
        "    store = SQLiteMemoryStore(sys.argv[1])\n"
        "    await store.bootstrap()\n"
        "    await put(store, episode('e1'))\n"
        "asyncio.run(main())\n"
    )
    assert printed(program, str(tmp_path / "m")) == []
    with Memory.open(tmp_path / "m") as memory:
        assert memory.status().episodes == 1


WRITER = """
import asyncio, sys
from recollect.contracts.episodic import Episode, SQLiteMemoryStore
from recollect.testing.episodic_suite import episode, put

async def main(path, name):
    one, other = SQLiteMemoryStore(path), SQLiteMemoryStore(path)
    await one.bootstrap(); await other.bootstrap()
    await asyncio.gather(
        *(put((one, other)[n % 2], episode(f"{name}-{n}", n, session=name)) for n in range(40)),
        *(put((one, other)[n % 2], episode(f"shared-{n}", n)) for n in range(10)),
    )
    await one.close(); await other.close()

asyncio.run(main(sys.argv[1], sys.argv[2]))
"""


def test_writes_of_several_programs_wait_for_each_other(tmp_path: Path) -> None:  # S2-164
    """Two processes with two stores each: every episode is there once, and the chain holds."""
    path = str(tmp_path / "m")
    started = [
        subprocess.Popen([sys.executable, "-c", WRITER, path, name], env=environment())
        for name in ("one", "two")
    ]
    assert [process.wait(120) for process in started] == [0, 0]

    async def scenario() -> None:
        async with SQLiteMemoryStore(path) as store:
            assert (await store.health()).fragment_count == 90
            for name in ("one", "two"):
                found = ids(await store.recent("alice", name, limit=100))
                assert found == [f"{name}-{n}" for n in reversed(range(40))]

    run(scenario())
    with Memory.open(path) as memory:
        assert memory.admin.verify(deep=True).ok


def test_facts_and_episodes_share_a_path(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with SQLiteMemoryStore(tmp_path / "m") as store, SQLiteFactStore(tmp_path / "m") as f:
            await put(store, episode("e1"))
            for delta in await store.consolidate(rule()):
                await f.apply_delta(delta)
            assert ((await f.health()).fragment_count, (await store.health()).ok) == (1, True)

    run(scenario())


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}


def printed(program: str, *arguments: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()
