"""What a store of episodes and a store of facts provide.

Responsible for the two protocols alone. Leaves this package's implementations to ``store`` and
``facts``, and what any implementation must do to ``recollect.testing.episodic_suite``.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from recollect.contracts.episodic.deltas import MemoryDelta
from recollect.contracts.episodic.values import (
    ConsolidationRule,
    Episode,
    Fact,
    FactPattern,
    MigrationPlan,
    StoreHealth,
)


@runtime_checkable
class MemoryStore(Protocol):
    """Episodes, by user, session and agent."""

    async def bootstrap(self) -> None:
        """Create what the store needs; again, it changes nothing."""

    async def health(self) -> StoreHealth:
        """Whether the store can be used; ``fragment_count`` is its number of episodes."""
        ...

    async def migrate(self, plan: MigrationPlan) -> None:
        """Check a plan; raises ``MigrationNotSupported`` unless it only adds nullable columns."""

    async def put(self, episode: Episode, *, user: str, session: str, agent: str) -> None:
        """Insert an episode in a scope."""

    async def recent(
        self, user: str, session: str | None = None, agent: str | None = None, *, limit: int
    ) -> list[Episode]:
        """The newest episodes of a user; a level that is left out stands for any."""
        ...

    async def consolidate(self, rule: ConsolidationRule) -> list[MemoryDelta]:
        """What the episodes that match a rule ask to be believed, oldest first."""
        ...


@runtime_checkable
class FactStore(Protocol):
    """Facts, each with the episodes it rests on."""

    async def bootstrap(self) -> None:
        """Create what the store needs; again, it changes nothing."""

    async def health(self) -> StoreHealth:
        """Whether the store can be used; ``fragment_count`` is its number of facts."""
        ...

    async def migrate(self, plan: MigrationPlan) -> None:
        """Check a plan; raises ``MigrationNotSupported`` unless it only adds nullable columns."""

    async def apply_delta(self, delta: MemoryDelta) -> None:
        """Apply a delta: from episodes to facts, never back."""

    async def query(self, pattern: FactPattern) -> list[Fact]:
        """The facts that match a pattern."""
        ...
