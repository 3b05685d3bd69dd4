"""Blocks and their tags.

Responsible for the functions over both. Leaves columns to ``table`` and what a change of a row
means to ``changed``. Invariants: every function is one read or one command; an archived block shows
no tags.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from recollect.contracts.blocks.changed import changed, inserted
from recollect.contracts.blocks.connection import Connection, IntegrityError, again
from recollect.contracts.blocks.table import (
    SHOWN_AS,
    Block,
    Row,
    beside,
    block_of,
    embedding_to_bytes,
    status_of,
)
from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.exchange.importers.blocks import KEY, SETTINGS, BlockStatus
from recollect.lifecycle.commands import Act
from recollect.memory import Memory
from recollect.memory.handle import acts
from recollect.model import validate
from recollect.model.limits import LIST_MAX_RECORDS
from recollect.model.values import INCLUDES, Record
from recollect.model.values.records import Include

if TYPE_CHECKING:
    from recollect.contracts.blocks.table import Embedding


# Blocks.


async def insert_block(
    conn: Connection,
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
    row = dict.fromkeys(Block.__annotations__) | {
        "id": block_id,
        "content": content,
        "category": category,
        "source": source,
        "status": status,
        "confidence": confidence,
        "reinforcement_count": 0,
        "decay_lambda": _number(decay_lambda, "decay_lambda"),
        "last_reinforced_at": _number(last_reinforced_at, "last_reinforced_at"),
    }
    moved = inserted(row)

    def work(memory: Memory) -> None:
        try:
            memory.events.submit(*moved.coming, *moved.leaving)
        except Conflict as error:
            raise IntegrityError(f"a block {block_id!r} exists", hint=error.hint) from error

    await conn.run(work)


async def get_block(conn: Connection, block_id: str) -> Block | None:
    """A block of any status with all its columns, or None."""
    record = await conn.run(lambda memory: find(memory, block_id))
    return None if record is None else block_of(record)


async def block_exists(conn: Connection, block_id: str) -> bool:
    """True if there is a block with this id, of any status."""
    return await get_block(conn, block_id) is not None


async def get_active_blocks(
    conn: Connection, *, min_last_reinforced_at: float | None = None
) -> list[Block]:
    """All active blocks, or those that were reinforced after the given active hour."""
    found = await _listed(conn, "active")
    if min_last_reinforced_at is None:
        return found
    return [block for block in found if block["last_reinforced_at"] > min_last_reinforced_at]


async def get_active_blocks_with_embeddings(
    conn: Connection, *, min_last_reinforced_at: float | None = None
) -> list[Block]:
    """Those of the active blocks that have an embedding."""
    found = await get_active_blocks(conn, min_last_reinforced_at=min_last_reinforced_at)
    return [block for block in found if block["embedding"] is not None]


async def get_inbox_blocks(conn: Connection) -> list[Block]:
    """All blocks that wait in the inbox."""
    return await _listed(conn, "inbox")


async def get_inbox_count(conn: Connection) -> int:
    """How many blocks wait in the inbox."""
    return len(await get_inbox_blocks(conn))


async def update_block_status(
    conn: Connection, block_id: str, *, status: str, archive_reason: str | None = None
) -> None:
    """Change a block's status; an archived one has a reason, or None."""
    columns: Row = {"status": status, "archive_reason": archive_reason}
    await conn.run(lambda memory: memory.events.submit(*_change(memory, block_id, columns)))


async def update_block_scoring(
    conn: Connection,
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
        "self_alignment": _optional(self_alignment, "self_alignment"),
        "decay_lambda": _optional(decay_lambda, "decay_lambda"),
        "embedding": None if embedding is None else embedding_to_bytes(embedding),
        "embedding_model": validate.optional_name(embedding_model, "embedding_model"),
        "token_count": token_count,
    }
    columns: Row = {column: value for column, value in given.items() if value is not None}
    await conn.run(lambda memory: memory.events.submit(*_change(memory, block_id, columns)))


async def reinforce_blocks(
    conn: Connection, block_ids: list[str], current_active_hours: float
) -> None:
    """Count one more use of each of these blocks, at the given hour, in one command."""
    hours = _number(current_active_hours, "current_active_hours")

    def work(memory: Memory) -> None:
        position = memory.events.position  # uses of what is not active are a number in its data
        found = [record for id in dict.fromkeys(block_ids) if (record := find(memory, id))]
        made = [act for record in found for act in _used(record, hours)]
        is_counted = all(record.status == "active" for record in found)
        memory.events.submit(*made, expect=None if is_counted else position)

    await conn.run(lambda memory: again(lambda: work(memory)))


def _used(record: Record, hours: float) -> list[Act]:
    row = cast(Row, block_of(record))
    count = cast(int, row["reinforcement_count"]) + 1
    return _moved(record, {"reinforcement_count": count, "last_reinforced_at": hours})


def _change(memory: Memory, block_id: str, columns: Row) -> list[Act]:
    return _moved(require(memory, block_id), columns)


def _moved(record: Record, columns: Row) -> list[Act]:
    """The acts that change some columns of a block."""
    before = cast(Row, block_of(record))
    moved = changed(record, before, {**before, **columns})
    return [*moved.coming, *moved.leaving]


# Tags.


async def add_tags(conn: Connection, block_id: str, tags: list[str]) -> None:
    """Add tags to a block; tags it already has are unchanged."""
    await conn.run(lambda memory: memory.events.submit(acts.tag(block_id, tags, ())))


async def remove_tags(conn: Connection, block_id: str, tags: list[str]) -> None:
    """Remove these tags from a block."""
    await conn.run(lambda memory: memory.events.submit(acts.tag(block_id, (), tags)))


async def get_tags(conn: Connection, block_id: str) -> list[str]:
    """The tags of a block."""
    record = await conn.run(lambda memory: find(memory, block_id))
    return list(record.tags) if record is not None and _is_live(record) else []


async def get_blocks_by_tag_pattern(conn: Connection, pattern: str) -> list[str]:
    """The ids of blocks with a tag that matches an SQL LIKE pattern.

    ``%`` matches any text, ``_`` one character. ASCII letters match in either case, as in SQLite.
    """
    like = _like(pattern)
    records = await conn.run(lambda memory: listed(memory, None))
    return [record.id for record in records if any(map(like.fullmatch, record.tags))]


# Shared.


def _like(pattern: str) -> re.Pattern[str]:
    """A LIKE pattern as a regular expression that does not backtrack across ``%``.

    Each part between two ``%`` is matched at its first place only. Otherwise every ``%`` would try
    all places again for each place of the one before it.
    """
    first, *rest = (_literal(part) for part in pattern.split("%"))
    between = "".join(f"(?>.*?{part})" for part in rest[:-1] if part)
    last = f".*{rest[-1]}" if rest else ""
    return re.compile(first + between + last, re.DOTALL | re.IGNORECASE | re.ASCII)


def _literal(part: str) -> str:
    return "".join("." if sign == "_" else re.escape(sign) for sign in part)


def find(memory: Memory, block_id: str) -> Record | None:
    """The record of a block, in any state, or None."""
    try:
        found = memory.get(block_id, include=INCLUDES)
    except NotFound:
        return None
    if not isinstance(found, Record) or found.id != block_id or found.id == SETTINGS:
        return None
    return found


def require(memory: Memory, block_id: str) -> Record:
    """The record of a block; raises if there is none."""
    record = find(memory, block_id)
    if record is None:
        raise NotFound(f"there is no block {block_id!r}")
    return record


def find_live(memory: Memory, block_id: str) -> Record | None:
    """The record of a block, unless it is archived."""
    record = find(memory, block_id)
    return record if record is not None and _is_live(record) else None


def listed(memory: Memory, filter: str | None, *include: Include) -> list[Record]:
    """Every block that is not archived, read from one state of the memory, oldest first."""
    still = memory.at(memory.events.position)
    found: list[Record] = []
    last: str | None = None
    while True:
        page = still.list(
            filter=filter, include=("waiting", *include), limit=LIST_MAX_RECORDS, after=last
        )
        found += page
        if len(page) < LIST_MAX_RECORDS:
            break
        last = page[-1].id
    blocks = (record for record in found if record.id != SETTINGS)
    return sorted(blocks, key=lambda record: (record.created_at, record.id))


async def _listed(conn: Connection, status: BlockStatus) -> list[Block]:
    words = ", ".join(f"'{own}'" for own, shown in SHOWN_AS.items() if shown == status)
    where, include = f"status in ({words})", tuple[Include, ...]()
    if status == "inbox":  # also what went back there
        where, include = f"{where} or data.{KEY}.status = 'inbox'", ("archived", "forgotten")
    records = await conn.run(lambda memory: listed(memory, where, *include))
    blocks = [block for block in map(block_of, records) if block["status"] == status]
    return sorted(blocks, key=lambda block: (block["created_at"], block["id"]))


def _is_live(record: Record) -> bool:
    return status_of(record, beside(record)) != "archived"


def _number(value: float, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(f"{what} must be a number, not {type(value).__name__}")
    return float(value)  # whether it is finite is checked with all other data


def _optional(value: float | None, what: str) -> float | None:
    return None if value is None else _number(value, what)
