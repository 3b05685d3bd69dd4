"""An episode of the memory as a value of this API, and as a row of its table.

Responsible for both directions of the translation. Leaves reading and writing to ``store``.
Invariant: a field that an episode of the memory has is stored only there; ``source_node``, which it
has none for, is in its metadata under ``episodic``.
"""

from __future__ import annotations

from typing import TypedDict

import msgspec

from recollect.contracts.episodic.scope import scope_key
from recollect.contracts.episodic.values import Episode
from recollect.exchange.importers.stargraph import KEY
from recollect.index.rows import EpisodeRow, unpack_object
from recollect.model.instants import to_datetime
from recollect.model.validate import Json


class TableRow(TypedDict):
    """One row of the table ``episodes``, in the order of its columns; no column is ever null."""

    id: str
    scope_key: str
    content: bytes  # JSON: the content, the node and the scope
    timestamp: str
    metadata: bytes  # JSON


def stored_metadata(episode: Episode) -> dict[str, Json]:
    """The metadata of the memory's episode: the caller's, and the node."""
    return {**episode.metadata, KEY: {"source_node": episode.source_node}}


def episode_of(row: EpisodeRow) -> Episode:
    """An episode of the memory; one that another API wrote has no node and maybe no scope."""
    metadata = unpack_object(row.metadata)
    own = metadata.pop(KEY, None)
    node = own.get("source_node") if isinstance(own, dict) else None
    return Episode(
        id=row.id,
        content=row.text,
        timestamp=to_datetime(row.said_at),
        source_node=node if isinstance(node, str) else "",
        agent=row.agent or "",
        user=row.user or "",
        session=row.session or "",
        metadata=metadata,
    )


def table_row(episode: Episode) -> TableRow:
    """An episode as a row; its instant is written in UTC, so that rows sort by it."""
    payload = {
        "content": episode.content,
        "source_node": episode.source_node,
        "agent": episode.agent,
        "user": episode.user,
        "session": episode.session,
    }
    return TableRow(
        id=episode.id,
        scope_key=scope_key(episode.user, episode.session, episode.agent),
        content=msgspec.json.encode(payload),
        timestamp=episode.timestamp.isoformat(timespec="microseconds"),
        metadata=msgspec.json.encode(episode.metadata),
    )
