"""The calls that read and that take several requests.

Responsible for pages. Leaves the others to ``client.calls``. Invariant: a list is of one state of
the memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any, Final, TypeVar, overload

import msgspec

from recollect.client.asking import Calls, Handle, asked
from recollect.client.kinds import Counter
from recollect.errors import InvalidInput, Unavailable
from recollect.model import limits, validate, wire
from recollect.model.instants import Moment
from recollect.model.presets import Units
from recollect.model.values import (
    Change,
    Context,
    Episode,
    Include,
    Recall,
    Record,
    Replay,
    SpaceStatus,
)

T = TypeVar("T")
_PAGE_MAX_COUNT: Final = 1_000
_QUERIES_MAX_COUNT: Final = 100
_HITS_MAX_COUNT: Final = 2_000
List = list  # ``list`` is a call of a memory


class Looking(Calls):
    """List, get, recall, replay, status."""

    def list(
        self,
        *,
        filter: str | None = None,
        include: Iterable[Include] = (),
        limit: int = 100,
        after: str | int | None = None,
    ) -> List[Record]:
        """Records by their last change, newest first.

        The arguments are those of ``recollect.Memory.list``.
        """
        wanted = {"filter": filter, "include": include}
        return listed(self._remote, "list_records", Record, wanted, limit, after)

    @overload
    def get(self, id: str, *, include: Iterable[Include] = ()) -> Record | Episode: ...

    @overload
    def get(self, *, key: str, include: Iterable[Include] = ()) -> Record: ...

    def get(
        self, id: str | None = None, *, key: str | None = None, include: Iterable[Include] = ()
    ) -> Record | Episode:
        """One record or episode, by its id or by the key that a record holds.

        The arguments are those of ``recollect.Memory.get``.
        """
        if (id is None) == (key is None):
            raise InvalidInput("get takes an id or a key", hint="give one of them")
        answer: Record | Episode = (
            self._do("get", Record | Episode, {"id": id, "include": include})
            if key is None
            else self._do("get_key", Record, {"key": key, "include": include})
        )
        return answer

    @overload
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
    ) -> Recall: ...

    @overload
    def recall(
        self,
        query: List[str] | tuple[str, ...],
        *,
        k: int = 10,
        unit: Units = "any",
        filter: str | None = None,
        include: Iterable[Include] = (),
        valid_at: Moment | None = None,
        min_relevance: float | None = None,
    ) -> List[Recall]: ...

    def recall(
        self,
        query: str | List[str] | tuple[str, ...],
        *,
        k: int = 10,
        unit: Units = "any",
        filter: str | None = None,
        include: Iterable[Include] = (),
        valid_at: Moment | None = None,
        min_relevance: float | None = None,
    ) -> Recall | List[Recall]:
        """What the memory holds about a question, best first; or about each of several.

        The arguments are those of ``recollect.Memory.recall``.
        """
        shared: dict[str, Any] = {
            "k": k, "unit": unit, "filter": filter, "include": include,
            "valid_at": valid_at, "min_relevance": min_relevance,
        }  # fmt: skip
        if isinstance(query, List | tuple):
            return self._recall_many(query, {**shared, "include": List(include) or None})
        answer: Recall = self._do("recall", Recall, {"query": query, **shared})
        return answer

    def _recall_many(self, queries: Iterable[str], shared: dict[str, Any]) -> List[Recall]:
        """The answers to several questions, from one state of the memory."""
        k = validate.count(shared["k"], "k", at_most=limits.RECALL_MAX_HITS)
        left = validate.questions(queries)
        size = max(1, min(_QUERIES_MAX_COUNT, _HITS_MAX_COUNT // k))
        handle = self._remote
        if len(left) > size:
            handle = handle.moved(position_of(handle))
        found: List[Recall] = []
        for start in range(0, len(left), size):
            part = {**shared, "queries": left[start : start + size]}
            found += asked(handle, "recall_many", List[Recall], part)
        return found

    def replay(
        self,
        receipt: str | Context,
        *,
        query: str | None = None,
        counter: Counter | None = None,
    ) -> Replay:
        """The text that a context handed out, again; text erased since shows as erased.

        The arguments are those of ``recollect.Memory.replay``.
        """
        self._refuse_own("counter", counter)
        id = receipt if isinstance(receipt, str) else receipt.receipt
        if id is None:
            raise InvalidInput("that context left no receipt")
        answer: Replay = self._do("replay", Replay, {"receipt": id, "query": query})
        return answer

    def status(self) -> SpaceStatus:
        """How many records, episodes and links there are, and where the ledger stands.

        The answer is that of ``recollect.Memory.status``; ``where`` is the address of the service.
        """
        found: SpaceStatus = self._do("status", SpaceStatus, {})
        return msgspec.structs.replace(found, where=self._remote.transport.url)


def position_of(handle: Handle) -> int:
    """How many events a handle sees."""
    if handle.position is not None:
        return handle.position
    page: wire.Page[Change] = asked(handle, "events", wire.Page[Change], {"limit": 1})
    return page.position


def listed(
    handle: Handle, name: str, kind: type[T], fields: dict[str, Any], limit: int, after: object
) -> List[T]:
    """As many as were asked for, page by page, from one state of the memory."""
    limit = validate.count(limit, "limit", at_most=limits.LIST_MAX_RECORDS)
    found: List[T] = []
    start = "after_seq" if isinstance(after, int) else "after"
    fields = {**fields, start: after, "limit": min(_PAGE_MAX_COUNT, limit)}
    while len(found) < limit:
        page = asked(handle, name, wire.Page[kind], fields)  # type: ignore[valid-type]
        found += page.items
        if page.next is None:
            break
        if not page.items:
            raise Unavailable("the service names a next page after an empty one")
        fields = {**fields, "cursor": page.next}
    return List(islice(found, limit))
