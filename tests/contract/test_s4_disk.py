"""S4: what stays on the disk of a database over a memory, and what does not."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from recollect import InvalidInput, Memory, Store
from recollect.contracts.blocks.db import models
from recollect.contracts.blocks.db.queries import (
    add_tags,
    block_exists,
    content_hash,
    get_contradictions_for_blocks,
    get_edges_for_block,
    get_tags,
    insert_block,
    insert_contradiction,
    insert_edge,
    resolve_contradiction,
    seed_builtin_data,
    update_block_scoring,
    upsert_frame,
)
from recollect.errors import ConfigError
from tests.contract.test_s4_transactions import block, position, using


def test_the_file_can_be_deleted_at_any_time(tmp_path: Path) -> None:
    path = tmp_path / "x.db"

    async def write(engine: AsyncEngine) -> Any:
        async with engine.begin() as conn:
            await seed_builtin_data(conn)
            await block(conn, "a")
            await block(conn, "b", "inbox")
            await update_block_scoring(conn, "a", embedding=np.array([0.5, 1.0]))
            await insert_contradiction(conn, block_a_id="a", block_b_id="b", score=0.5)
            await resolve_contradiction(conn, "a", "b")
        return await read(engine)

    async def read(engine: AsyncEngine) -> Any:
        async with engine.connect() as conn:
            return {
                name: [tuple(row) for row in await conn.execute(select(table))]
                for name, table in models.metadata.tables.items()
            }

    before = using(path, write)
    assert [len(rows) for rows in before.values()] == [2, 0, 0, 1, 3, 0, 3]
    for each in tmp_path.glob("x.db*"):
        if each.is_file():
            each.unlink()
    assert using(path, read) == before


async def three(engine: AsyncEngine) -> None:
    async with engine.begin() as conn:
        for name in ("a", "b", "c"):
            await block(conn, name)


async def ids(engine: AsyncEngine) -> list[str]:
    async with engine.connect() as conn:
        return sorted((await conn.execute(select(models.blocks.c.id))).scalars())


def rows_in(path: Path) -> list[str]:
    db = sqlite3.connect(path)
    try:
        return [id for (id,) in db.execute("SELECT id FROM blocks ORDER BY id")]
    finally:
        db.close()


def copied_alone(folder: Path) -> Path:
    (folder / "elsewhere").mkdir()
    return Path(shutil.copy(folder / "x.db", folder / "elsewhere" / "x.db"))


def renamed(folder: Path) -> Path:
    return (folder / "x.db").rename(folder / "y.db")


def with_an_older_ledger(folder: Path) -> Path:
    memory, path = folder / "x.db-memory", folder / "x.db"
    shutil.copytree(memory, folder / "older")

    async def more(engine: AsyncEngine) -> None:
        async with engine.begin() as conn:
            await block(conn, "late")

    using(path, more)
    shutil.rmtree(memory)
    (folder / "older").rename(memory)
    return path


@pytest.mark.parametrize("moved", [copied_alone, renamed, with_an_older_ledger])
def test_rows_of_another_memory_are_refused_and_kept(
    tmp_path: Path, moved: Callable[[Path], Path]
) -> None:
    using(tmp_path / "x.db", three)
    path = moved(tmp_path)
    before = rows_in(path)
    assert {"a", "b", "c"} <= set(before)
    for work in (ids, three, ids):
        with pytest.raises(ConfigError, match="made from another memory"):
            using(path, work)
        assert rows_in(path) == before
    path.rename(path.with_name("away.db"))
    assert using(path, ids) in ([], ["a", "b", "c"])  # what the memory beside it has


def test_rows_of_another_memory_are_of_use_again_beside_theirs(tmp_path: Path) -> None:
    using(tmp_path / "x.db", three)
    path = renamed(tmp_path)
    with pytest.raises(ConfigError):
        using(path, ids)
    shutil.rmtree(tmp_path / "y.db-memory", ignore_errors=True)
    (tmp_path / "x.db-memory").rename(tmp_path / "y.db-memory")
    assert using(path, ids) == ["a", "b", "c"]


def test_a_process_that_is_killed_in_a_commit_leaves_it_whole_or_none(tmp_path: Path) -> None:
    """Before the ledger has it, and between the ledger and the file."""
    program = (
        "import asyncio, os, signal, sys\n"
        "from recollect.contracts.blocks.db import create_engine, opened, projection\n"
        "from tests.contract.test_s4_transactions import block\n"
        "where = sys.argv[2]\n"
        "kill = lambda *args: os.kill(os.getpid(), signal.SIGKILL)\n"
        "async def main():\n"
        "    engine = await create_engine(sys.argv[1])\n"
        "    async with engine.begin() as conn:\n"
        "        await block(conn, where + '-a'); await block(conn, where + '-b')\n"
        "        if where == 'before': opened._submit = kill\n"
        "        if where == 'between': projection.write = kill\n"
        "asyncio.run(main())\n"
    )
    path = tmp_path / "x.db"
    for where, count in (("before", 0), ("between", 2)):
        done = subprocess.run([sys.executable, "-c", program, str(path), where], check=False)
        assert done.returncode == -signal.SIGKILL

        async def read(engine: AsyncEngine, where: str = where) -> int:
            async with engine.connect() as conn:
                return sum([await block_exists(conn, f"{where}-{name}") for name in "ab"])

        assert using(path, read) == count, where
    assert position(path)  # and the ledger verifies


def test_erasing_leaves_no_byte_in_the_file(tmp_path: Path) -> None:  # S4-249
    path, text = tmp_path / "x.db", "The spare key lies under the third stone."
    id, vector = content_hash(text), np.array([0.3, 1.7], dtype=np.float32)

    async def write(engine: AsyncEngine) -> None:
        async with engine.begin() as conn:
            await block(conn, "a")
            await insert_block(conn, block_id=id, content=text, category="x", source="api")
            await update_block_scoring(conn, id, embedding=vector)
            await add_tags(conn, id, ["secret"])
            one, other = sorted(("a", id))
            await insert_edge(conn, from_id=one, to_id=other, weight=0.25)
            await insert_contradiction(conn, block_a_id=one, block_b_id=other, score=0.5)

    def holding(part: bytes) -> list[str]:
        files = (each for each in tmp_path.rglob("*") if each.is_file())
        return [each.name for each in files if part in each.read_bytes()]

    using(path, write)
    assert "x.db" in holding(text.encode())  # the control: before, it is there
    assert "x.db" in holding(vector.tobytes())
    with Memory.open(f"{path}-memory") as memory:
        told = memory.erase(id)
        assert any("x.db" in line for line in told.places)
        assert memory.admin.verify().ok
    assert not path.exists()
    assert holding(text.encode()) == holding(vector.tobytes()) == holding(id.encode()) == []

    async def read(engine: AsyncEngine) -> None:
        async with engine.connect() as conn:
            assert await block_exists(conn, "a")
            assert not await block_exists(conn, id)
            assert await get_tags(conn, id) == []
            assert await get_edges_for_block(conn, "a") == []
            assert await get_contradictions_for_blocks(conn, ["a"]) == []

    using(path, read)


def test_erasing_while_a_connection_is_open_reaches_it_too(tmp_path: Path) -> None:
    async def work(engine: AsyncEngine) -> None:
        async with engine.begin() as conn:
            await block(conn, "a")
            await block(conn, "b")
        async with engine.connect() as conn:
            assert await block_exists(conn, "a")
            await conn.rollback()
            with Memory.open(f"{tmp_path}/x.db-memory") as memory:
                memory.erase("a")
            assert not await block_exists(conn, "a")  # of the same connection, begun again
            assert await block_exists(conn, "b")

    using(tmp_path / "x.db", work)


def test_dropping_a_memory_removes_its_file(tmp_path: Path) -> None:
    async def work(engine: AsyncEngine) -> None:
        async with engine.begin() as conn:
            await block(conn, "a")

    using(tmp_path / "x.db", work)
    with Store.open(f"{tmp_path}/x.db-memory") as store:
        store.drop("main")
    assert not (tmp_path / "x.db").exists()


def test_erasing_leaves_the_files_of_others_alone(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m") as memory:
        memory.remember("Tea.", id="a")
        theirs = tmp_path / "m" / "notes.db"
        with sqlite3.connect(theirs) as conn:
            conn.execute("CREATE TABLE notes (id TEXT)")
        conn.close()
        (tmp_path / "m" / "link.db").symlink_to(theirs)
        memory.erase("a")
        assert theirs.exists()


def test_a_frame_needs_a_name_that_a_document_can_have(tmp_path: Path) -> None:
    async def work(engine: AsyncEngine) -> None:
        with pytest.raises(InvalidInput):
            async with engine.begin() as conn:
                await upsert_frame(
                    conn, name="no blanks", weights_json="{}", filters_json="{}",
                    guarantees_json="[]", template="", token_budget=1, cache_json=None,
                    source="user",
                )  # fmt: skip

    using(tmp_path / "x.db", work)
    assert os.path.exists(tmp_path / "x.db")
