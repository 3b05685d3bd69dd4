"""S4: what a row says is kept, and both APIs over one memory mean the same by it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, insert, select, text, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from recollect import Conflict, Forbidden, InvalidInput, Memory, Record, Unsupported
from recollect.contracts import blocks as plain
from recollect.contracts.blocks.db import create_engine, queries
from recollect.contracts.blocks.db.models import blocks, contradictions, edges, sessions
from recollect.lifecycle.commands import Link
from tests.contract.test_s4_transactions import block, using

Work = Callable[[AsyncConnection], Awaitable[Any]]
EVEN = json.dumps(
    dict.fromkeys("similarity confidence recency centrality reinforcement".split(), 0.2)
)
ROW = {"content": "Own words.", "category": "x", "source": "cli", "created_at": "2026-01-01"}


def as_(origin: Any, path: Path, work: Work) -> Any:
    """Runs some work in one transaction of an engine with this origin."""

    async def run() -> Any:
        engine = await create_engine(str(path), trust=origin)
        try:
            async with engine.begin() as conn:
                return await work(conn)
        finally:
            await engine.dispose()

    return asyncio.run(run())


async def archive_all(conn: AsyncConnection) -> None:
    for row in await queries.get_active_blocks(conn):
        await queries.update_block_status(
            conn, row["id"], status="archived", archive_reason="decayed"
        )


def test_more_than_20_are_archived_at_once_by_who_may(tmp_path: Path) -> None:  # S4-270
    path = tmp_path / "x.db"

    async def thirty(conn: AsyncConnection) -> None:
        for n in range(30):
            await block(conn, f"b{n}")

    async def counted(conn: AsyncConnection) -> int:
        return len(await queries.get_active_blocks(conn))

    as_("agent", path, thirty)
    with pytest.raises(Forbidden, match="more than 20") as caught:
        as_("agent", path, archive_all)
    assert 'create_engine(path, trust="person")' in (caught.value.hint or "")
    with Memory.open(f"{path}-memory") as memory:
        memory.remember("Said by a person.", id="said")

    async def archive_said(conn: AsyncConnection) -> None:
        for id in ("said", "b0"):
            await queries.update_block_status(conn, id, status="archived")

    with pytest.raises(Forbidden) as caught:  # for another reason, which the hint is about
        as_("agent", path, archive_said)
    assert "create_engine" not in (caught.value.hint or "")
    assert as_("agent", path, counted) == 31
    as_("person", path, archive_all)
    assert as_("agent", path, counted) == 0
    with Memory.open(f"{path}-memory") as memory:
        gone = memory.list(filter="status = 'archived'", include=["archived"], limit=100)
        assert {memory.history(record.id)[-1].by for record in gone} == {"person"}
        assert len(gone) == 31


def test_an_agent_archives_20_in_each_transaction(tmp_path: Path) -> None:  # S4-270
    path = tmp_path / "x.db"

    async def fifty(conn: AsyncConnection) -> None:
        for n in range(50):
            await block(conn, f"b{n}")

    async def archive(conn: AsyncConnection, count: int) -> int:
        active = await queries.get_active_blocks(conn)
        for row in active[:count]:
            await queries.update_block_status(conn, row["id"], status="archived")
        return len(active)

    as_("agent", path, fifty)
    with pytest.raises(Forbidden, match="more than 20"):
        as_("agent", path, lambda conn: archive(conn, 21))
    left = [as_("agent", path, lambda conn: archive(conn, 20)) for _ in range(3)]
    assert left == [50, 30, 10]


def test_a_policy_can_ask_for_less_than_20_of_an_agent_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.db"

    async def three(conn: AsyncConnection) -> None:
        for id in "abc":
            await block(conn, id)

    as_("agent", path, three)
    with Memory.open(f"{path}-memory") as memory:
        memory.settings.documents.set("policy", "agents", {"forget_at_once": 2})
    with pytest.raises(Forbidden, match="more than 2 "):
        as_("agent", path, archive_all)
    as_("person", path, archive_all)


def test_an_origin_is_one_that_there_is(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="trust"):
        as_("root", tmp_path / "x.db", queries.get_inbox_count)


# What a row says.


def test_what_an_insert_says_is_kept(tmp_path: Path) -> None:  # S4-237
    path = tmp_path / "x.db"
    given = ROW | {
        "id": "a", "created_at": "2020-01-01T00:00:00+02:00", "status": "active",
        "archive_reason": None, "confidence": 0.25, "reinforcement_count": 3,
        "decay_lambda": 0.02, "last_reinforced_at": 1.5, "self_alignment": -0.5,
        "embedding": b"\x00\x01\x02\x03", "embedding_model": "m", "token_count": 7,
        "last_session_id": "s-9",
    }  # fmt: skip

    async def work(engine: AsyncEngine) -> None:
        async with engine.begin() as conn:
            await conn.execute(insert(blocks).values(given))
        for _ in range(2):
            async with engine.connect() as conn:
                assert await queries.get_block(conn, "a") == given
        async with engine.begin() as conn:
            await conn.execute(update(blocks).values(category="habit", last_session_id="s-10"))
        async with engine.begin() as conn:
            row = await queries.get_block(conn, "a")
            assert row == given | {"category": "habit", "last_session_id": "s-10"}
            await conn.execute(update(blocks).values(last_session_id=None))
        async with engine.connect() as conn:
            row = await queries.get_block(conn, "a")
            assert row == given | {"category": "habit", "last_session_id": None}

    using(path, work)
    with Memory.open(f"{path}-memory") as memory:
        record = memory.get("a")
        assert isinstance(record, Record)
        assert (record.said_at, record.kind) == ("2019-12-31T22:00:00.000000Z", "habit")


def test_the_session_of_a_handle_shows_until_a_row_says_another(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "w") as memory:
        memory.scoped(trust="agent", session="talk").remember("Tea is at four.", id="tea")

    async def work(engine: AsyncEngine) -> None:
        for said in ("talk", None, "other"):
            async with engine.begin() as conn:
                if said != "talk":
                    await conn.execute(update(blocks).values(last_session_id=said))
            async with engine.connect() as conn:
                assert (await queries.get_block(conn, "tea") or {})["last_session_id"] == said

    using(tmp_path / "w" / "blocks.db", work)


LONG_AGO = "2020-01-01T00:00:00Z"
REFUSED: list[tuple[Any, type[Exception], str]] = [
    (insert(blocks).values(ROW | {"id": "z", "created_at": "yesterday"}), InvalidInput, "ISO 8601"),
    (update(blocks).values(created_at=LONG_AGO), Unsupported, "when the block is inserted"),
    (text("UPDATE blocks SET embedding = 'many'"), InvalidInput, "must be bytes"),
    (text("UPDATE blocks SET token_count = 'many'"), InvalidInput, "another type"),
    (text("UPDATE blocks SET reinforcement_count = 'many'"), InvalidInput, "whole number"),
    (text("UPDATE blocks SET decay_lambda = 'slow'"), InvalidInput, "must be a number"),
    (text("UPDATE blocks SET self_alignment = 'many'"), InvalidInput, "another type"),
    (delete(blocks).where(blocks.c.id == "a"), Unsupported, "archive it, or use Memory.erase"),
    (
        insert(edges).values(from_id="a", to_id="b", weight=0.5, created_at="now"),
        InvalidInput,
        "ISO 8601",
    ),
    (
        insert(edges).values(from_id="b", to_id="a", weight=0.5, created_at=LONG_AGO),
        InvalidInput,
        "Edge.canonical(a, b)",
    ),
    (
        insert(contradictions).values(block_a_id="a", block_b_id="b", score=0.5, created_at=""),
        InvalidInput,
        "ISO 8601",
    ),
    (
        insert(sessions).values(id="s", started_at=LONG_AGO, start_active_hours=0.0),
        Unsupported,
        "start_session",
    ),
    (update(sessions).values(ended_at=LONG_AGO), Unsupported, "end_session"),
    (update(sessions).values(ended_at="later"), InvalidInput, "ISO 8601"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_cannot_be_kept_is_refused_with_the_way_out(number: int, tmp_path: Path) -> None:
    # S4-248: an edge also where the caller writes the statement
    statement, error, said = REFUSED[number]

    async def work(engine: AsyncEngine) -> None:
        async with engine.begin() as conn:
            await block(conn, "a")
            await block(conn, "b")
            await queries.start_session(
                conn, session_id="open", task_type="x", start_active_hours=0.0
            )
        with pytest.raises(error) as caught:
            async with engine.begin() as conn:
                await conn.execute(statement)
        assert said in str(caught.value)
        async with engine.connect() as conn:
            assert len(await queries.get_active_blocks(conn)) == 2
            assert (await queries.get_active_session(conn) or {})["ended_at"] is None

    using(tmp_path / "x.db", work)


def test_the_row_of_an_edge_says_when_it_was_made_in_any_form(tmp_path: Path) -> None:
    given = {"from_id": "a", "to_id": "b", "weight": 0.5, "created_at": "2020-01-01 10:00:00"}

    async def work(engine: AsyncEngine) -> None:
        async with engine.begin() as conn:
            await block(conn, "a")
            await block(conn, "b")
            await conn.execute(insert(edges).values(given))
        async with engine.begin() as conn:
            await conn.execute(update(edges).values(weight=0.75))
        async with engine.connect() as conn:
            (row,) = (await conn.execute(select(edges))).mappings().all()
            assert dict(row) == given | {"weight": 0.75, "reinforcement_count": 0}

    using(tmp_path / "x.db", work)


# Both APIs over one memory.

Step = tuple[str, tuple[Any, ...], dict[str, Any]]
BLOCK = {"category": "x", "source": "api", "status": "active"}
STORY: list[Step] = [
    ("insert_block", (), {"block_id": "a", "content": "Tea."} | BLOCK),
    ("insert_block", (), {"block_id": "b", "content": "Milk."} | BLOCK),
    ("insert_block", (), {"block_id": "c", "content": "Cake."} | BLOCK | {"status": "inbox"}),
    ("add_tags", ("a", ["self/goal"]), {}),
    ("insert_edge", (), {"from_id": "a", "to_id": "b", "weight": 0.25}),
    ("reinforce_edges", ([("a", "b")],), {}),
    ("reinforce_blocks", (["a", "c"], 2.5), {}),
    ("update_block_status", ("a",), {"status": "archived", "archive_reason": "superseded"}),
    ("reinforce_blocks", (["a"], 3.5), {}),
    ("update_block_status", ("a",), {"status": "archived", "archive_reason": "decayed"}),
    ("update_block_status", ("a",), {"status": "archived", "archive_reason": None}),
    ("update_block_status", ("a",), {"status": "active"}),
    ("update_block_status", ("b",), {"status": "inbox"}),
    ("reinforce_blocks", (["b"], 4.5), {}),
    ("update_block_status", ("c",), {"status": "active"}),
    ("update_block_scoring", ("c",), {"confidence": 0.75, "token_count": 3}),
    ("update_block_status", ("b",), {"status": "active"}),
    ("upsert_frame", (), {"name": "kitchen", "weights_json": EVEN, "filters_json": "{ }",
                          "guarantees_json": "[]", "template": "Known:", "token_budget": 90,
                          "cache_json": None, "source": "user"}),
]  # fmt: skip


async def shown(module: Any, conn: Any) -> dict[str, Any]:
    """What an API says of everything, but for the instants."""
    rows = [await module.get_block(conn, id) for id in "abc"]
    frames = sorted(await module.list_frames(conn), key=lambda row: str(row["name"]))
    left = "created_at"
    return {
        "blocks": [row and {k: v for k, v in row.items() if k != left} for row in rows],
        "inbox": [row["id"] for row in await module.get_inbox_blocks(conn)],
        "active": sorted(row["id"] for row in await module.get_active_blocks(conn)),
        "tags": [await module.get_tags(conn, id) for id in "abc"],
        "edges": await module.get_edges_for_block(conn, "a"),
        "frames": [{k: v for k, v in row.items() if k != left} for row in frames],
    }


def test_both_apis_do_the_same_and_see_the_same(tmp_path: Path) -> None:
    """Each step by either API, in two memories; both APIs read both."""

    async def run() -> None:
        engines = [await create_engine(f"{tmp_path}/{n}.db") for n in "01"]
        for one in STORY:
            async with engines[0].begin() as conn:
                await getattr(queries, one[0])(conn, *one[1], **one[2])
            async with plain.connect(f"{tmp_path}/1.db-memory") as other:
                await getattr(plain, one[0])(other, *one[1], **one[2])
            seen = []
            for number, engine in enumerate(engines):
                async with engine.connect() as conn:
                    seen.append(await shown(queries, conn))
                async with plain.connect(f"{tmp_path}/{number}.db-memory") as other:
                    seen.append(await shown(plain, other))
            assert seen[1:] == seen[:1] * 3, one
        for engine in engines:
            await engine.dispose()

    asyncio.run(run())


def test_a_frame_of_the_database_is_one_that_contexts_use(tmp_path: Path) -> None:
    path = tmp_path / "x.db"

    async def work(engine: AsyncEngine) -> None:
        async with engine.begin() as conn:
            for id, category in (("a", "habit"), ("b", "knowledge")):
                await tea(conn, id, category)
                await queries.add_tags(conn, id, ["self/goal"])
            await tea(conn, "c", "habit")
            await upsert(conn)
        with Memory.open(f"{path}-memory") as memory:
            made = memory.context("tea", preset="kitchen")
            assert [hit.id for hit in made.hits] == ["a"]
            assert str(made).count("What the kitchen knows:") == 1
            frame = memory.settings.presets.get("kitchen")
            assert (frame.tokens, frame.weights.similarity) == (300, 1.0)
            memory.settings.presets.drop("kitchen")
        async with engine.begin() as conn:
            assert await queries.get_frame(conn, "kitchen") is None
            await upsert(conn)
        with Memory.open(f"{path}-memory") as memory:
            changed = memory.settings.presets.get("kitchen").to_dict() | {
                "tokens": 80,
                "template": {},
            }
            memory.scoped(trust="agent").settings.presets.set(changed)
        async with engine.begin() as conn:
            row = await queries.get_frame(conn, "kitchen") or {}
            assert (row["token_budget"], row["template"][:5]) == (80, "Notes")
            assert json.loads(row["filters_json"]) == FILTERS
            await conn.exec_driver_sql("DELETE FROM frames WHERE name = 'kitchen'")
        with Memory.open(f"{path}-memory") as memory:
            assert "kitchen" not in [frame.name for frame in memory.settings.presets.list()]
        for statement in ("DELETE FROM frames", "UPDATE frames SET token_budget = 1"):
            with pytest.raises(IntegrityError) as caught:
                async with engine.begin() as conn:
                    await conn.exec_driver_sql(statement)
            assert isinstance(caught.value.orig, Conflict)

    using(path, work)


async def tea(conn: AsyncConnection, id: str, category: str) -> None:
    await queries.insert_block(
        conn, block_id=id, content=f"Tea is for {id}.", category=category, source="api",
        status="active",
    )  # fmt: skip


FILTERS = {"tag_patterns": ["self/%"], "categories": ["habit"]}


async def upsert(conn: AsyncConnection) -> None:
    await queries.upsert_frame(
        conn, name="kitchen", weights_json='{"similarity": 1}', filters_json=json.dumps(FILTERS),
        guarantees_json="[]", template="What the kitchen knows:", token_budget=300,
        cache_json=None, source="user",
    )  # fmt: skip


def test_erasing_a_frame_leaves_no_byte_of_its_row(tmp_path: Path) -> None:
    path = tmp_path / "x.db"

    def holding() -> list[str]:
        files = (one for one in tmp_path.rglob("*") if one.is_file())
        return [one.name for one in files if b"What the kitchen knows" in one.read_bytes()]

    as_("agent", path, upsert)
    assert holding()
    with Memory.open(f"{path}-memory") as memory:
        memory.settings.presets.drop("kitchen")  # its past stays, and so does the row's
        for _ in range(2):  # a repetition of the same call
            memory.settings.presets.drop("kitchen", erase=True, idempotency_key="once")
        assert memory.admin.verify().ok
    assert holding() == []


def test_rows_that_an_earlier_release_wrote_are_still_read(tmp_path: Path) -> None:
    row: dict[str, Any] = {
        "weights_json": '{"x": 1}', "filters_json": "{}", "guarantees_json": "[]",
        "template": "T", "token_budget": 5, "source": "user", "created_at": "2026-01-01",
    }  # fmt: skip
    with Memory.open(tmp_path / "w") as person:
        memory = person.scoped(trust="agent")
        for name in ("kitchen", "self"):  # rows alone, also of the built-in frames
            memory.settings.documents.set("block-frame", name, row)
        for id in "abc":
            data: Any = {"block": {"archive_reason": "forgotten"}}
            memory.remember(f"Block {id}.", id=id, tags=["tea"], data=data if id == "c" else None)
        memory.events.submit(Link(source="a", target="b", kind="relates_to", weight=1.0,
                           name="block 2026-01-01T00:00:00.000000Z 3.5"))  # fmt: skip
        memory.forget("c")

    async def work(engine: AsyncEngine) -> None:
        async with engine.begin() as conn:
            kept = await queries.get_frame(conn, "kitchen")
            assert kept == {"name": "kitchen", "cache_json": None} | row
            assert (await queries.get_frame(conn, "self") or {})["source"] == "builtin"
            (edge,) = await queries.get_edges_for_block(conn, "a")
            assert edge["weight"] == 3.5
            await queries.reinforce_edges(conn, [("a", "b")])
            await queries.update_block_status(conn, "c", status="active")
        async with engine.begin() as conn:
            assert await queries.get_tags(conn, "c") == ["tea"]
            (edge,) = await queries.get_edges_for_block(conn, "a")
            assert (edge["weight"], edge["reinforcement_count"]) == (3.5, 1)
            await upsert(conn)
            assert (await queries.get_frame(conn, "kitchen") or {})["token_budget"] == 300
        with Memory.open(tmp_path / "w") as memory:
            assert memory.settings.presets.get("kitchen").tokens == 300

    using(tmp_path / "w" / "blocks.db", work)


@pytest.mark.parametrize(
    "change",
    [
        {"weights_json": "{"}, {"weights_json": '{"luck": 1.0}'}, {"weights_json": "{}"},
        {"filters_json": '{"tag_patterns": ["%/goal"]}'}, {"filters_json": '{"colour": "red"}'},
        {"guarantees_json": '{"self": 1}'}, {"token_budget": 0}, {"token_budget": "many"},
        {"template": " "}, {"source": "builtin"}, {"name": "no blanks"},
    ],
)  # fmt: skip
def test_a_frame_that_no_context_could_use_is_refused(
    change: dict[str, object], tmp_path: Path
) -> None:
    row: dict[str, Any] = {
        "name": "kitchen", "weights_json": EVEN, "filters_json": "{}", "guarantees_json": "[]",
        "template": "Known:", "token_budget": 90, "cache_json": None, "source": "user",
    }  # fmt: skip

    async def work(engine: AsyncEngine) -> None:
        with pytest.raises(InvalidInput):
            async with engine.begin() as conn:
                await queries.upsert_frame(conn, **(row | change))
        async with engine.connect() as conn:
            assert len(await queries.list_frames(conn)) == 3

    using(tmp_path / "x.db", work)
