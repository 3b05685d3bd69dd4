"""The words of this API as enums, and the order of a pair.

Responsible for the names that the columns ``status`` and ``archive_reason`` hold and for the tiers
of decay. Leaves the columns to ``table``. Invariant: a word here is the text that is stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from recollect.recall.presets import DECAY_PER_HOUR


class BlockStatus(StrEnum):
    """What ``status`` holds."""

    INBOX = "inbox"
    ACTIVE = "active"
    ARCHIVED = "archived"


class ArchiveReason(StrEnum):
    """What ``archive_reason`` holds, if the block is archived."""

    DECAYED = "decayed"
    SUPERSEDED = "superseded"
    FORGOTTEN = "forgotten"


class DecayTier(StrEnum):
    """How fast a record ages in the engine; ``decay_lambda`` is the same as a rate."""

    PERMANENT = "permanent"
    DURABLE = "durable"
    STANDARD = "standard"
    EPHEMERAL = "ephemeral"

    @property
    def decay_lambda(self) -> float:
        """The rate of this tier, for each active hour."""
        return DECAY_PER_HOUR[self.value]


@dataclass(frozen=True)
class Edge:
    """How strongly two blocks belong together."""

    from_id: str
    to_id: str
    weight: float
    reinforcement_count: int = 0

    @staticmethod
    def canonical(one: str, other: str) -> tuple[str, str]:
        """The two ids of an edge, the smaller first."""
        return (one, other) if one < other else (other, one)
