"""The calls of ``memory.receipts``, async; ``make async`` writes this module.

Responsible for one call in a worker thread for each call there. Leaves everything else to the plain
memory. Invariant: signatures and documentation are the same.
"""

from __future__ import annotations

from recollect.client.aio.workers import AsyncCalls
from recollect.client.kinds import Expect
from recollect.client.parts import Receipts
from recollect.model.values import Receipt


class AsyncReceipts(AsyncCalls[Receipts]):
    """List, get and erase. Reading them writes those that still wait to be written."""

    async def list(self, *, limit: int = 100, after: str | int | None = None) -> list[Receipt]:
        """Receipts, newest first.

        Args:
            limit: At most this many, up to 10,000.
            after: The id of the last receipt of the page before, or its ``seq``, which leads on
                even if it was erased since.
        """
        return await self._run(self._calls.list, limit=limit, after=after)

    async def get(self, id: str) -> Receipt:
        """One receipt.

        Raises:
            NotFound: This handle sees no receipt with that id.
        """
        return await self._run(self._calls.get, id)

    async def erase(
        self,
        id: str,
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> None:
        """Remove every byte of a receipt, for good; the memory that it names stays.

        Args:
            id: The receipt.
            reason: Why; it stays in the ledger.
            idempotency_key: The same key with the same call again does nothing more.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Raises:
            NotFound: This handle sees no receipt with that id.
            Forbidden: The handle has less than a person's trust.
        """
        await self._run(
            self._calls.erase, id, reason=reason, idempotency_key=idempotency_key, expect=expect
        )
