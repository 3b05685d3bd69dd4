"""Blocks and their tags.

Responsible for the functions over both. Leaves columns to ``table``. Invariants: every function is
one read or one command; an archived block has no tags.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, get_args

from msgspec import UNSET

from recollect.contracts.blocks.connection import Connection, IntegrityError
from recollect.contracts.blocks.settings import SETTINGS
from recollect.contracts.blocks.table import (
    KEY,
    SHOWN_AS,
    ArchiveReason,
    Beside,
    Block,
    BlockStatus,
    block_of,
    embedding_to_bytes,
    tier_of,
)
from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.lifecycle.commands import Act, Archive, Forget, Reinforce, Remember, Restore, Revise
from recollect.memory import Memory, acts
from recollect.model import validate
from recollect.model.limits import LIST_MAX_RECORDS
from recollect.model.values import INCLUDES, Record

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
    _check_word(status, get_args(BlockStatus), "status")
    own = Beside(
        source=validate.name(source, "source"),
        decay_lambda=_number(decay_lambda, "decay_lambda"),
        last_reinforced_at=_number(last_reinforced_at, "last_reinforced_at"),
    )
    added = Remember(
        id=validate.identifier(block_id, "block_id"),
        stamp="",  # neither is needed: the id is the caller's
        chance="",
        text=validate.text(content, "content"),
        kind=validate.name(category, "category"),
        confidence=validate.fraction(confidence, "confidence"),
        decay_tier=tier_of(decay_lambda),
        data=validate.data(own.as_data()),
        status="inbox" if status == "inbox" else UNSET,
        fresh=True,
    )
    archived = (Forget(id=block_id),) if status == "archived" else ()

    def work(memory: Memory) -> None:
        try:
            memory.submit(added, *archived)
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
    """Change a block's status: to active, or to archived with a reason."""
    _check_word(status, get_args(BlockStatus), "status")
    if archive_reason is not None:
        _check_word(archive_reason, get_args(ArchiveReason), "archive_reason")
        if status != "archived":
            raise InvalidInput(f"archive_reason is not allowed for the status {status}")

    await conn.run(lambda memory: memory.submit(*_moving(memory, block_id, status, archive_reason)))


def _moving(memory: Memory, block_id: str, status: str, reason: str | None) -> list[Act]:
    """The call that gives a block a status; an archived block is a forgotten record."""
    record = require(memory, block_id)
    block = block_of(record)
    was, why = block["status"], block["archive_reason"]
    if was == status and (status != "archived" or why == (reason or why)):
        return []
    if status == "inbox":
        raise Conflict(f"{block_id} is {was} and cannot go back to the inbox")
    if status == "active" and record.status == "held":
        raise Conflict(f"{block_id} is held", hint="only a person's review can change that")
    back: list[Act] = [] if status == "archived" != was else [Restore(id=block_id)]
    said = Revise(id=block_id, patch={KEY: {"archive_reason": reason}})
    if status == "active":
        return [*back, said]
    if reason == "decayed" and record.status != "held":
        return [*back, said, Archive(id=block_id, why="decayed")]
    return [*back, said, Forget(id=block_id, sources="keep" if reason == "decayed" else "shadow")]


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
    own = Beside(
        self_alignment=_optional(self_alignment, "self_alignment"),
        decay_lambda=_optional(decay_lambda, "decay_lambda"),
        embedding=None if embedding is None else embedding_to_bytes(embedding),
        embedding_model=validate.optional_name(embedding_model, "embedding_model"),
        token_count=token_count,
    )
    act = Revise(
        id=validate.identifier(block_id, "block_id"),
        confidence=UNSET if confidence is None else validate.fraction(confidence, "confidence"),
        decay_tier=UNSET if decay_lambda is None else tier_of(decay_lambda),
        patch=validate.data(own.as_data()),
    )

    def work(memory: Memory) -> None:
        require(memory, block_id)
        memory.submit(act)

    await conn.run(work)


async def reinforce_blocks(
    conn: Connection, block_ids: list[str], current_active_hours: float
) -> None:
    """Count one more use of each of these active blocks, at the given hour, in one command."""
    hours = _number(current_active_hours, "current_active_hours")
    patch = Beside(last_reinforced_at=hours).as_data()

    def work(memory: Memory) -> None:
        made: list[Act] = []
        for id in dict.fromkeys(block_ids):
            record = find(memory, id)
            if record is not None and record.status == "active":
                made.append(Reinforce(id=id))
                if KEY in record.data:  # records written by another API keep the engine's hours
                    made.append(Revise(id=id, patch=patch))
        memory.submit(*made)

    await conn.run(work)


# Tags.


async def add_tags(conn: Connection, block_id: str, tags: list[str]) -> None:
    """Add tags to a block; tags it already has are unchanged."""
    await conn.run(lambda memory: memory.submit(acts.tag(block_id, tags, ())))


async def remove_tags(conn: Connection, block_id: str, tags: list[str]) -> None:
    """Remove these tags from a block."""
    await conn.run(lambda memory: memory.submit(acts.tag(block_id, (), tags)))


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


def listed(memory: Memory, filter: str | None) -> list[Record]:
    """Every block that is not archived, read from one state of the memory, oldest first."""
    still = memory.at(memory.position)
    found: list[Record] = []
    last: str | None = None
    while True:
        page = still.list(filter=filter, include=("held",), limit=LIST_MAX_RECORDS, after=last)
        found += page
        if len(page) < LIST_MAX_RECORDS:
            break
        last = page[-1].id
    blocks = (record for record in found if record.id != SETTINGS)
    return sorted(blocks, key=lambda record: (record.created_at, record.id))


async def _listed(conn: Connection, status: BlockStatus) -> list[Block]:
    words = ", ".join(f"'{own}'" for own, shown in SHOWN_AS.items() if shown == status)
    records = await conn.run(lambda memory: listed(memory, f"status in ({words})"))
    return [block_of(record) for record in records]


def _is_live(record: Record) -> bool:
    return SHOWN_AS[record.status] != "archived"


def _check_word(value: str, words: Iterable[str], what: str) -> None:
    if value not in words:
        raise InvalidInput(f"{what} must be one of {', '.join(words)}, not {value!r}")


def _number(value: float, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(f"{what} must be a number, not {type(value).__name__}")
    return float(value)  # whether it is finite is checked with all other data


def _optional(value: float | None, what: str) -> float | None:
    return None if value is None else _number(value, what)
