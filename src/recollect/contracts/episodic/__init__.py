"""Episodic: episodes and facts under the API of an earlier design (``contracts.md``, part S2).

Responsible for the API as a whole. Leaves its values to ``values`` and ``deltas``, its calls to
``store``, ``facts`` and ``triples``, its configuration to ``configured``. Invariants: an episode is
an episode of the memory and a fact is a record of it; nothing is stored outside the ledger; a fact
has at most the trust of its episodes, and their user.

    store = SQLiteMemoryStore(path=Path("./.memory"))
    await store.bootstrap()
"""

from __future__ import annotations

from recollect.contracts.episodic.configured import load_stores
from recollect.contracts.episodic.consolidation import Skipped
from recollect.contracts.episodic.deltas import (
    AddDelta,
    DeleteDelta,
    MemoryDelta,
    NoopDelta,
    UpdateDelta,
)
from recollect.contracts.episodic.errors import (
    ConsolidationRuleError,
    MemoryScopeError,
    MigrationNotSupported,
)
from recollect.contracts.episodic.facts import SQLiteFactStore
from recollect.contracts.episodic.protocol import FactStore, MemoryStore
from recollect.contracts.episodic.scope import scope_key, scope_pattern
from recollect.contracts.episodic.store import SQLiteMemoryStore
from recollect.contracts.episodic.table import TableRow
from recollect.contracts.episodic.triples import PromoteTriplesToFacts, promote_triples
from recollect.contracts.episodic.values import (
    ConsolidationRule,
    Episode,
    Fact,
    FactPattern,
    MigrationPlan,
    StoreHealth,
)

__all__ = [
    "AddDelta",
    "ConsolidationRule",
    "ConsolidationRuleError",
    "DeleteDelta",
    "Episode",
    "Fact",
    "FactPattern",
    "FactStore",
    "MemoryDelta",
    "MemoryScopeError",
    "MemoryStore",
    "MigrationNotSupported",
    "MigrationPlan",
    "NoopDelta",
    "PromoteTriplesToFacts",
    "SQLiteFactStore",
    "SQLiteMemoryStore",
    "Skipped",
    "StoreHealth",
    "TableRow",
    "UpdateDelta",
    "load_stores",
    "promote_triples",
    "scope_key",
    "scope_pattern",
]
