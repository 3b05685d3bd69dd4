"""The named queries of S4.

Responsible for one statement, or a few, behind each name. Leaves the transaction to the caller and
what becomes of a write to the engine. Invariants: every function takes the connection first;
values are bound, never part of a statement's text; results are dicts and scalars.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Select, and_, column, delete, func, insert, or_, select, update
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.ext.asyncio import AsyncConnection

from recollect.contracts.blocks.changed import check_block
from recollect.contracts.blocks.db.models import (
    block_tags,
    blocks,
    contradictions,
    edges,
    frames,
    sessions,
    system_config,
)
from recollect.contracts.blocks.settings import CONFIG
from recollect.contracts.blocks.types import BlockStatus, Edge
from recollect.errors import InvalidInput
from recollect.model import validate
from recollect.store.seam import REAL

Embedding = NDArray[np.float32]
Row = dict[str, Any]  # a row of a table, by the names of its columns

_HOURS: Final = "total_active_hours"


def embedding_to_bytes(vec: Embedding) -> bytes:
    """A vector as the bytes of its float32 numbers."""
    return vec.astype(np.float32).tobytes()


def bytes_to_embedding(data: bytes) -> Embedding:
    """The vector of such bytes."""
    return np.frombuffer(data, dtype=np.float32)


def content_hash(content: str) -> str:
    """The id of a block: 16 hex of the SHA-256 of the trimmed, lower-cased content."""
    return hashlib.sha256(content.strip().lower().encode("utf-8")).hexdigest()[:16]


# Blocks.


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
) -> None:
    """Insert a new block. Raises ``IntegrityError`` if the id exists."""
    row: Row = {
        "id": block_id,
        "content": content,
        "category": category,
        "source": source,
        "created_at": REAL.now(),
        "status": status,
        "archive_reason": None,
        "confidence": confidence,
        "decay_lambda": decay_lambda,
        "last_reinforced_at": last_reinforced_at,
    }
    check_block(row)
    await conn.execute(insert(blocks).values(row))


async def get_block(conn: AsyncConnection, block_id: str) -> Row | None:
    """A block of any status with all its columns, or None."""
    return await _one(conn, select(blocks).where(blocks.c.id == block_id))


async def block_exists(conn: AsyncConnection, block_id: str) -> bool:
    """True if there is a block with this id, of any status."""
    found = await conn.execute(select(blocks.c.id).where(blocks.c.id == block_id))
    return found.first() is not None


async def get_active_blocks(
    conn: AsyncConnection, *, min_last_reinforced_at: float | None = None
) -> list[Row]:
    """All active blocks, or those that were reinforced after the given active hour."""
    return await _all(conn, _active(min_last_reinforced_at))


async def get_active_blocks_with_embeddings(
    conn: AsyncConnection, *, min_last_reinforced_at: float | None = None
) -> list[Row]:
    """Those of the active blocks that have an embedding."""
    wanted = _active(min_last_reinforced_at).where(blocks.c.embedding.is_not(None))
    return await _all(conn, wanted)


async def get_inbox_blocks(conn: AsyncConnection) -> list[Row]:
    """All blocks that wait in the inbox."""
    return await _all(conn, _in_order(select(blocks).where(blocks.c.status == "inbox")))


async def get_inbox_count(conn: AsyncConnection) -> int:
    """How many blocks wait in the inbox."""
    counted = select(func.count()).select_from(blocks).where(blocks.c.status == "inbox")
    return int((await conn.execute(counted)).scalar_one())


async def update_block_status(
    conn: AsyncConnection, block_id: str, *, status: str, archive_reason: str | None = None
) -> None:
    """Change a block's status. What is archived shows no tags and no edges until it comes back."""
    if status not in list(BlockStatus):
        raise InvalidInput(f"status must be one of {', '.join(BlockStatus)}, not {status!r}")
    own = blocks.c.id == block_id
    values = {"status": status, "archive_reason": archive_reason}
    await conn.execute(update(blocks).where(own).values(values))
    row = await get_block(conn, block_id)
    if row is not None:
        check_block(row)
    if status == BlockStatus.ARCHIVED:  # no foreign key notices the change of a status
        await conn.execute(delete(block_tags).where(block_tags.c.block_id == block_id))
        await conn.execute(
            delete(edges).where(_touches(edges.c.from_id, edges.c.to_id, [block_id]))
        )


async def update_block_scoring(
    conn: AsyncConnection,
    block_id: str,
    *,
    confidence: float | None = None,
    self_alignment: float | None = None,
    decay_lambda: float | None = None,
    embedding: Embedding | None = None,
    embedding_model: str | None = None,
    token_count: int | None = None,
) -> None:
    """Change the given columns; the rest stays. The embedding is stored as bytes."""
    given: Row = {
        "confidence": confidence,
        "self_alignment": self_alignment,
        "decay_lambda": decay_lambda,
        "embedding": None if embedding is None else embedding_to_bytes(embedding),
        "embedding_model": embedding_model,
        "token_count": token_count,
    }
    values = {name: value for name, value in given.items() if value is not None}
    if values:
        await conn.execute(update(blocks).where(blocks.c.id == block_id).values(values))


async def reinforce_blocks(
    conn: AsyncConnection, block_ids: list[str], current_active_hours: float
) -> None:
    """Count one more use of each of these blocks, at the given hour, in one statement."""
    await conn.execute(
        update(blocks)
        .where(blocks.c.id.in_(block_ids))
        .values(
            reinforcement_count=blocks.c.reinforcement_count + 1,
            last_reinforced_at=current_active_hours,
        )
    )


# Tags.


async def add_tags(conn: AsyncConnection, block_id: str, tags: list[str]) -> None:
    """Add tags to a block; tags it already has are unchanged."""
    rows = [{"block_id": block_id, "tag": tag} for tag in tags]
    if rows:
        await conn.execute(sqlite_insert(block_tags).on_conflict_do_nothing(), rows)


async def get_tags(conn: AsyncConnection, block_id: str) -> list[str]:
    """The tags of a block, in alphabetical order."""
    own = select(block_tags.c.tag).where(block_tags.c.block_id == block_id)
    return list((await conn.execute(own.order_by(block_tags.c.tag))).scalars())


async def get_blocks_by_tag_pattern(conn: AsyncConnection, pattern: str) -> list[str]:
    """The ids of blocks with a tag that matches an SQL LIKE pattern."""
    found = select(block_tags.c.block_id).where(block_tags.c.tag.like(pattern)).distinct()
    return list((await conn.execute(found.order_by(block_tags.c.block_id))).scalars())


async def remove_tags(conn: AsyncConnection, block_id: str, tags: list[str]) -> None:
    """Remove these tags from a block."""
    of_block = and_(block_tags.c.block_id == block_id, block_tags.c.tag.in_(tags))
    await conn.execute(delete(block_tags).where(of_block))


# Edges.


async def insert_edge(conn: AsyncConnection, *, from_id: str, to_id: str, weight: float) -> None:
    """Insert an edge; ``from_id`` must be the smaller id.

    Raises ``IntegrityError`` if the pair has one, or one of the blocks does not exist.
    """
    _check_order(from_id, to_id)
    validate.fraction(weight, "weight")
    row = {"from_id": from_id, "to_id": to_id, "weight": weight, "created_at": REAL.now()}
    await conn.execute(insert(edges).values(row))


async def get_edges_for_block(conn: AsyncConnection, block_id: str) -> list[Row]:
    """All edges with this block on either side."""
    columns = (edges.c.from_id, edges.c.to_id, edges.c.weight, edges.c.reinforcement_count)
    own = select(*columns).where(_touches(edges.c.from_id, edges.c.to_id, [block_id]))
    return await _all(conn, own.order_by(edges.c.from_id, edges.c.to_id))


async def get_neighbours(conn: AsyncConnection, block_ids: list[str]) -> list[str]:
    """The ids one edge away from any of these, without these."""
    from_id, to_id = edges.c.from_id, edges.c.to_id
    found = await conn.execute(select(from_id, to_id).where(_touches(from_id, to_id, block_ids)))
    return sorted({id for pair in found for id in pair}.difference(block_ids))


async def reinforce_edges(conn: AsyncConnection, edge_pairs: list[tuple[str, str]]) -> None:
    """Count one more use of each of these edges; pairs without one are skipped."""
    for pair in edge_pairs:
        _check_order(*pair)
    wanted = [and_(edges.c.from_id == one, edges.c.to_id == other) for one, other in edge_pairs]
    if wanted:
        counted = {"reinforcement_count": edges.c.reinforcement_count + 1}
        await conn.execute(update(edges).where(or_(*wanted)).values(counted))


async def get_weighted_degree(conn: AsyncConnection, block_ids: list[str]) -> dict[str, float]:
    """The summed weights of each block's edges; 0.0 where there are none."""
    from_id, to_id, weight = edges.c.from_id, edges.c.to_id, edges.c.weight
    wanted = select(from_id, to_id, weight).where(_touches(from_id, to_id, block_ids))
    degrees = dict.fromkeys(block_ids, 0.0)
    for one, other, amount in await conn.execute(wanted.order_by(from_id, to_id)):
        for id in (one, other):
            if id in degrees:
                degrees[id] += amount
    return degrees


# Contradictions.


async def insert_contradiction(
    conn: AsyncConnection, *, block_a_id: str, block_b_id: str, score: float
) -> None:
    """Record that two blocks contradict each other; ``block_a_id`` must be the smaller id."""
    _check_order(block_a_id, block_b_id)
    row = {
        "block_a_id": block_a_id,
        "block_b_id": block_b_id,
        "score": score,
        "created_at": REAL.now(),
    }
    await conn.execute(insert(contradictions).values(row))


async def get_contradictions_for_blocks(conn: AsyncConnection, block_ids: list[str]) -> list[Row]:
    """The unresolved contradictions of any of these blocks."""
    a, b = contradictions.c.block_a_id, contradictions.c.block_b_id
    wanted = select(contradictions).where(_touches(a, b, block_ids), contradictions.c.resolved == 0)
    return await _all(conn, wanted.order_by(a, b))


async def resolve_contradiction(conn: AsyncConnection, block_a_id: str, block_b_id: str) -> None:
    """Mark a contradiction as resolved; its row stays."""
    a, b = contradictions.c.block_a_id, contradictions.c.block_b_id
    own = and_(a == block_a_id, b == block_b_id)
    await conn.execute(update(contradictions).where(own).values(resolved=1))


# Frames.


async def get_frame(conn: AsyncConnection, name: str) -> Row | None:
    """A frame with its JSON as text, or None."""
    return await _one(conn, select(frames).where(frames.c.name == name))


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
) -> None:
    """Insert a frame, or change all of it but the instant when it was made."""
    values: Row = {
        "weights_json": weights_json,
        "filters_json": filters_json,
        "guarantees_json": guarantees_json,
        "template": template,
        "token_budget": token_budget,
        "cache_json": cache_json,
        "source": source,
    }
    made = sqlite_insert(frames).values(name=name, created_at=REAL.now(), **values)
    await conn.execute(made.on_conflict_do_update(index_elements=["name"], set_=values))


async def list_frames(conn: AsyncConnection) -> list[Row]:
    """All frames, by name."""
    return await _all(conn, select(frames).order_by(frames.c.name))


# Sessions.


async def start_session(
    conn: AsyncConnection, *, session_id: str, task_type: str, start_active_hours: float
) -> None:
    """Record that a session starts, at the active hours that the caller counted."""
    row = {
        "id": session_id,
        "task_type": task_type,
        "started_at": REAL.now(),
        "start_active_hours": start_active_hours,
    }
    await conn.execute(insert(sessions).values(row))


async def end_session(conn: AsyncConnection, session_id: str) -> None:
    """Record that a session has ended. One that has ended keeps its end."""
    own = and_(sessions.c.id == session_id, sessions.c.ended_at.is_(None))
    await conn.execute(update(sessions).where(own).values(ended_at=REAL.now()))


async def get_active_session(conn: AsyncConnection) -> Row | None:
    """The session that was started last and has not ended, or None."""
    wanted = select(sessions).where(sessions.c.ended_at.is_(None))
    last = wanted.order_by(sessions.c.started_at.desc(), column("rowid").desc()).limit(1)
    return await _one(conn, last)


# Settings.


async def get_config(conn: AsyncConnection, key: str) -> str | None:
    """A setting, or None."""
    own = select(system_config.c.value).where(system_config.c.key == key)
    found: str | None = (await conn.execute(own)).scalar_one_or_none()
    return found


async def set_config(conn: AsyncConnection, key: str, value: str) -> None:
    """Set a setting."""
    made = sqlite_insert(system_config).values(key=key, value=value)
    await conn.execute(made.on_conflict_do_update(index_elements=["key"], set_={"value": value}))


async def get_total_active_hours(conn: AsyncConnection) -> float:
    """The active hours that the caller counted; 0.0 if not set."""
    return float(await get_config(conn, _HOURS) or 0.0)


async def set_total_active_hours(conn: AsyncConnection, hours: float) -> None:
    """Store the active hours that the caller counted."""
    await set_config(conn, _HOURS, str(float(hours)))


async def seed_builtin_data(conn: AsyncConnection) -> None:
    """Insert the default settings that are not there; the built-in frames always are."""
    settings = [{"key": key, "value": value} for key, value in CONFIG.items()]
    await conn.execute(sqlite_insert(system_config).on_conflict_do_nothing(), settings)


# Shared.


def _active(after: float | None) -> Select[Any]:
    wanted = select(blocks).where(blocks.c.status == "active")
    return _in_order(wanted if after is None else wanted.where(blocks.c.last_reinforced_at > after))


def _in_order(wanted: Select[Any]) -> Select[Any]:
    return wanted.order_by(blocks.c.created_at, blocks.c.id)


def _touches(one: Any, other: Any, ids: Sequence[str]) -> Any:
    return or_(one.in_(ids), other.in_(ids))


async def _one(conn: AsyncConnection, wanted: Select[Any]) -> Row | None:
    row = (await conn.execute(wanted)).mappings().first()
    return None if row is None else dict(row)


async def _all(conn: AsyncConnection, wanted: Select[Any]) -> list[Row]:
    return [dict(row) for row in (await conn.execute(wanted)).mappings().all()]


def _check_order(one: str, other: str) -> None:
    if one == other or Edge.canonical(one, other) != (one, other):
        raise InvalidInput(
            f"{one!r} does not come before {other!r}",
            hint="order the ids with Edge.canonical(a, b)",
        )
