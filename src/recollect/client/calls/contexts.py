"""The calls of ``memory.contexts`` as requests; ``make async`` writes it.

Responsible for one request for each call there. Leaves sending to ``client.asking``. Invariant:
signatures and documentation are the same.
"""

from __future__ import annotations

from recollect.client.asking import Calls
from recollect.client.kinds import Counter, count_tokens
from recollect.model.values import Context


class Contexts(Calls):
    """Context, replay, used."""

    def context(
        self,
        query: str,
        *,
        tokens: int | None = None,
        frame: str = "task",
        receipt: bool = True,
        counter: Counter = count_tokens,
    ) -> Context:
        """What the memory holds about a question, packed for a prompt under a token budget.

        Args:
            query: The question, in plain words.
            tokens: The budget; the frame's by default.
            frame: Decides what counts, what is always included and what is not relevant enough.
            receipt: Leave a receipt of what was handed out; it is written with the next append.
            counter: Counts the tokens of a text.

        Returns:
            The packed text, its hits, what was left out and why, and the receipt's id.

        Raises:
            NotFound: The frame does not exist.
            LimitExceeded: The frame guarantees too many records.
        """
        self._refuse_own("counter", counter, count_tokens)
        answer: Context = self._do(
            "context",
            Context,
            {"query": query, "tokens": tokens, "frame": frame, "receipt": receipt},
            flags=("receipt",),
        )
        return answer

    def flush(self) -> None:
        """Write the receipts that wait for the next append."""
        self._do("flush", None, {})
