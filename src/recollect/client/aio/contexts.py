"""The calls of ``memory.contexts``, async; ``make async`` writes this module.

Responsible for one call in a worker thread for each call there. Leaves everything else to the plain
memory. Invariant: signatures and documentation are the same.
"""

from __future__ import annotations

from collections.abc import Iterable

from recollect.client.aio.branches import AsyncBranches
from recollect.client.aio.documents import AsyncDocuments
from recollect.client.aio.frames import AsyncFrames
from recollect.client.aio.pages import AsyncPages
from recollect.client.aio.receipts import AsyncReceipts
from recollect.client.aio.review import AsyncReview
from recollect.client.aio.rules import AsyncRules
from recollect.client.aio.sessions import AsyncSessions
from recollect.client.aio.workers import AsyncCalls
from recollect.client.kinds import Counter, Expect, count_tokens
from recollect.client.memory import Memory
from recollect.model.values import Context, Record, Replay


class AsyncContexts(AsyncCalls[Memory]):
    """Context, replay, used."""

    @property
    def frames(self) -> AsyncFrames:
        """The frames of this memory: built in, and set by its users."""
        return AsyncFrames(self._calls.frames, self._workers)

    @property
    def documents(self) -> AsyncDocuments:
        """The documents of this memory: rules, settings and policies."""
        return AsyncDocuments(self._calls.documents, self._workers)

    @property
    def rules(self) -> AsyncRules:
        """The rules of this memory: which episodes become records; ``consolidate`` runs one."""
        return AsyncRules(self._calls.rules, self._workers)

    @property
    def sessions(self) -> AsyncSessions:
        """The sessions of this memory: named by what was written in them, or opened."""
        return AsyncSessions(self._calls.sessions, self._workers)

    @property
    def review(self) -> AsyncReview:
        """What waits for a person: proposals and held records."""
        return AsyncReview(self._calls.review, self._workers)

    @property
    def branches(self) -> AsyncBranches:
        """Named lines of proposals: what would be changed, until a person merges it."""
        return AsyncBranches(self._calls.branches, self._workers)

    @property
    def pages(self) -> AsyncPages:
        """The memory as Markdown, one page for each entity."""
        return AsyncPages(self._calls.pages, self._workers)

    @property
    def receipts(self) -> AsyncReceipts:
        """What contexts handed out."""
        return AsyncReceipts(self._calls.receipts, self._workers)

    async def context(
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
        return await self._run(
            self._calls.context, query, tokens=tokens, frame=frame, receipt=receipt, counter=counter
        )

    async def replay(
        self,
        receipt: str | Context,
        *,
        query: str | None = None,
        counter: Counter = count_tokens,
    ) -> Replay:
        """The text that a context handed out, again; text erased since shows as erased.

        Args:
            receipt: The id of a receipt, or the context itself.
            query: The question that was asked. With it the memory is ranked again as it was then,
                and ``same_order`` says whether the order is the same.
            counter: The counter that the context used.

        Raises:
            NotFound: This handle sees no receipt with that id.
            InvalidInput: The query or the counter is not the one that was used.
        """
        return await self._run(self._calls.replay, receipt, query=query, counter=counter)

    async def used(
        self,
        context: Context | str | None,
        ids: Iterable[str] | None = None,
        *,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> list[Record]:
        """Report which of the packed records were useful; this, not recall, reinforces them.

        Args:
            context: The context itself, or the id of its receipt; None for records named by id.
            ids: The records that were useful; all that were packed by default.
            idempotency_key: The same key with the same call again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Returns:
            The records that were reinforced.

        Raises:
            InvalidInput: An id was not part of that context.
            NotFound: This handle sees nothing with one of the ids.
        """
        return await self._run(
            self._calls.used, context, ids, idempotency_key=idempotency_key, expect=expect
        )

    async def flush(self) -> None:
        """Write the receipts that wait for the next append."""
        await self._run(self._calls.flush)
