"""The code blocks of S2, with ``stargraph.stores`` replaced by ``recollect.contracts.episodic``.

Every other change has a comment that starts with "changed". Run it in an empty folder:
``python quickstart_s2.py``; it prints what it did.
"""
# ruff: noqa: E402, I001, T201 - the blocks stand in the order of the seed

from __future__ import annotations

import asyncio  # changed: the blocks await at the top level, so they run in a coroutine

# --- Protocol surface

from typing import Protocol, runtime_checkable

# changed: the block defines the protocol; here it is compared with the one that is published
from recollect.contracts.episodic import ConsolidationRule, Episode, MemoryDelta
from recollect.contracts.episodic import MemoryStore as Published
from recollect.contracts.episodic import MigrationPlan, StoreHealth


@runtime_checkable
class MemoryStore(Protocol):
    async def bootstrap(self) -> None: ...
    async def health(self) -> StoreHealth: ...
    async def migrate(self, plan: MigrationPlan) -> None: ...

    async def put(
        self,
        episode: Episode,
        *,
        user: str,
        session: str,
        agent: str,
    ) -> None: ...

    async def recent(
        self,
        user: str,
        session: str | None = None,
        agent: str | None = None,
        *,
        limit: int,
    ) -> list[Episode]: ...

    async def consolidate(
        self,
        rule: ConsolidationRule,
    ) -> list[MemoryDelta]: ...


# --- MemoryDelta union

from typing import Annotated  # changed: the block leaves its imports out

from pydantic import Field  # changed: the same; the package itself does without pydantic
from recollect.contracts.episodic import AddDelta, DeleteDelta, NoopDelta, UpdateDelta

Union = Annotated[  # changed: the name, because the published MemoryDelta is used above
    AddDelta | UpdateDelta | DeleteDelta | NoopDelta,
    Field(discriminator="kind"),
]

# --- Constructor

from pathlib import Path
from recollect.contracts.episodic import SQLiteMemoryStore


async def constructor() -> SQLiteMemoryStore:  # changed: a function, for the await
    store = SQLiteMemoryStore(path=Path("./.memory"))
    await store.bootstrap()
    return store  # changed: given to what follows


# --- Widening reads: the calls of the table


async def recent(store: SQLiteMemoryStore) -> list[list[str]]:  # changed: a function, for the await
    found = [
        await store.recent("alice", "S1", "rag", limit=10),
        await store.recent("alice", "S1", limit=10),
        await store.recent("alice", limit=10),
    ]
    return [[one.id for one in page] for page in found]


# --- Schema

SCHEMA = """
CREATE TABLE IF NOT EXISTS episodes (
  id         TEXT PRIMARY KEY,
  scope_key  TEXT NOT NULL,
  content    BLOB NOT NULL,   -- orjson JSONB of the Episode payload
  timestamp  TEXT NOT NULL,
  metadata   BLOB NOT NULL    -- orjson JSONB
);
CREATE INDEX IF NOT EXISTS idx_episodes_scope_ts
  ON episodes(scope_key, timestamp DESC);
"""

# --- YAML wiring

WIRING = """
stores:
  memory: sqlite:./.memory
"""


# changed: from here on, what the text around the blocks says, so that they have something to do

import sqlite3
from datetime import UTC, datetime, timedelta
from recollect.contracts.episodic import FactPattern, SQLiteFactStore, load_stores


async def main() -> None:
    """Puts, reads, consolidates, promotes and exports, with the objects of the blocks."""
    store = await constructor()
    print(isinstance(store, MemoryStore), isinstance(store, Published))
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    told = [
        ("e1", "S1", "rag", {"subject": "alice", "predicate": "seat", "object": "4A"}),
        ("e2", "S1", "web", {"subject": "alice", "predicate": "seat", "object": "12B"}),
        ("e3", "S2", "rag", {"intent": "noop"}),
    ]
    for number, (id, session, agent, metadata) in enumerate(told):
        episode = Episode(
            id=id,
            content=f"what {id} says",
            timestamp=noon + timedelta(minutes=number),
            source_node="planner",
            agent=agent,
            user="alice",
            session=session,
            metadata=metadata,
        )
        await store.put(episode, user="alice", session=session, agent=agent)
    print(*await recent(store))
    rule = ConsolidationRule(
        id="nightly", cadence={"cron": "0 3 * * *"}, when_filter="", then_emits=["facts"]
    )
    deltas = await store.consolidate(rule)
    print(*(delta.kind for delta in deltas))
    facts = SQLiteFactStore(path=Path("./.memory"))
    await facts.bootstrap()
    for delta in deltas:
        await facts.apply_delta(delta)
    print(*(fact.payload["object"] for fact in await facts.query(FactPattern())))
    with sqlite3.connect("table.db") as db:
        db.executescript(SCHEMA)
        rows = [tuple(row.values()) for row in await store.rows()]
        db.executemany("INSERT INTO episodes VALUES (?, ?, ?, ?, ?)", rows)
    db.close()
    wired = load_stores(WIRING)["memory"]
    await wired.bootstrap()
    print((await store.health()).fragment_count, len(rows), wired)
    for each in (store, facts, wired):
        await each.close()


if __name__ == "__main__":
    asyncio.run(main())
