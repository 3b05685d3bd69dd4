"""The calls of ``memory.reading`` as requests; ``make async`` writes it.

Responsible for one request for each call there. Leaves sending to ``client.asking``. Invariant:
signatures and documentation are the same.
"""

from __future__ import annotations

from collections.abc import Iterable

from recollect.client.asking import Calls
from recollect.client.kinds import Counter, count_tokens
from recollect.model.frames import Units
from recollect.model.instants import Moment
from recollect.model.values import (
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


class Reading(Calls):
    """Get, list, recall, and ask why."""

    def get(self, id: str, *, include: Iterable[Include] = ()) -> Record | Episode:
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
        answer: Record | Episode = self._do("get", Record | Episode, {"id": id, "include": include})
        return answer

    def keyed(self, key: str, *, include: Iterable[Include] = ()) -> Record:
        """The record that holds a key, for this handle's user.

        Args:
            key: The key.
            include: If no record holds the key, return the one that changed last among those that
                claim it and are hidden for one of these reasons.

        Raises:
            NotFound: No record has that key.
        """
        answer: Record = self._do("keyed", Record, {"key": key, "include": include})
        return answer

    def recent(
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
        answer: List[Record | Episode] = self._do(
            "recent",
            List[Record | Episode],
            {
                "unit": unit,
                "user": user,
                "session": session,
                "agent": agent,
                "since": since,
                "before": before,
                "limit": limit,
            },
        )
        return answer

    def overview(
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
        answer: Overview = self._do(
            "overview", Overview, {"since": since, "before": before, "limit": limit}
        )
        return answer

    def recall(
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
        answer: Recall = self._do(
            "recall",
            Recall,
            {
                "query": query,
                "k": k,
                "unit": unit,
                "filter": filter,
                "include": include,
                "valid_at": valid_at,
                "min_relevance": min_relevance,
            },
        )
        return answer

    def why_not(
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
        self._refuse_own("counter", counter, count_tokens)
        answer: WhyNot = self._do(
            "why_not",
            WhyNot,
            {
                "id": id,
                "query": query,
                "frame": frame,
                "tokens": tokens,
                "k": k,
                "unit": unit,
                "filter": filter,
                "include": include,
                "valid_at": valid_at,
                "min_relevance": min_relevance,
            },
        )
        return answer

    def event(self, seq: int) -> EventView:
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
        answer: EventView = self._do("event", EventView, {"seq": seq})
        return answer

    def history(self, id: str) -> List[Version]:
        """Every version of a record, oldest first.

        Raises:
            NotFound: This handle sees no record with that id.
            InvalidInput: The id names an episode, which never changes.
        """
        answer: List[Version] = self._do("history", List[Version], {"id": id})
        return answer

    def why(self, id: str) -> Why:
        """Where a record comes from: who said it, its evidence, and what it superseded.

        Raises:
            NotFound: This handle sees no record with that id.
            InvalidInput: The id names an episode, which is itself a source.
        """
        answer: Why = self._do("why", Why, {"id": id})
        return answer
