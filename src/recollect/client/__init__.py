"""A memory that a service keeps, with the calls of ``recollect.Memory``.

    from recollect.client import Memory

    with Memory.open("http://127.0.0.1:7357", token="rct_…") as memory:
        memory.remember("Alice prefers an aisle seat.", key="alice.seat")

``recollect.AsyncMemory`` and ``recollect.AsyncStore`` take what is opened here.

Responsible for speaking to ``recollect serve``. Leaves what is remembered to the service.
Invariant: only ``model`` and ``errors`` are imported, so that a program which uses the client
loads no engine.
"""

from __future__ import annotations

from recollect.client.memory import Memory
from recollect.client.store import Store

__all__ = ["Memory", "Store"]
