"""``memory.graph``: the links between records, and what they lead to.

Responsible for the public signatures. Leaves the walk to ``memory.graph``, which is loaded when it
is needed, and deciding to ``lifecycle``. Invariant: a call reads no more than its limits say.
"""

from __future__ import annotations

from collections.abc import Iterable

from recollect.errors import NotFound
from recollect.index.graph import Direction
from recollect.index.reads import Reads
from recollect.index.values import link_of
from recollect.lifecycle.commands import Expect
from recollect.lifecycle.records.names import full_id
from recollect.memory.handle import acts, answers
from recollect.memory.handle.handle import Calls
from recollect.memory.handle.healed import heals
from recollect.model.values import Graph, Include, Link
from recollect.recall.visibility import check_include
from recollect.store.port import Outcome


@heals
class Links(Calls):
    """Link and unlink records; the whole graph, what is near a record, the path between two."""

    def link(
        self,
        source: str,
        target: str,
        kind: str = "relates_to",
        *,
        weight: float = 1.0,
        name: str | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Link:
        """Relate two records by a typed, directed link.

        Args:
            source: The record the link starts from.
            target: The record it points to.
            kind: A word such as ``contradicts``, ``derived_from`` or ``relates_to``.
            weight: How strong the relation is, from 0 to 1.
            name: What another system calls the link, such as its id there. Without one a link
                keeps the name that it has.
            idempotency_key: The same key with the same call again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Raises:
            NotFound: This handle does not see one of the two records.
        """
        act = acts.link(source, target, kind, weight, name)

        def answer(reads: Reads, outcome: Outcome) -> Link:
            user = self._handle.actor.user
            ends = (full_id(reads, user, act.source), full_id(reads, user, act.target))
            row = reads.link(*ends, act.kind)
            if row is None:
                raise NotFound("the link was removed since")
            return link_of(row)

        return self._handle.write((act,), answer, idempotency_key, expect)

    def unlink(
        self,
        source: str,
        target: str,
        kind: str = "relates_to",
        *,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> None:
        """End a relation.

        Args:
            source: The record the link starts from.
            target: The record it points to.
            kind: The link's kind.
            idempotency_key: The same key with the same call again does nothing more.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Raises:
            NotFound: The link does not exist.
        """
        self._handle.write(
            (acts.unlink(source, target, kind),), answers.nothing, idempotency_key, expect
        )

    def list(
        self,
        *,
        kinds: Iterable[str] = (),
        include: Iterable[Include] = (),
        limit: int = 1_000,
        after: str | None = None,
    ) -> Graph:
        """The whole graph, in pages: records by their last change, newest first, and their links.

        A page has every link that starts from one of its records, so each link is on one page. The
        target of a link may be on another page.

        Args:
            kinds: Only links of these kinds; all by default.
            include: Also records that are hidden for one of these reasons, and with ``waiting``
                also unverified links.
            limit: At most this many records, up to 10,000.
            after: The id of the last record of the page before.

        Returns:
            The page; ``more`` is true if there is another one.

        Raises:
            InvalidInput: An argument could not be understood.
            NotFound: ``after`` is not a record of this memory.
        """
        from recollect.memory.graph.graph import whole

        return whole(self._handle, kinds, check_include(include), limit, after)

    def neighbours(
        self,
        id: str,
        *,
        hops: int = 1,
        kinds: Iterable[str] = (),
        direction: Direction = "both",
        include: Iterable[Include] = (),
        limit: int = 120,
    ) -> Graph:
        """The records around one, nearest first, and the links that lead to them.

        Args:
            id: The record to start from, which is the first of the answer.
            hops: How many links away, up to 16.
            kinds: Follow only links of these kinds; all by default.
            direction: Follow links ``out`` of a record, ``in`` to it, or ``both``.
            include: Also records that are hidden for one of these reasons, and with ``waiting``
                also unverified links.
            limit: At most this many records, up to 10,000. Of a record with more than ten times as
                many links in one direction, the newest are followed.

        Returns:
            The records and the links that were followed, of each record the newest first;
            ``more`` is true if ``limit`` left something out.

        Raises:
            NotFound: This handle sees no record with that id, or it is hidden.
            InvalidInput: The id names an episode, or another argument could not be understood.
        """
        from recollect.memory.graph.graph import around

        return around(self._handle, id, hops, kinds, direction, check_include(include), limit)

    def path(
        self,
        a: str,
        b: str,
        *,
        kinds: Iterable[str] = (),
        direction: Direction = "both",
        include: Iterable[Include] = (),
    ) -> Graph:
        """The shortest path along links from one record to another.

        Args:
            a: The record it starts from.
            b: The record it leads to.
            kinds: Follow only links of these kinds; all by default.
            direction: Follow links ``out`` of a record, ``in`` to it, or ``both``.
            include: Also through records that are hidden for one of these reasons, and with
                ``waiting`` also along unverified links.

        Returns:
            The records in the order of the path, and the link between each two. Empty if there is
            no path. ``more`` is true if the search ended early, after 20,000 records, or passed one
            with more than 10,000 links: then there may be a path, or a shorter one.

        Raises:
            NotFound: This handle does not see one of the two records, or it is hidden.
            InvalidInput: An id names an episode, or another argument could not be understood.
        """
        from recollect.memory.graph.graph import between

        return between(self._handle, a, b, kinds, direction, check_include(include))
