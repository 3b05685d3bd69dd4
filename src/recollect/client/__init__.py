"""A memory that a service keeps, with the calls of ``recollect.Memory``.

    from recollect.client import Memory

    with Memory.open("http://127.0.0.1:7357", token="rct_…") as memory:
        memory.remember("Alice prefers an aisle seat.", key="alice.seat")

Responsible for speaking to ``recollect serve``. Leaves what is remembered to the service.
Invariant: only ``model`` and ``errors`` are imported, so that a program which uses the client
loads no engine.
"""

from __future__ import annotations

from recollect.client.memory import Memory
from recollect.client.store import Store

TYPE_CHECKING = False  # as type checkers know it, without the time that typing takes to load

if TYPE_CHECKING:
    from recollect.client.aio import AsyncMemory, AsyncStore

__all__ = ["AsyncMemory", "AsyncStore", "Memory", "Store"]

if not TYPE_CHECKING:  # hidden from type checkers, to whom every name would seem to exist

    def __getattr__(name: str) -> object:
        """Loads the async client on first use: it needs asyncio."""
        if name not in ("AsyncMemory", "AsyncStore"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from recollect.client import aio

        return getattr(aio, name)
