"""A memory as a chain of records, under the API of S0 (``contracts.md``).

Responsible for the API as a whole. Leaves its calls to ``store`` and ``bridge``, and what a record
is in the memory to ``records``. Invariants: a record is a record of the memory; the ledger at
``.chronomemory/events.wal`` is the truth, and everything beside it can be deleted.

    with ChronoStore("project") as store:
        store.upsert(ChronoRecord(id="FACT-001", label="Water freezes at 0°C."))
"""

from __future__ import annotations

from recollect.contracts.chrono.bridge import BridgeStatus, EsdbBridge
from recollect.contracts.chrono.records import ChronoRecord
from recollect.contracts.chrono.store import ChronoStore

__all__ = ["BridgeStatus", "ChronoRecord", "ChronoStore", "EsdbBridge"]
