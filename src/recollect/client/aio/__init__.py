"""The async client: each call of ``client.Memory`` in a worker thread.

Responsible for the same calls, awaited. Leaves requests to the plain client. Invariant: the groups
of calls are written by ``make async``, so no call is missing here.
"""

from recollect.client.aio.memory import AsyncMemory
from recollect.client.aio.store import AsyncStore

__all__ = ["AsyncMemory", "AsyncStore"]
