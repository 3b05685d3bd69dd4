"""S4: what the rows themselves hold and refuse, by statements of the caller's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from recollect import InvalidInput, Memory, Unsupported
from recollect.contracts.blocks.db.models import block_tags, blocks, contradictions, edges
from recollect.contracts.blocks.db.queries import (
    add_tags,
    content_hash,
    insert_block,
    insert_contradiction,
    insert_edge,
    resolve_contradiction,
)
from tests.contract.test_s4_tables import in_test_engine
from tests.contract.test_s4_transactions import block, position, using

MARKDOWN = (
    "# Tea\n\n- at *four*  \n- `kettle --boil`\n\n> 日本語 ~~never~~",
    "  a line with blank ends \t ",
    "\n\nlines around it\n\n",
    "one\u2028two\u2029three\u0085four",
    "windows\r\nlines\rand old ones",
    "e\u0301 is not \u00e9, 🧪 <b>&amp;</b> {{x}} \\n %s '; --",
)


async def found(conn: AsyncConnection, statement: Any) -> list[Any]:
    return [tuple(row) for row in await conn.execute(statement)]


# Contents.


def test_the_content_of_a_row_is_the_markdown_as_it_was_given(tmp_path: Path) -> None:  # S4-242
    assert "file_path" not in blocks.c
    ids = [content_hash(text) for text in MARKDOWN]
    assert len(set(ids)) == len(MARKDOWN)

    async def write(engine: AsyncEngine) -> None:
        async with engine.begin() as conn:
            for id, text in zip(ids, MARKDOWN, strict=True):
                await insert_block(conn, block_id=id, content=text, category="x", source="api")
            await same(conn)

    async def same(conn: AsyncConnection) -> None:
        for id, text in zip(ids, MARKDOWN, strict=True):
            wanted = select(blocks.c.content, func.typeof(blocks.c.content))
            assert await found(conn, wanted.where(blocks.c.id == id)) == [(text, "text")]

    async def read(engine: AsyncEngine) -> None:
        async with engine.connect() as conn:
            await same(conn)

    path = tmp_path / "x.db"
    using(path, write)
    using(path, read)
    for each in tmp_path.glob("x.db*"):
        if each.is_file():
            each.unlink()
    using(path, read)  # made again from the ledger


# Deleting.


async def three(conn: AsyncConnection) -> None:
    """Three blocks, each with a tag, in a chain of edges and contradictions."""
    for id in "abc":
        await block(conn, id)
        await add_tags(conn, id, [f"tag-{id}"])
    for one, other in ("ab", "bc"):
        await insert_edge(conn, from_id=one, to_id=other, weight=0.5)
        await insert_contradiction(conn, block_a_id=one, block_b_id=other, score=0.5)


async def pairs(conn: AsyncConnection) -> list[list[Any]]:
    return [
        await found(conn, select(block_tags.c.block_id).order_by(block_tags.c.block_id)),
        await found(conn, select(edges.c.from_id, edges.c.to_id).order_by(edges.c.from_id)),
        await found(conn, select(contradictions.c.block_a_id, contradictions.c.block_b_id)),
    ]


ALL = [[("a",), ("b",), ("c",)], [("a", "b"), ("b", "c")], [("a", "b"), ("b", "c")]]
WITHOUT_A = [[("b",), ("c",)], [("b", "c")], [("b", "c")]]


def test_the_rows_of_a_deleted_block_go_with_it() -> None:  # S4-249
    async def work(conn: AsyncConnection) -> None:
        await three(conn)
        assert await pairs(conn) == ALL
        await conn.execute(delete(blocks).where(blocks.c.id == "a"))
        assert await pairs(conn) == WITHOUT_A  # at once, before the commit
        assert await found(conn, select(blocks.c.id).order_by(blocks.c.id)) == [("b",), ("c",)]

    in_test_engine(work)


def test_a_stored_block_is_not_deleted_but_erased(tmp_path: Path) -> None:  # S4-249
    path = tmp_path / "x.db"

    async def refused(engine: AsyncEngine) -> None:
        async with engine.begin() as conn:
            await three(conn)
        with pytest.raises(Unsupported, match=r"cannot be deleted") as caught:  # noqa: PT012
            async with engine.begin() as conn:
                await conn.execute(delete(blocks).where(blocks.c.id == "a"))
                assert await pairs(conn) == WITHOUT_A
        assert "Memory.erase" in (caught.value.hint or "")
        async with engine.connect() as conn:
            assert await pairs(conn) == ALL, "nothing of it was taken"

    async def erased(engine: AsyncEngine) -> None:
        async with engine.connect() as conn:
            assert await pairs(conn) == WITHOUT_A

    using(path, refused)
    before = position(path)
    with Memory.open(f"{path}-memory") as memory:
        memory.erase("a")
    assert position(path) > before
    using(path, erased)


# Contradictions.


async def pair(conn: AsyncConnection, **columns: Any) -> None:
    given = {"block_a_id": "a", "block_b_id": "b", "score": 0.5, "created_at": "2026-01-01"}
    await conn.execute(insert(contradictions).values(given | columns))


async def state(engine: AsyncEngine) -> list[Any]:
    async with engine.connect() as conn:
        return await found(conn, select(contradictions.c.score, contradictions.c.resolved))


def test_a_score_is_from_0_to_1(tmp_path: Path) -> None:  # S4-250
    async def work(engine: AsyncEngine) -> None:
        async with engine.begin() as conn:
            await three(conn)
            await block(conn, "d")
        for wrong in (-0.1, 1.1, float("inf")):
            with pytest.raises(InvalidInput, match="score"):
                async with engine.begin() as conn:
                    await pair(conn, block_b_id="d", score=wrong)
            with pytest.raises(InvalidInput, match="score"):
                async with engine.begin() as conn:
                    await conn.execute(update(contradictions).values(score=wrong))
        assert await state(engine) == [(0.5, 0), (0.5, 0)]
        for one, score in (("a", 0.0), ("b", 1.0)):
            async with engine.begin() as conn:
                await insert_contradiction(conn, block_a_id=one, block_b_id="d", score=score)
        assert sorted(await state(engine)) == [(0.0, 0), (0.5, 0), (0.5, 0), (1.0, 0)]
        with pytest.raises(IntegrityError, match="UNIQUE"):
            async with engine.begin() as conn:
                await pair(conn, block_a_id="b", block_b_id="d")
        with pytest.raises(IntegrityError, match="FOREIGN KEY"):
            async with engine.begin() as conn:
                await pair(conn, block_b_id="nobody")

    using(tmp_path / "x.db", work)


def test_a_weight_is_from_0_to_1_also_in_a_statement_of_the_caller_s(tmp_path: Path) -> None:
    # S4-247
    async def work(engine: AsyncEngine) -> None:
        async with engine.begin() as conn:
            await three(conn)
        for wrong in (-0.1, 1.5, float("inf")):
            with pytest.raises(InvalidInput, match="weight"):
                async with engine.begin() as conn:
                    await conn.execute(update(edges).values(weight=wrong))
        async with engine.connect() as conn:
            assert await found(conn, select(edges.c.weight)) == [(0.5,), (0.5,)]

    using(tmp_path / "x.db", work)


def test_resolved_is_0_and_then_1(tmp_path: Path) -> None:  # S4-250
    async def work(engine: AsyncEngine) -> None:
        async with engine.begin() as conn:
            await block(conn, "a")
            await block(conn, "b")
            await pair(conn)
        assert await state(engine) == [(0.5, 0)], "it begins as not resolved"
        for wrong in (2, -1, "yes", 0.5):
            with pytest.raises(InvalidInput, match="resolved must be 0 or 1"):
                async with engine.begin() as conn:
                    await conn.execute(update(contradictions).values(resolved=wrong))
            assert await state(engine) == [(0.5, 0)]
        async with engine.begin() as conn:
            await resolve_contradiction(conn, "a", "b")
        assert await state(engine) == [(0.5, 1)], "and keeps its score"
        with pytest.raises(InvalidInput, match="resolved must be 0 or 1"):
            async with engine.begin() as conn:
                await conn.execute(update(contradictions).values(resolved=2))
        assert await state(engine) == [(0.5, 1)]

    using(tmp_path / "x.db", work)
