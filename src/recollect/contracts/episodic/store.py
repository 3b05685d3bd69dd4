"""``SQLiteMemoryStore``: a memory under the calls of an episodic store.

Responsible for putting and reading episodes. Leaves opening to ``opened``, rules to
``consolidation`` and every check of a write to the memory. Invariants: an episode is an episode of
the memory, stored once, in the ledger; each name of a scope is compared on its own and exactly.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

from recollect.contracts.episodic import scope
from recollect.contracts.episodic.cadence import due_at, note
from recollect.contracts.episodic.consolidation import Skipped, consolidated
from recollect.contracts.episodic.deltas import MemoryDelta
from recollect.contracts.episodic.errors import MemoryScopeError
from recollect.contracts.episodic.opened import OpenedStore
from recollect.contracts.episodic.protocol import FactStore
from recollect.contracts.episodic.reads import Shown
from recollect.contracts.episodic.table import TableRow, episode_of, stored_metadata, table_row
from recollect.contracts.episodic.values import (
    ConsolidationRule,
    Episode,
    StoreHealth,
    instant_of,
)
from recollect.errors import Conflict, RecollectError
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of

_ROLE: Final = "assistant"  # what a node of a graph tells; trusted as an agent's word at most


class SQLiteMemoryStore(OpenedStore):
    """Episodes in a folder; ``path`` is created by ``bootstrap``, with its parents."""

    #: What the last ``consolidate`` or ``run_due`` left out, and why.
    skipped: tuple[Skipped, ...] = ()

    async def health(self) -> StoreHealth:
        """How many episodes there are; not ok if the memory is damaged."""
        return await self.run(_health)

    async def put(self, episode: Episode, *, user: str, session: str, agent: str) -> None:
        """Insert an episode in a scope, which must be the one it names.

        Putting the same episode again changes nothing. Another one with its id is a ``Conflict``.
        """
        given = {"user": user, "session": session, "agent": agent}
        for part, value in given.items():
            if scope.name(value, part) != getattr(episode, part):
                raise MemoryScopeError(
                    f"the episode names {part} {getattr(episode, part)!r}, not {value!r}",
                    hint="put it in the scope that it names",
                )
        await self.run(lambda memory: _put(memory, episode))

    async def recent(
        self, user: str, session: str | None = None, agent: str | None = None, *, limit: int
    ) -> list[Episode]:
        """The newest episodes of a user, by instant; a level that is left out stands for any."""
        given = {"user": user, "session": session, "agent": agent}
        scope.name(user, "user")
        for part in ("session", "agent"):
            value = given[part]
            if value is not None:
                scope.name(value, part)
        rows = await self.run(lambda memory: Shown(handle_of(memory)).newest(given, limit))
        return [episode_of(row) for row in rows]

    async def consolidate(self, rule: ConsolidationRule) -> list[MemoryDelta]:
        """What the episodes that match a rule ask to be believed, oldest first.

        Nothing is written, and each call looks at all of them. One whose metadata cannot be read is
        left out; ``skipped`` says which, and why.
        """
        deltas, self.skipped = await self.run(lambda memory: consolidated(memory, rule))
        return deltas

    async def run_due(
        self, rules: Iterable[ConsolidationRule], facts: FactStore
    ) -> list[MemoryDelta]:
        """Run the rules whose cadence has come, and apply what they find; returns the deltas.

        ``{"every": n}`` has come when so many episodes that match are new since the last pass,
        ``{"cron": "…"}`` at these times of this machine's clock, and when the rule never ran. How
        far each rule has come is kept in the memory. Call it as often as you like: from a loop, a
        timer, or after a session. Nothing runs by itself.
        """
        found: list[MemoryDelta] = []
        skipped: list[Skipped] = []
        for rule in rules:
            now = await self.run(partial(due_at, rule=rule))
            if now is None:
                continue
            deltas = await self.consolidate(rule)
            for delta in deltas:
                await facts.apply_delta(delta)
            await self.run(partial(note, rule=rule, now=now))
            found += deltas
            skipped += self.skipped
        self.skipped = tuple(skipped)
        return found

    async def rows(self) -> list[TableRow]:
        """Every episode as a row of the table ``episodes``, oldest first."""
        found = await self.run(lambda memory: Shown(handle_of(memory)).oldest_first())
        return [table_row(episode_of(row)) for row in found]


def _health(memory: Memory) -> StoreHealth:
    try:
        return StoreHealth(ok=True, fragment_count=memory.status().episodes)
    except RecollectError as error:
        return StoreHealth(ok=False, fragment_count=0, warnings=[str(error)])


def _put(memory: Memory, episode: Episode) -> None:
    metadata = stored_metadata(episode)
    mine = memory.scoped(user=episode.user, session=episode.session, agent=episode.agent)
    (stored,) = mine.observe(
        episode.content,
        role=_ROLE,
        said_at=episode.timestamp,
        metadata=metadata,
        id=episode.id,
    )
    said_at = instant_of(episode.timestamp, "timestamp")
    at, here = stored.scope, mine.scope
    is_there = (at.user, at.session, at.agent) == (here.user, here.session, here.agent)
    if not is_there or (stored.said_at, stored.metadata) != (said_at, metadata):
        raise Conflict(
            f"another episode has the id {episode.id!r}",
            hint="an episode never changes: put this one under an id of its own",
        )
