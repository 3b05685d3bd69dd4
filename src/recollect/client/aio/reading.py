"""The calls of ``memory.reading``, async; ``make async`` writes this module.

Responsible for one call in a worker thread for each call there. Leaves everything else to the plain
memory. Invariant: signatures and documentation are the same.
"""

from __future__ import annotations

from collections.abc import Iterable

from recollect.client.aio.workers import AsyncCalls
from recollect.client.kinds import Counter, count_tokens
from recollect.client.memory import Memory
from recollect.model.frames import Units
from recollect.model.instants import Moment
from recollect.model.values import (
    Change,
    Episode,
    EventView,
    Include,
    Overview,
    Recall,
    Record,
    Version,
    Why,
    WhyNot,
)

List = list  # inside the class, ``list`` is the method


class AsyncReading(AsyncCalls[Memory]):
    """Get, list, recall, and ask why."""

    async def get(self, id: str, *, include: Iterable[Include] = ()) -> Record | Episode:
        """One record or episode.

        Args:
            id: The id of a record or an episode, the beginning of one (four characters or more),
                the key of a record, or the content id of an active record. Every call that takes
                an id takes the same.
            include: Also return it if it is hidden for one of these reasons, such as
                ``superseded``, ``forgotten`` or ``expired``.

        Raises:
            NotFound: This handle sees nothing with that id, or it is hidden.
            Ambiguous: A key or a beginning that several have; the message lists their ids.
        """
        return await self._run(self._calls.get, id, include=include)

    async def keyed(self, key: str, *, include: Iterable[Include] = ()) -> Record:
        """The record that holds a key, for this handle's user.

        Args:
            key: The key.
            include: If no record holds the key, return the one that changed last among those that
                claim it and are hidden for one of these reasons.

        Raises:
            NotFound: No record has that key.
        """
        return await self._run(self._calls.keyed, key, include=include)

    async def list(
        self,
        *,
        filter: str | None = None,
        include: Iterable[Include] = (),
        limit: int = 100,
        after: str | int | None = None,
    ) -> List[Record]:
        """Records by their last change, newest first.

        Args:
            filter: Only records that match, such as ``kind = 'fact' and tags contains 'work'``.
            include: Also those that are hidden for one of these reasons.
            limit: At most this many, up to 10,000.
            after: The id of the last record of the page before, or its ``seq``, which leads on
                even if it was erased since.

        Raises:
            InvalidInput: The filter could not be parsed, or ``include`` has an unknown word.
            NotFound: ``after`` is not a record of this memory.
        """
        return await self._run(
            self._calls.list, filter=filter, include=include, limit=limit, after=after
        )

    async def episodes(
        self,
        *,
        filter: str | None = None,
        include: Iterable[Include] = (),
        limit: int = 100,
        after: str | int | None = None,
    ) -> List[Episode]:
        """Episodes, newest first.

        Args:
            filter: Only episodes that match, such as ``role = 'user'``.
            include: Also those that are hidden for one of these reasons.
            limit: At most this many, up to 10,000.
            after: The id of the last episode of the page before, or its ``seq``, which leads on
                even if it was erased since.

        Raises:
            InvalidInput: The filter could not be parsed, or ``include`` has an unknown word.
            NotFound: ``after`` is not an episode of this memory.
        """
        return await self._run(
            self._calls.episodes, filter=filter, include=include, limit=limit, after=after
        )

    async def recent(
        self,
        *,
        unit: Units = "any",
        user: str | None = None,
        session: str | None = None,
        agent: str | None = None,
        since: Moment | None = None,
        before: Moment | None = None,
        limit: int = 50,
    ) -> List[Record | Episode]:
        """What is newest, by the instant it was said; a record without one by its last change.

        Args:
            unit: Records, episodes, or both in one order.
            user: Only what belongs to this user; by default to the handle's, if it has one.
            session: Only what was written in this session.
            agent: Only what this agent wrote.
            since: Only from this instant on.
            before: Only before this instant.
            limit: At most this many, up to 10,000.

        Returns:
            Newest first. Names are compared exactly. What is held, hidden or expired is left out.

        Raises:
            InvalidInput: An argument could not be understood.
            Forbidden: The handle is for another user.
        """
        return await self._run(
            self._calls.recent,
            unit=unit,
            user=user,
            session=session,
            agent=agent,
            since=since,
            before=before,
            limit=limit,
        )

    async def overview(
        self,
        *,
        since: Moment | None = None,
        before: Moment | None = None,
        limit: int = 10,
    ) -> Overview:
        """What the memory holds in general: the most used records, the newest, what was said last.

        Args:
            since: Only what changed or was said from this instant on.
            before: Only what changed or was said before this instant.
            limit: At most this many in each group, up to 1,000.

        Returns:
            The three groups, and how many records and episodes there are in all.

        Raises:
            InvalidInput: An argument could not be understood.
        """
        return await self._run(self._calls.overview, since=since, before=before, limit=limit)

    async def recall(
        self,
        query: str,
        *,
        k: int = 10,
        unit: Units = "any",
        filter: str | None = None,
        include: Iterable[Include] = (),
        valid_at: Moment | None = None,
        min_relevance: float | None = None,
    ) -> Recall:
        """What the memory holds about a question, best first.

        Args:
            query: The question, in plain words.
            k: At most this many hits, up to 1,000.
            unit: Look at records, at episodes, or at both.
            filter: Only hits that match, such as ``about = 'alice'``.
            include: Also what is hidden for one of these reasons.
            valid_at: Only records that are true at this instant; now by default.
            min_relevance: Only hits that are at least this relevant, from 0 to 1. By default what
                is near in meaning only by chance is left out; 0 keeps even that.

        Returns:
            The hits, a few unverified ones apart, and a note if an embedder was missing.

        Raises:
            InvalidInput: The query is empty, or another argument could not be understood.
        """
        return await self._run(
            self._calls.recall,
            query,
            k=k,
            unit=unit,
            filter=filter,
            include=include,
            valid_at=valid_at,
            min_relevance=min_relevance,
        )

    async def recall_many(
        self,
        queries: Iterable[str],
        *,
        k: int = 10,
        unit: Units = "any",
        filter: str | None = None,
        include: Iterable[Include] = (),
        valid_at: Moment | None = None,
        min_relevance: float | None = None,
    ) -> List[Recall]:
        """What ``recall`` returns for each question, all from one state of the memory, and faster.

        Args:
            queries: The questions.
            k: At most this many hits for each.
            unit: Look at records, at episodes, or at both.
            filter: Only hits that match.
            include: Also what is hidden for one of these reasons.
            valid_at: Only records that are true at this instant; now by default.
            min_relevance: Only hits that are at least this relevant, from 0 to 1. By default what
                is near in meaning only by chance is left out; 0 keeps even that.
        """
        return await self._run(
            self._calls.recall_many,
            queries,
            k=k,
            unit=unit,
            filter=filter,
            include=include,
            valid_at=valid_at,
            min_relevance=min_relevance,
        )

    async def why_not(
        self,
        id: str,
        query: str,
        *,
        frame: str | None = None,
        tokens: int | None = None,
        counter: Counter = count_tokens,
        k: int = 10,
        unit: Units = "any",
        filter: str | None = None,
        include: Iterable[Include] = (),
        valid_at: Moment | None = None,
        min_relevance: float | None = None,
    ) -> WhyNot:
        """Why a recall leaves a record or an episode out; with a frame, why a context does.

        Args:
            id: The record or episode that was expected.
            query: The question.
            frame: The frame of the context to explain; without one, a recall is explained.
            tokens: The context's budget; the frame's by default.
            counter: Counts tokens, as for ``context``.
            k: The recall's number of hits.
            unit: As for ``recall``.
            filter: As for ``recall``.
            include: As for ``recall``.
            valid_at: As for ``recall``.
            min_relevance: As for ``recall``.

        Raises:
            NotFound: This handle sees nothing with that id, or the frame does not exist.
        """
        return await self._run(
            self._calls.why_not,
            id,
            query,
            frame=frame,
            tokens=tokens,
            counter=counter,
            k=k,
            unit=unit,
            filter=filter,
            include=include,
            valid_at=valid_at,
            min_relevance=min_relevance,
        )

    async def events(
        self,
        *,
        kinds: Iterable[str] = (),
        id: str | None = None,
        after: int = 0,
        before: int | None = None,
        limit: int = 100,
    ) -> List[Change]:
        """Events, oldest first.

        Events that no rule allowed changed nothing and are not listed. A handle for one user lists
        the events about that user's records, episodes, links and receipts alone.

        Args:
            kinds: Only these kinds, such as ``record.added``.
            id: Only events about this record (and its links), episode, receipt, frame or document
                (``type/name``).
            after: Only events after this position. Pass the ``seq`` of a page's last event to get
                the next page.
            before: Only events before this position, and the last of them instead of the first.
                Pass the ``seq`` of a page's first event to get the page before.
            limit: At most this many, up to 10,000.

        Raises:
            InvalidInput: A kind does not exist, or a position is below 0.
        """
        return await self._run(
            self._calls.events, kinds=kinds, id=id, after=after, before=before, limit=limit
        )

    async def event(self, seq: int) -> EventView:
        """One event as the ledger has it: its header, and its body unless that was erased.

        Args:
            seq: Its number, as ``events`` lists it.

        Returns:
            The event; if it was erased, ``erased_by`` is the event that did it.

        Raises:
            NotFound: This handle's ``events`` does not list it. A token for one user also does
                not see what others wrote about that user's memory.
            Unsupported: The handle is on a branch.
        """
        return await self._run(self._calls.event, seq)

    async def history(self, id: str) -> List[Version]:
        """Every version of a record, oldest first.

        Raises:
            NotFound: This handle sees no record with that id.
            InvalidInput: The id names an episode, which never changes.
        """
        return await self._run(self._calls.history, id)

    async def why(self, id: str) -> Why:
        """Where a record comes from: who said it, its evidence, and what it superseded.

        Raises:
            NotFound: This handle sees no record with that id.
            InvalidInput: The id names an episode, which is itself a source.
        """
        return await self._run(self._calls.why, id)
