"""The calls of a memory that follow links from record to record.

Responsible for their public signatures. Leaves the work to ``memory.graph``, which is loaded when
one of them is called. Invariant: a call reads no more than its limits say.
"""

from __future__ import annotations

from collections.abc import Iterable

from recollect.index.graph import Direction
from recollect.memory.handle import Calls
from recollect.memory.healing import heals
from recollect.model.values import Graph, Include
from recollect.recall.visibility import check_include


@heals
class Linking(Calls):
    """The graph, what is near a record, the path between two."""

    def graph(
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
            include: Also records that are hidden for one of these reasons, and with ``held`` also
                unverified links.
            limit: At most this many records, up to 10,000.
            after: The id of the last record of the page before.

        Returns:
            The page; ``more`` is true if there is another one.

        Raises:
            InvalidInput: An argument could not be understood.
            NotFound: ``after`` is not a record of this memory.
        """
        from recollect.memory.graph import whole

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
            include: Also records that are hidden for one of these reasons, and with ``held`` also
                unverified links.
            limit: At most this many records, up to 10,000. Of a record with more than ten times as
                many links in one direction, the newest are followed.

        Returns:
            The records and the links that were followed, of each record the newest first;
            ``more`` is true if ``limit`` left something out.

        Raises:
            NotFound: This handle sees no record with that id, or it is hidden.
            InvalidInput: The id names an episode, or another argument could not be understood.
        """
        from recollect.memory.graph import around

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
                ``held`` also along unverified links.

        Returns:
            The records in the order of the path, and the link between each two. Empty if there is
            no path. ``more`` is true if the search ended early, after 20,000 records, or passed one
            with more than 10,000 links: then there may be a path, or a shorter one.

        Raises:
            NotFound: This handle does not see one of the two records, or it is hidden.
            InvalidInput: An id names an episode, or another argument could not be understood.
        """
        from recollect.memory.graph import between

        return between(self._handle, a, b, kinds, direction, check_include(include))
