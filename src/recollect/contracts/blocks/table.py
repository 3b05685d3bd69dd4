"""The sixteen columns of a block, and the record that they are read from.

Responsible for what a record shows as a row. Leaves what a change of a row means to ``changed``,
and the columns that a record has no field for to ``exchange.importers.blocks``. Invariant: a record
that another API wrote is a row too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypedDict

import msgspec

from recollect.exchange.importers.blocks import KEY, ArchiveReason, Beside, BlockStatus
from recollect.index.rows import content_id
from recollect.model.values import Record
from recollect.model.words import RecordStatus
from recollect.recall.presets import DECAY_PER_HOUR

if TYPE_CHECKING:  # numpy is loaded only if there are embeddings
    import numpy as np
    from numpy.typing import NDArray

    Embedding = NDArray[np.float32]

Value = str | int | float | bytes | None
Row = dict[str, Value]  # a row of any table, by the names of its columns

SHOWN_AS: Final[dict[RecordStatus, BlockStatus]] = {
    "inbox": "inbox",
    "waiting": "inbox",  # not trusted until a review approves it
    "active": "active",
    "replaced": "archived",
    "archived": "archived",
    "forgotten": "archived",
}


class Block(TypedDict):
    """One row, in the order of its columns."""

    id: str
    content: str
    category: str
    source: str
    created_at: str
    status: BlockStatus
    archive_reason: ArchiveReason | None
    confidence: float
    reinforcement_count: int
    decay_lambda: float
    last_reinforced_at: float
    self_alignment: float | None
    embedding: bytes | None
    embedding_model: str | None
    token_count: int | None
    last_session_id: str | None


def beside(record: Record) -> Beside:
    """These columns from a record's data; malformed data, which anyone can write, is ignored."""
    try:
        return msgspec.convert(record.data.get(KEY, {}), Beside)
    except msgspec.ValidationError:
        return Beside()


def block_of(record: Record) -> Block:
    """A record as a row; a record written by another API shows its own fields."""
    own = beside(record)
    since, rate = own.last_reinforced_at, own.decay_lambda
    return Block(
        id=record.id,
        content=record.text,
        category=record.kind,
        source=own.source or record.how_known,
        created_at=own.created_at or record.created_at,
        status=status_of(record, own),
        archive_reason=_archive_reason(record, own),
        confidence=record.confidence,
        reinforcement_count=record.reinforcement_count + own.uses,
        decay_lambda=DECAY_PER_HOUR[record.decay_tier] if rate is None else rate,
        last_reinforced_at=record.reinforced_hours if since is None else since,
        self_alignment=own.self_alignment,
        embedding=own.embedding,
        embedding_model=own.embedding_model,
        token_count=own.token_count,
        last_session_id=_session(record, own),
    )


def status_of(record: Record, own: Beside) -> BlockStatus:
    """The status that a record is shown with."""
    shown = SHOWN_AS[record.status]
    return "inbox" if shown == "archived" and own.status == "inbox" else shown


def _session(record: Record, own: Beside) -> str | None:
    return record.scope.session if own.last_session_id is None else own.last_session_id or None


def _archive_reason(record: Record, own: Beside) -> ArchiveReason | None:
    if status_of(record, own) != "archived" or own.archive_reason == "":
        return None
    if record.status == "replaced":
        return "superseded"
    if record.status == "archived":
        return "decayed" if record.reason == "decayed" else own.archive_reason or "forgotten"
    return own.archive_reason or "forgotten"


def content_hash(content: str) -> str:
    """The id of a block: 16 hex of the SHA-256 of the trimmed, lower-cased content."""
    return content_id(content)


def hours_since(block: Block, current_active_hours: float) -> float:
    """The active hours since a block was last reinforced."""
    return current_active_hours - block["last_reinforced_at"]


def embedding_to_bytes(vec: Embedding) -> bytes:
    """A vector as the bytes of its float32 numbers."""
    import numpy as np

    return vec.astype(np.float32).tobytes()


def bytes_to_embedding(data: bytes) -> Embedding:
    """The vector of such bytes."""
    import numpy as np

    return np.frombuffer(data, dtype=np.float32)
