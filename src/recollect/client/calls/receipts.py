"""The calls of ``memory.receipts`` as requests; ``make async`` writes it.

Responsible for one request for each call there. Leaves sending to ``client.asking``. Invariant:
signatures and documentation are the same.
"""

from __future__ import annotations

from recollect.client.asking import Calls
from recollect.client.kinds import Expect
from recollect.model.values import Receipt


class Receipts(Calls):
    """List, get and erase. Reading them writes those that still wait to be written."""

    def get(self, id: str) -> Receipt:
        """One receipt.

        Raises:
            NotFound: This handle sees no receipt with that id.
        """
        answer: Receipt = self._do("get_receipt", Receipt, {"receipt": id})
        return answer

    def erase(
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
        self._do(
            "erase_receipt",
            None,
            {"receipt": id, "reason": reason},
            idempotency_key=idempotency_key,
            expect=expect,
        )
