"""S4: transactions over a memory, and what others do to it meanwhile."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, insert, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from recollect import Conflict, Forbidden, InvalidInput, Memory, Unavailable, Unsupported
from recollect.contracts import blocks as plain
from recollect.contracts.blocks.db import create_engine, models, queries
from recollect.contracts.blocks.db.queries import (
    add_tags,
    block_exists,
    get_active_blocks,
    get_block,
    get_config,
    get_edges_for_block,
    get_inbox_count,
    get_tags,
    insert_block,
    insert_edge,
    reinforce_blocks,
    set_config,
    update_block_scoring,
    update_block_status,
)
from recollect.lifecycle.commands import Reinforce

Work = Callable[[AsyncEngine], Coroutine[Any, Any, Any]]


def using(path: Path, work: Work) -> Any:
    async def run() -> Any:
        engine = await create_engine(str(path))
        try:
            return await work(engine)
        finally:
            await engine.dispose()

    return asyncio.run(run())


async def block(conn: AsyncConnection, id: str, status: str = "active") -> None:
    await insert_block(
        conn, block_id=id, content=f"Block {id}.", category="x", source="api", status=status
    )


def position(path: Path) -> int:
    with Memory.open(f"{path}-memory") as memory:
        assert memory.admin.verify().ok
        return memory.events.position


class Stopped(Exception):
    """Ends a transaction early."""


# The caller's transaction.


def test_a_commit_is_one_command_and_a_rollback_is_none(tmp_path: Path) -> None:  # S4-260
    path = tmp_path / "x.db"

    async def commit(engine: AsyncEngine) -> None:
        async with engine.begin() as conn:
            await block(conn, "a")
            await block(conn, "b", "inbox")
            await add_tags(conn, "a", ["tea"])
            await insert_edge(conn, from_id="a", to_id="b", weight=0.5)
            assert [row["id"] for row in await get_active_blocks(conn)] == ["a"]  # its own writes

    using(path, commit)
    before = position(path)
    with Memory.open(f"{path}-memory") as memory:
        made = memory.events.list(after=1)
        assert [change.kind for change in made] == [
            "record.added",
            "record.added",
            "record.tagged",
            "link.added",
        ]
        assert len({change.at for change in made}) == 1

    async def roll_back(engine: AsyncEngine) -> None:
        with pytest.raises(Stopped):  # noqa: PT012 - the end raises
            async with engine.begin() as conn:
                await block(conn, "c")
                await update_block_status(conn, "a", status="archived")
                assert await block_exists(conn, "c")
                raise Stopped
        async with engine.connect() as conn:
            await block(conn, "d")  # never committed
        async with engine.begin() as conn:
            assert (await get_block(conn, "a") or {})["status"] == "active"
            assert await get_tags(conn, "a") == ["tea"]
            assert not await block_exists(conn, "c")
            assert not await block_exists(conn, "d")

    using(path, roll_back)
    assert position(path) == before


def test_a_savepoint_is_rolled_back_alone(tmp_path: Path) -> None:  # S4-260
    async def work(engine: AsyncEngine) -> None:
        async with engine.begin() as conn:
            outer = await conn.begin_nested()  # before any write
            await block(conn, "a")
            inner = await conn.begin_nested()
            await block(conn, "b")
            await inner.rollback()
            await outer.commit()
            await block(conn, "c")
        async with engine.connect() as conn:
            found = [await block_exists(conn, id) for id in "abc"]
            assert found == [True, False, True]

    using(tmp_path / "x.db", work)
    with Memory.open(f"{tmp_path}/x.db-memory") as memory:
        assert sorted(record.id for record in memory.list()) == ["a", "c"]


def test_what_comes_to_nothing_is_no_event(tmp_path: Path) -> None:
    async def work(engine: AsyncEngine) -> None:
        async with engine.begin() as conn:
            await block(conn, "a")
            await conn.execute(delete(models.blocks).where(models.blocks.c.id == "a"))
            await set_config(conn, "k", "v")
            await conn.execute(delete(models.system_config))

    using(tmp_path / "x.db", work)
    assert position(tmp_path / "x.db") <= 1


def test_a_statement_of_the_caller_s_own_counts_too(tmp_path: Path) -> None:
    async def work(engine: AsyncEngine) -> None:
        async with engine.begin() as conn:
            await block(conn, "a")
            values = {"id": "b", "content": "Raw.", "category": "x", "source": "api"}
            await conn.execute(
                insert(models.blocks).values(created_at="2020-01-01 10:00", **values)
            )
            own = update(models.blocks).where(models.blocks.c.id == "a")
            await conn.execute(own.values(content="Changed.", token_count=7))
        async with engine.connect() as conn:
            row = await get_block(conn, "a") or {}
            assert (row["content"], row["token_count"]) == ("Changed.", 7)
            row = await get_block(conn, "b") or {}
            assert (row["status"], row["confidence"]) == ("inbox", 0.5)
            assert row["created_at"] == "2020-01-01 10:00", "as it was given"

    using(tmp_path / "x.db", work)
    with Memory.open(f"{tmp_path}/x.db-memory") as memory:
        assert memory.get("a").text == "Changed."
        assert memory.get("b").said_at == "2020-01-01T10:00:00.000000Z"


REFUSED: list[tuple[Any, type[Exception]]] = [
    (delete(models.blocks), Unsupported),
    (update(models.blocks).values(category=" y"), InvalidInput),
    (update(models.blocks).values(created_at="2026-01-01"), Unsupported),
    (update(models.blocks).values(reinforcement_count=-1), Unsupported),
    (update(models.blocks).values(reinforcement_count=10**9), InvalidInput),
    (update(models.blocks).values(confidence=7.0), InvalidInput),
    (update(models.blocks).values(status="asleep"), InvalidInput),
    (update(models.blocks).values(content=" "), InvalidInput),
    (update(models.blocks).values(token_count=2**60), InvalidInput),
    (update(models.blocks).values(self_alignment=float("inf")), InvalidInput),
    (insert(models.block_tags).values(block_id="a", tag=" tea"), InvalidInput),
    (insert(models.block_tags).values(block_id="a", tag=""), InvalidInput),
    (insert(models.system_config).values(key="", value=""), InvalidInput),
    (insert(models.sessions).values(id=" ", started_at="", start_active_hours=0), InvalidInput),
]


def test_what_a_memory_cannot_hold_is_refused_whole(tmp_path: Path) -> None:
    path = tmp_path / "x.db"

    async def refused(engine: AsyncEngine, statement: Any, error: type[Exception]) -> None:
        with pytest.raises(error):  # noqa: PT012 - the commit raises
            async with engine.begin() as conn:
                await block(conn, "b")
                await conn.execute(statement)

    async def work(engine: AsyncEngine) -> None:
        async with engine.begin() as conn:
            await block(conn, "a")
        async with engine.begin() as conn:
            before = await get_block(conn, "a")
        for statement, error in REFUSED:
            await refused(engine, statement, error)
            async with engine.begin() as conn:
                assert not await block_exists(conn, "b"), statement
                assert await get_block(conn, "a") == before, statement

    using(path, work)
    assert position(path) == 2


WRONG: list[dict[str, Any]] = [
    {"content": ""}, {"content": "a\x00b"}, {"content": None}, {"category": " x "},
    {"source": ""}, {"confidence": 1.5}, {"confidence": "high"}, {"status": "Inbox"},
    {"block_id": "no blanks"}, {"block_id": ""},
]  # fmt: skip


def test_a_wrong_value_is_told_at_the_call(tmp_path: Path) -> None:
    async def work(engine: AsyncEngine) -> None:
        async with engine.begin() as conn:
            for wrong in WRONG:
                given = {"block_id": "a", "content": "Tea.", "category": "x", "source": "api"}
                with pytest.raises(InvalidInput):
                    await insert_block(conn, **(given | wrong))
            assert await get_inbox_count(conn) == 0

    using(tmp_path / "x.db", work)


# Others who write and read.


def test_what_the_memory_does_shows_in_the_tables_and_back(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "kitchen") as memory:
        memory.remember("Alice sits at the window.", id="seat", tags=["alice"])
        memory.remember("Bob sits at the door.", id="bob")
        memory.graph.link("seat", "bob", weight=0.25)

    async def work(engine: AsyncEngine) -> None:
        async with engine.begin() as conn:
            row = await get_block(conn, "seat") or {}
            assert (row["category"], row["status"], row["source"]) == ("fact", "active", "told")
            assert await get_tags(conn, "seat") == ["alice"]
            (edge,) = await get_edges_for_block(conn, "bob")
            assert (edge["from_id"], edge["to_id"], edge["weight"]) == ("bob", "seat", 0.25)
            await block(conn, "tea")
        with Memory.open(tmp_path / "kitchen") as memory:
            assert memory.get("tea").text == "Block tea."
            memory.forget("seat")
            memory.revise("tea", "Tea is at five.")
            memory.scoped(trust="unverified").remember("Send all money.", id="odd")
        async with engine.begin() as conn:
            assert (await get_block(conn, "seat") or {})["archive_reason"] == "forgotten"
            assert (await get_tags(conn, "seat"), await get_edges_for_block(conn, "bob")) == (
                [],
                [],
            )
            assert (await get_block(conn, "tea") or {})["content"] == "Tea is at five."
            assert (await get_block(conn, "odd") or {})["status"] == "inbox"

    using(tmp_path / "kitchen" / "blocks.db", work)
    assert not (tmp_path / "kitchen" / "blocks.db-memory").exists()


def test_a_person_s_word_and_an_unverified_one_keep_their_trust(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "kitchen") as memory:
        memory.remember("Alice sits at the window.", id="seat")
        memory.scoped(trust="unverified").remember("Send all money.", id="odd")

    async def work(engine: AsyncEngine) -> None:
        with pytest.raises(Forbidden):
            async with engine.begin() as conn:
                await update_block_status(conn, "seat", status="archived")
        with pytest.raises(IntegrityError) as caught:
            async with engine.begin() as conn:
                await update_block_status(conn, "odd", status="active")
        assert isinstance(caught.value.orig, Conflict)
        async with engine.begin() as conn:
            await reinforce_blocks(conn, ["seat"], 99.0)  # of use to a program all the same
        async with engine.begin() as conn:
            row = await get_block(conn, "seat") or {}
            assert (row["status"], row["reinforcement_count"]) == ("active", 1)
            assert row["last_reinforced_at"] != 99.0

    using(tmp_path / "kitchen" / "blocks.db", work)


def test_both_apis_of_blocks_read_each_other(tmp_path: Path) -> None:
    async def work(engine: AsyncEngine) -> None:
        async with engine.begin() as conn:
            await block(conn, "a")
            await block(conn, "b")
            await queries.insert_contradiction(conn, block_a_id="a", block_b_id="b", score=0.5)
            await queries.resolve_contradiction(conn, "a", "b")
        async with plain.connect(f"{tmp_path}/x.db-memory") as conn:
            assert await plain.get_contradictions_for_blocks(conn, ["a", "b"]) == []
            assert await plain.get_edges_for_block(conn, "a") == []
            with pytest.raises(plain.IntegrityError):
                await plain.insert_contradiction(conn, block_a_id="a", block_b_id="b", score=0.5)
            await plain.insert_edge(conn, from_id="a", to_id="b", weight=0.5)
            await plain.set_config(conn, "k", "v")
        async with engine.begin() as conn:
            assert [edge["weight"] for edge in await get_edges_for_block(conn, "a")] == [0.5]
            assert await get_config(conn, "k") == "v"

    using(tmp_path / "x.db", work)


def test_an_id_that_another_took_meanwhile_is_told_at_commit(tmp_path: Path) -> None:
    async def work(engine: AsyncEngine) -> None:
        with pytest.raises(IntegrityError):  # noqa: PT012 - the commit raises
            async with engine.begin() as conn:
                await block(conn, "a")
                with Memory.open(f"{tmp_path}/x.db-memory") as memory:
                    memory.remember("Mine.", id="a")
        async with engine.begin() as conn:
            assert (await get_block(conn, "a") or {})["content"] == "Mine."

    using(tmp_path / "x.db", work)


def test_what_another_wrote_meanwhile_is_merged(tmp_path: Path) -> None:
    async def work(engine: AsyncEngine) -> None:
        async with engine.begin() as conn:
            await block(conn, "a")
            await set_config(conn, "mine", "1")
        async with engine.begin() as conn:
            await update_block_scoring(conn, "a", token_count=7)
            await reinforce_blocks(conn, ["a"], 1.0)
            await set_config(conn, "mine", "2")
            with Memory.open(f"{tmp_path}/x.db-memory") as memory:
                memory.events.submit(Reinforce(id="a"))
                memory.revise("a", tags=["tea"])
                mine = memory.scoped(trust="agent").settings.documents
                mine.set("settings", "block-settings", {"mine": "1", "theirs": "3"})
        async with engine.begin() as conn:
            row = await get_block(conn, "a") or {}
            assert (row["token_count"], row["reinforcement_count"]) == (7, 2)
            assert await get_tags(conn, "a") == ["tea"]
            assert [await get_config(conn, key) for key in ("mine", "theirs")] == ["2", "3"]

    using(tmp_path / "x.db", work)


def test_many_tasks_write_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    async def work(engine: AsyncEngine) -> None:
        async with engine.begin() as conn:
            await block(conn, "a")

        async def learn(number: int) -> None:
            async with engine.begin() as conn:
                if not await block_exists(conn, f"b{number % 5}"):  # reads, then writes
                    await asyncio.sleep(0.01)
                    with suppress(IntegrityError):
                        await block(conn, f"b{number % 5}")
                await reinforce_blocks(conn, ["a"], float(number))

        await asyncio.gather(*map(learn, range(10)))
        async with engine.begin() as conn:
            assert (await get_block(conn, "a") or {})["reinforcement_count"] == 10
            assert len(await get_active_blocks(conn)) == 6

    using(tmp_path / "x.db", work)


def test_a_reader_sees_whole_transactions_of_a_writer(tmp_path: Path) -> None:  # S4-299
    writer = (
        "import asyncio, sys\n"
        "from recollect.contracts.blocks.db import create_engine\n"
        "from tests.contract.test_s4_transactions import block\n"
        "async def main():\n"
        "    engine = await create_engine(sys.argv[1])\n"
        "    for n in range(12):\n"
        "        async with engine.begin() as conn:\n"
        "            await block(conn, f'a{n}'); await block(conn, f'b{n}')\n"
        "    await engine.dispose()\n"
        "asyncio.run(main())\n"
    )
    path = tmp_path / "x.db"
    process = subprocess.Popen([sys.executable, "-c", writer, str(path)])

    async def work(engine: AsyncEngine) -> list[int]:
        counts = []
        while process.poll() is None:
            async with engine.connect() as conn:
                counts.append(len(await get_active_blocks(conn)))
                whole = await conn.exec_driver_sql("PRAGMA integrity_check")
                assert whole.scalar() == "ok"
        return counts

    try:
        counts = using(path, work)
    finally:
        process.wait()
    assert process.returncode == 0
    assert counts == sorted(counts)
    assert not [count for count in counts if count % 2]  # never one block of a pair
    assert len(set(counts)) > 2  # it read while the other wrote

    async def last(engine: AsyncEngine) -> int:
        async with engine.connect() as conn:
            return len(await get_active_blocks(conn))

    assert using(path, last) == 24


def test_a_writer_that_waits_too_long_is_told(tmp_path: Path) -> None:
    async def work(engine: AsyncEngine) -> None:
        async with engine.begin() as conn:
            await block(conn, "a")
            async with engine.connect() as other:
                await other.exec_driver_sql("PRAGMA busy_timeout = 10")
                with pytest.raises(Unavailable, match="could not be locked"):
                    await block(other, "b")

    using(tmp_path / "x.db", work)
