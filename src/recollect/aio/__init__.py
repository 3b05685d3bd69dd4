"""The async API: ``AsyncStore`` and ``AsyncMemory``.

Responsible for running each call in a worker thread. Leaves everything else to ``Store`` and
``Memory``; the groups of calls are written by ``tools/async_api.py``. Invariant: one call runs in
one thread, and a store has at most ``WORKERS_MAX_COUNT`` of them; further calls wait.

    async with await AsyncMemory.open("my-memory") as memory:
        async with asyncio.timeout(2):
            await memory.remember("Tea is at four.", idempotency_key="tea-1")

**Deadlines and cancellation.** ``asyncio.timeout`` and ``task.cancel()`` bound how long the caller
waits; they never cut an operation in half.

- A call that still waits for a thread when it is cancelled never happens.
- A call that a thread has started runs to its end: a write is then whole and durable, but its
  result is lost. So a write that was cancelled or timed out may still have happened. With an
  ``idempotency_key`` it is safe to repeat the call: it returns the outcome of the first.
- A batch whose block is cancelled before its end writes nothing.
- Closing a store, or a memory from ``AsyncMemory.open``, waits for every call that was made before,
  including cancelled ones. A cancelled ``close`` may continue; call it again to be sure.

Handles do not belong to an event loop and may be shared by several. After a fork they refuse.
"""

from recollect.aio.admin import AsyncAdmin
from recollect.aio.branches import AsyncBranches
from recollect.aio.documents import AsyncDocuments
from recollect.aio.events import AsyncEvents
from recollect.aio.jobs import AsyncJobs
from recollect.aio.links import AsyncLinks
from recollect.aio.memory import AsyncMemory
from recollect.aio.pages import AsyncPages
from recollect.aio.presets import AsyncPresets
from recollect.aio.proofs import AsyncProofs
from recollect.aio.receipts import AsyncReceipts
from recollect.aio.review import AsyncReview
from recollect.aio.rules import AsyncRules
from recollect.aio.sessions import AsyncSessions
from recollect.aio.settings import AsyncMemorySettings
from recollect.aio.store import AsyncStore
from recollect.aio.tokens import AsyncTokens
from recollect.aio.workers import Workers

__all__ = [
    "AsyncAdmin",
    "AsyncEvents",
    "AsyncLinks",
    "AsyncProofs",
    "AsyncMemorySettings",
    "AsyncBranches",
    "AsyncDocuments",
    "AsyncPresets",
    "AsyncJobs",
    "AsyncMemory",
    "AsyncPages",
    "AsyncReceipts",
    "AsyncRules",
    "AsyncSessions",
    "AsyncReview",
    "AsyncStore",
    "AsyncTokens",
    "Workers",
]
