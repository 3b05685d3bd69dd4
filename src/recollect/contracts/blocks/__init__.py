"""Blocks: records under the storage functions of an earlier design (``contracts.md``, part S4).

Responsible for the API as a whole: every function takes a connection first and returns plain dicts
and scalars. Leaves the columns to ``table``, the calls to ``store``, ``graph``, ``frames``,
``sessions`` and ``settings``. Invariant: one call is one command or one read; nothing is stored
outside the ledger.

    async with connect("my-memory") as conn:
        block = content_hash("Tea is at four.")
        await insert_block(conn, block_id=block, content="Tea is at four.", category="knowledge",
                           source="api")
"""

from __future__ import annotations

from recollect.contracts.blocks.connection import Connection, IntegrityError, connect
from recollect.contracts.blocks.frames import FrameRow, get_frame, list_frames, upsert_frame
from recollect.contracts.blocks.graph import (
    Contradiction,
    Edge,
    canonical,
    get_contradictions_for_blocks,
    get_edges_for_block,
    get_neighbours,
    get_weighted_degree,
    insert_contradiction,
    insert_edge,
    reinforce_edges,
    resolve_contradiction,
)
from recollect.contracts.blocks.sessions import (
    SessionRow,
    end_session,
    get_active_session,
    start_session,
)
from recollect.contracts.blocks.settings import (
    CONFIG,
    get_config,
    get_total_active_hours,
    seed_builtin_data,
    set_config,
    set_total_active_hours,
)
from recollect.contracts.blocks.store import (
    add_tags,
    block_exists,
    get_active_blocks,
    get_active_blocks_with_embeddings,
    get_block,
    get_blocks_by_tag_pattern,
    get_inbox_blocks,
    get_inbox_count,
    get_tags,
    insert_block,
    reinforce_blocks,
    remove_tags,
    update_block_scoring,
    update_block_status,
)
from recollect.contracts.blocks.table import (
    Block,
    bytes_to_embedding,
    content_hash,
    embedding_to_bytes,
    hours_since,
)

__all__ = [
    "Block",
    "CONFIG",
    "Connection",
    "Contradiction",
    "Edge",
    "FrameRow",
    "IntegrityError",
    "SessionRow",
    "add_tags",
    "block_exists",
    "bytes_to_embedding",
    "canonical",
    "connect",
    "content_hash",
    "embedding_to_bytes",
    "end_session",
    "get_active_blocks",
    "get_active_blocks_with_embeddings",
    "get_active_session",
    "get_block",
    "get_blocks_by_tag_pattern",
    "get_config",
    "get_contradictions_for_blocks",
    "get_edges_for_block",
    "get_frame",
    "get_inbox_blocks",
    "get_inbox_count",
    "get_neighbours",
    "get_tags",
    "get_total_active_hours",
    "get_weighted_degree",
    "hours_since",
    "insert_block",
    "insert_contradiction",
    "insert_edge",
    "list_frames",
    "reinforce_blocks",
    "reinforce_edges",
    "remove_tags",
    "resolve_contradiction",
    "seed_builtin_data",
    "set_config",
    "set_total_active_hours",
    "start_session",
    "update_block_scoring",
    "update_block_status",
    "upsert_frame",
]
