"""The value of an overview: what a memory holds in general.

Responsible for its shape. Leaves choosing what it shows to ``finding.recent``. Invariant: its
groups share no record.
"""

from __future__ import annotations

from recollect.model.values.records import Episode, Record, Value


class Overview(Value, frozen=True, kw_only=True):
    """What a memory holds in general, or what came to it within a stretch of time.

    ``used`` are the records that were reinforced most, ``changed`` the others that changed last,
    ``said`` the episodes that were said last. ``records`` and ``episodes`` count everything of that
    time that a default read shows.
    """

    used: tuple[Record, ...]
    changed: tuple[Record, ...]
    said: tuple[Episode, ...]
    records: int
    episodes: int
    since: str | None = None
    before: str | None = None

    @property
    def more_records(self) -> int:
        """How many records there are besides those shown."""
        return max(0, self.records - len(self.used) - len(self.changed))

    @property
    def more_episodes(self) -> int:
        """How many episodes there are besides those shown."""
        return max(0, self.episodes - len(self.said))
