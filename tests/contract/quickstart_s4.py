"""The code blocks of S4, with ``elfmem`` replaced by ``recollect.contracts.blocks``.

Comments and docstrings of the blocks are left out. Every other change has a comment that starts
with "changed". Run it in an empty folder: ``python quickstart_s4.py``; it prints what it did.
"""
# ruff: noqa: E402, F401, F811, I001, T201 - the blocks stand in the order of the seed
# mypy: disable-error-code="empty-body, no-redef, type-arg"

from __future__ import annotations

import asyncio  # changed: what is awaited runs in a coroutine
import inspect  # changed: signatures without a body are compared with those that are published

# --- 1. db/__init__.py

from recollect.contracts.blocks.db.models import metadata
from recollect.contracts.blocks.db.engine import create_engine, create_test_engine

# changed: a program exports nothing
exported = ["metadata", "create_engine", "create_test_engine"]

# --- 2. db/models.py

from sqlalchemy import (
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Float as Real,  # changed: SQLAlchemy has no Real (decision 54)
    Table,
    Text,
    UniqueConstraint,
    ForeignKey,
)

published_metadata = metadata  # changed: to compare what follows with it
metadata = MetaData()

blocks = Table(
    "blocks",
    metadata,
    Column("id", Text, primary_key=True),
    Column("content", Text, nullable=False),
    Column("category", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("status", Text, nullable=False, default="inbox"),
    Column("archive_reason", Text),
    Column("confidence", Real, nullable=False, default=0.50),
    Column("reinforcement_count", Integer, nullable=False, default=0),
    Column("decay_lambda", Real, nullable=False, default=0.01),
    Column("last_reinforced_at", Real, nullable=False, default=0.0),
    Column("self_alignment", Real),
    Column("embedding", LargeBinary),
    Column("embedding_model", Text),
    Column("token_count", Integer),
    Column("last_session_id", Text),
)

block_tags = Table(
    "block_tags",
    metadata,
    Column("block_id", Text, ForeignKey("blocks.id", ondelete="CASCADE"), nullable=False),
    Column("tag", Text, nullable=False),
    UniqueConstraint("block_id", "tag", name="uq_block_tag"),
)

edges = Table(
    "edges",
    metadata,
    Column("from_id", Text, ForeignKey("blocks.id", ondelete="CASCADE"), nullable=False),
    Column("to_id", Text, ForeignKey("blocks.id", ondelete="CASCADE"), nullable=False),
    Column("weight", Real, nullable=False),
    Column("reinforcement_count", Integer, nullable=False, default=0),
    Column("created_at", Text, nullable=False),
    UniqueConstraint("from_id", "to_id", name="uq_edge"),
)

contradictions = Table(
    "contradictions",
    metadata,
    Column("block_a_id", Text, ForeignKey("blocks.id", ondelete="CASCADE"), nullable=False),
    Column("block_b_id", Text, ForeignKey("blocks.id", ondelete="CASCADE"), nullable=False),
    Column("score", Real, nullable=False),
    Column("resolved", Integer, nullable=False, default=0),
    Column("created_at", Text, nullable=False),
    UniqueConstraint("block_a_id", "block_b_id", name="uq_contradiction"),
)

frames = Table(
    "frames",
    metadata,
    Column("name", Text, primary_key=True),
    Column("weights_json", Text, nullable=False),
    Column("filters_json", Text, nullable=False),
    Column("guarantees_json", Text, nullable=False, default="[]"),
    Column("template", Text, nullable=False),
    Column("token_budget", Integer, nullable=False),
    Column("cache_json", Text),
    Column("source", Text, nullable=False, default="user"),
    Column("created_at", Text, nullable=False),
)

sessions = Table(
    "sessions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("task_type", Text, nullable=False, default="general"),
    Column("started_at", Text, nullable=False),
    Column("ended_at", Text),
    Column("start_active_hours", Real, nullable=False),
)

system_config = Table(
    "system_config",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

Index("idx_blocks_status", blocks.c.status)
Index("idx_blocks_last_reinforced", blocks.c.last_reinforced_at)
Index("idx_block_tags_tag", block_tags.c.tag)
Index("idx_block_tags_block_id", block_tags.c.block_id)
Index("idx_edges_from", edges.c.from_id)
Index("idx_edges_to", edges.c.to_id)
Index(
    "idx_contradictions_unresolved",
    contradictions.c.block_a_id,
    contradictions.c.block_b_id,
    sqlite_where=(contradictions.c.resolved == 0),
)

stated_metadata = metadata  # changed: compared below

# --- 3. db/engine.py

from sqlalchemy.ext.asyncio import create_async_engine, AsyncEngine
from sqlalchemy.pool import NullPool, StaticPool
from sqlalchemy import event, text

published = (create_engine, create_test_engine)  # changed: the blocks have no body


async def create_engine(
    db_path: str,
    *,
    echo: bool = False,
) -> AsyncEngine: ...


PRAGMAS = """
PRAGMA journal_mode=WAL;
PRAGMA foreign_keys=ON;
PRAGMA synchronous=NORMAL;
PRAGMA cache_size=-32000;
PRAGMA temp_store=MEMORY;
"""  # changed: a block of SQL, asked for below


async def create_test_engine() -> AsyncEngine: ...


stated = (create_engine, create_test_engine)  # changed: compared below
create_engine, create_test_engine = published  # changed

# --- 4. db/queries.py

import json
from datetime import datetime, timezone

import numpy as np
from sqlalchemy import delete, insert, select, update, func, and_
from sqlalchemy.ext.asyncio import AsyncConnection

from recollect.contracts.blocks.db.models import (
    blocks,
    block_tags,
    edges,
    contradictions,
    frames,
    sessions,
    system_config,
)


def embedding_to_bytes(vec: np.ndarray) -> bytes:
    return vec.astype(np.float32).tobytes()


def bytes_to_embedding(data: bytes) -> np.ndarray:
    return np.frombuffer(data, dtype=np.float32)


import hashlib


def content_hash(content: str) -> str:
    normalised = content.strip().lower()
    return hashlib.sha256(normalised.encode("utf-8")).hexdigest()[:16]


async def insert_block(
    conn: AsyncConnection,
    *,
    block_id: str,
    content: str,
    category: str,
    source: str,
    status: str = "inbox",
    confidence: float = 0.50,
    decay_lambda: float = 0.01,
    last_reinforced_at: float = 0.0,
) -> None: ...


async def get_block(conn: AsyncConnection, block_id: str) -> dict | None: ...


async def block_exists(conn: AsyncConnection, block_id: str) -> bool: ...


async def get_active_blocks(
    conn: AsyncConnection,
    *,
    min_last_reinforced_at: float | None = None,
) -> list[dict]: ...


async def get_active_blocks_with_embeddings(
    conn: AsyncConnection,
    *,
    min_last_reinforced_at: float | None = None,
) -> list[dict]: ...


async def get_inbox_blocks(conn: AsyncConnection) -> list[dict]: ...


async def get_inbox_count(conn: AsyncConnection) -> int: ...


async def update_block_status(
    conn: AsyncConnection,
    block_id: str,
    *,
    status: str,
    archive_reason: str | None = None,
) -> None: ...


async def update_block_scoring(
    conn: AsyncConnection,
    block_id: str,
    *,
    confidence: float | None = None,
    self_alignment: float | None = None,
    decay_lambda: float | None = None,
    embedding: np.ndarray | None = None,
    embedding_model: str | None = None,
    token_count: int | None = None,
) -> None: ...


async def reinforce_blocks(
    conn: AsyncConnection,
    block_ids: list[str],
    current_active_hours: float,
) -> None: ...


async def add_tags(
    conn: AsyncConnection,
    block_id: str,
    tags: list[str],
) -> None: ...


async def get_tags(conn: AsyncConnection, block_id: str) -> list[str]: ...


async def get_blocks_by_tag_pattern(
    conn: AsyncConnection,
    pattern: str,
) -> list[str]: ...


async def remove_tags(
    conn: AsyncConnection,
    block_id: str,
    tags: list[str],
) -> None: ...


async def insert_edge(
    conn: AsyncConnection,
    *,
    from_id: str,
    to_id: str,
    weight: float,
) -> None: ...


async def get_edges_for_block(conn: AsyncConnection, block_id: str) -> list[dict]: ...


async def get_neighbours(conn: AsyncConnection, block_ids: list[str]) -> list[str]: ...


async def reinforce_edges(
    conn: AsyncConnection,
    edge_pairs: list[tuple[str, str]],
) -> None: ...


async def get_weighted_degree(
    conn: AsyncConnection,
    block_ids: list[str],
) -> dict[str, float]: ...


async def insert_contradiction(
    conn: AsyncConnection,
    *,
    block_a_id: str,
    block_b_id: str,
    score: float,
) -> None: ...


async def get_contradictions_for_blocks(
    conn: AsyncConnection,
    block_ids: list[str],
) -> list[dict]: ...


async def resolve_contradiction(
    conn: AsyncConnection,
    block_a_id: str,
    block_b_id: str,
) -> None: ...


async def get_frame(conn: AsyncConnection, name: str) -> dict | None: ...


async def upsert_frame(
    conn: AsyncConnection,
    *,
    name: str,
    weights_json: str,
    filters_json: str,
    guarantees_json: str,
    template: str,
    token_budget: int,
    cache_json: str | None,
    source: str,
) -> None: ...


async def list_frames(conn: AsyncConnection) -> list[dict]: ...


async def start_session(
    conn: AsyncConnection,
    *,
    session_id: str,
    task_type: str,
    start_active_hours: float,
) -> None: ...


async def end_session(
    conn: AsyncConnection,
    session_id: str,
) -> None: ...


async def get_active_session(conn: AsyncConnection) -> dict | None: ...


async def get_config(conn: AsyncConnection, key: str) -> str | None: ...


async def set_config(conn: AsyncConnection, key: str, value: str) -> None: ...


async def get_total_active_hours(conn: AsyncConnection) -> float: ...


async def set_total_active_hours(conn: AsyncConnection, hours: float) -> None: ...


async def seed_builtin_data(conn: AsyncConnection) -> None: ...


# --- 5. alembic/env.py

# Before:
try:
    from recollect.contracts.blocks.db.models import metadata as target_metadata
except ImportError:
    target_metadata = None  # type: ignore[assignment]  # changed: for the type checker

# After:
from recollect.contracts.blocks.db.models import metadata as target_metadata

# --- Done criteria

from recollect.contracts.blocks.db.models import metadata, blocks, block_tags, edges, contradictions, frames, sessions, system_config  # fmt: skip  # noqa: E501
from recollect.contracts.blocks.db.engine import create_engine, create_test_engine


# changed: from here on, what the text around the blocks says, so that they have something to do

from typing import Any

from sqlalchemy.schema import CreateIndex, CreateTable

from recollect.contracts.blocks.db import queries


def shape(function: Any) -> list[tuple[str, object, object]]:
    found = inspect.signature(function).parameters.values()
    return [(one.name, one.kind, one.default) for one in found]


def fits(stated: Any, published: Any) -> bool:
    """True if it is called as it is stated; it may take more by name, which need not be given."""
    wanted, found = shape(stated), shape(published)
    more = found[len(wanted) :]
    return found[: len(wanted)] == wanted and all(
        kind is inspect.Parameter.KEYWORD_ONLY and default is not inspect.Parameter.empty
        for _, kind, default in more
    )


def ddl(tables: MetaData) -> list[str]:
    made = [str(CreateTable(table)) for table in tables.sorted_tables]
    indexes = [index for table in tables.sorted_tables for index in table.indexes]
    return made + sorted(str(CreateIndex(index)) for index in indexes)


def defaults(tables: MetaData) -> list[tuple[str, object]]:
    every = [column for table in tables.sorted_tables for column in table.columns]
    return [(str(one), one.default.arg) for one in every if one.default is not None]  # type: ignore[attr-defined]


def compare() -> None:
    """The blocks' tables and signatures are those that are published."""
    alike = ddl(stated_metadata) == ddl(published_metadata)
    print(len(stated_metadata.tables), alike, defaults(stated_metadata) == defaults(metadata))
    print([fits(one, other) for one, other in zip(stated, published, strict=True)])
    own = {
        name: one
        for name, one in globals().items()
        if hasattr(queries, name) and inspect.iscoroutinefunction(one)
    }
    print(len(own), all(shape(one) == shape(getattr(queries, name)) for name, one in own.items()))
    print(sorted(exported) == sorted(["metadata", "create_engine", "create_test_engine"]))
    print(target_metadata is metadata)


async def run(conn: AsyncConnection) -> None:
    """Every query once, on the connection of a transaction."""
    q = queries
    await q.seed_builtin_data(conn)
    one, other = sorted((content_hash("Tea is at four."), content_hash("Coffee is at ten.")))
    for id, said in ((one, "first"), (other, "second")):
        await q.insert_block(conn, block_id=id, content=said, category="knowledge", source="sdk")
    await q.update_block_status(conn, one, status="active")
    await q.update_block_scoring(conn, one, embedding=np.array([0.5, 1.0], dtype=np.float32))
    await q.reinforce_blocks(conn, [one, other], 2.5)
    await q.add_tags(conn, one, ["self/goal", "tea"])
    await q.remove_tags(conn, one, ["tea"])
    await q.insert_edge(conn, from_id=one, to_id=other, weight=0.75)
    await q.reinforce_edges(conn, [(one, other)])
    await q.insert_contradiction(conn, block_a_id=one, block_b_id=other, score=0.9)
    await q.start_session(conn, session_id="s", task_type="general", start_active_hours=0.0)
    await q.set_total_active_hours(conn, 2.5)
    block = await q.get_block(conn, one) or {}
    print(bytes_to_embedding(block["embedding"]).tolist(), block["last_reinforced_at"])
    print(await q.block_exists(conn, other), await q.get_inbox_count(conn))
    active = await q.get_active_blocks(conn, min_last_reinforced_at=2.0)
    near = await q.get_active_blocks_with_embeddings(conn)
    print(len(active), len(near), len(await q.get_inbox_blocks(conn)))
    print(await q.get_tags(conn, one), await q.get_blocks_by_tag_pattern(conn, "self/%") == [one])
    print([edge["weight"] for edge in await q.get_edges_for_block(conn, other)])
    print(await q.get_neighbours(conn, [one]) == [other], await q.get_weighted_degree(conn, [one]))
    print(len(await q.get_contradictions_for_blocks(conn, [one])))
    await q.resolve_contradiction(conn, one, other)
    print(len(await q.get_contradictions_for_blocks(conn, [one])))
    print([frame["name"] for frame in await q.list_frames(conn)])
    task = await q.get_frame(conn, "task") or {}
    own = {"name": "kitchen", "source": "user", "token_budget": 7}
    await q.upsert_frame(conn, **{key: task[key] for key in task if key != "created_at"} | own)
    found = await q.get_frame(conn, "kitchen") or {}
    print(found["token_budget"], json.loads(task["weights_json"]))
    print((await q.get_active_session(conn) or {})["id"])
    await q.end_session(conn, "s")
    await q.set_config(conn, "top_k", "7")
    print(await q.get_config(conn, "top_k"), await q.get_total_active_hours(conn))


async def main() -> None:
    compare()
    engine = await create_test_engine()
    async with engine.begin() as conn:
        await run(conn)
    await engine.dispose()
    engine = await create_engine("elfmem.db")
    async with engine.begin() as conn:
        names = [line.partition("=")[0] for line in PRAGMAS.split()[1::2]]
        print([(await conn.execute(text(f"PRAGMA {name}"))).scalar() for name in names])
        print(await queries.get_active_session(conn))
    await engine.dispose()


if __name__ == "__main__":
    asyncio.run(main())
