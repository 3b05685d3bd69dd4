"""The calls that read and that take several requests, or follow what is written.

Responsible for pages, and for a feed that goes on by itself. Leaves the others to ``client.calls``.
Invariants: a list is of one state of the memory; a feed gives each event once, in order.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from http.client import HTTPException
from itertools import islice
from typing import Any, Final, TypeVar

import msgspec

from recollect.client.asking import Calls, Handle, asked
from recollect.client.decoding import decoded
from recollect.client.kinds import Counter, Progress
from recollect.client.transport import Sent, pause_s
from recollect.errors import Forbidden, InvalidInput, Unavailable
from recollect.model import limits, validate, wire
from recollect.model.frames import Units
from recollect.model.instants import Moment
from recollect.model.values import (
    Change,
    Context,
    Episode,
    Include,
    Recall,
    Record,
    Replay,
    SpaceStatus,
    Verification,
)

T = TypeVar("T")
_PAGE_MAX_COUNT: Final = 1_000
_QUERIES_MAX_COUNT: Final = 100
_HITS_MAX_COUNT: Final = 2_000
_FAULTS_MAX_COUNT: Final = 12  # about half a minute
_STEADY_S: Final = 15.0
_LOOK_S: Final = 0.05
List = list  # ``list`` is a call of a memory


class _Bye(msgspec.Struct, frozen=True):
    why: str


class Looking(Calls):
    """List, recall many, events, replay; tail and wait."""

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
        return listed(self._handle, "list_records", Record, wanted, limit, after)

    def episodes(
        self,
        *,
        filter: str | None = None,
        include: Iterable[Include] = (),
        limit: int = 100,
        after: str | int | None = None,
    ) -> List[Episode]:
        """Episodes, newest first.

        The arguments are those of ``recollect.Memory.episodes``.
        """
        wanted = {"filter": filter, "include": include}
        return listed(self._handle, "list_episodes", Episode, wanted, limit, after)

    def recall_many(
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

        The arguments are those of ``recollect.Memory.recall_many``.
        """
        k = validate.count(k, "k", at_most=limits.RECALL_MAX_HITS)
        left = validate.questions(queries)
        size = max(1, min(_QUERIES_MAX_COUNT, _HITS_MAX_COUNT // k))
        shared = {
            "k": k, "unit": unit, "filter": filter, "include": List(include) or None,
            "valid_at": valid_at, "min_relevance": min_relevance,
        }  # fmt: skip
        handle = self._handle
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

    def events(
        self,
        *,
        kinds: Iterable[str] = (),
        id: str | None = None,
        after: int = 0,
        before: int | None = None,
        limit: int = 100,
    ) -> List[Change]:
        """Events, oldest first.

        The arguments are those of ``recollect.Memory.events``.
        """
        limit = validate.count(limit, "limit", at_most=limits.LIST_MAX_RECORDS)
        if isinstance(kinds, str):
            raise InvalidInput("kinds is a list of names, not one name", hint=f"use [{kinds!r}]")
        if not isinstance(kinds, Iterable):
            raise InvalidInput(f"kinds is a list of names, not {validate.shown(kinds)}")
        wanted, after = List(kinds), validate.position(after, "after")
        before = None if before is None else validate.position(before, "before")
        found: List[Change] = []
        while len(found) < limit:
            size = min(_PAGE_MAX_COUNT, limit - len(found))
            fields = {"kinds": wanted, "id": id, "after": after, "before": before, "limit": size}
            page: wire.Page[Change] = self._do("events", wire.Page[Change], fields)
            found = page.items + found if before is not None else found + page.items
            if len(page.items) < size:
                break
            if before is not None:
                before = page.items[0].seq
            else:
                after = page.items[-1].seq
        return found

    def status(self) -> SpaceStatus:
        """How many records, episodes and links there are, and where the ledger stands.

        The answer is that of ``recollect.Memory.status``; ``where`` is the address of the service.
        """
        found: SpaceStatus = self._do("status", SpaceStatus, {})
        return msgspec.structs.replace(found, where=self._handle.transport.url)

    def verify(
        self,
        progress: Progress | None = None,
        *,
        deep: bool = False,
        anchor: str | None = None,
    ) -> Verification:
        """Check every line of the ledger, its chain, and whether the index agrees with it.

        The arguments are those of ``recollect.Memory.verify``; an anchor is a position and a hash.
        """
        kept = anchor.strip().lower() if isinstance(anchor, str) else anchor
        answer: Verification = self._do("verify", Verification, {"deep": deep, "anchor": kept})
        return answer

    # --- following ----------------------------------------------------------------------------

    def tail(self, *, after: int | None = None, kinds: Iterable[str] = ()) -> Iterator[Change]:
        """Each event as it is written, oldest first; it waits for the next one and never ends.

        A stream that broke is continued after the last event, so none is missed or given twice.

        Args:
            after: The position to begin after; by default what is written from now on.
            kinds: Only events of these kinds.

        Raises:
            Unavailable: The service did not answer for a while.
        """
        position = position_of(self._handle) if after is None else after
        wanted, faults = List(kinds), 0
        while True:
            began = time.monotonic()
            try:
                for sent in self._streamed(position, wanted):
                    change = decoded(sent.data, Change)
                    if change.seq <= position:
                        continue  # it was given already
                    position, faults = change.seq, 0
                    yield change
            except (OSError, HTTPException, Unavailable) as error:
                if time.monotonic() - began > _STEADY_S:
                    faults = 0  # a stream that lasted was a good one; only breaks in a row count
                if faults >= _FAULTS_MAX_COUNT:
                    raise Unavailable(
                        "the service ended the stream again and again",
                        hint=f"check that it runs, then go on with after={position}",
                    ) from error
            faults += 1
            time.sleep(_LOOK_S + pause_s(faults))

    def _streamed(self, position: int, kinds: List[str]) -> Iterator[Sent]:
        """The events of one stream, until it says bye or breaks."""
        query = {"after": position, "kinds": kinds}
        handle = self._handle
        path = f"{handle.root}/events"
        for sent in handle.transport.stream(path, query=query, headers=handle.headers):
            if sent.name == "bye":
                why = decoded(sent.data, _Bye).why
                if why not in ("draining", "renew", "unavailable"):
                    raise Forbidden(f"the service ended the stream: {why}")
                return
            yield sent

    def wait(self, seq: int, timeout_s: float = 30.0) -> bool:
        """Wait until the memory has this many events; False if it takes longer."""
        deadline = time.monotonic() + timeout_s
        while position_of(self._handle) < seq:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_LOOK_S)
        return True


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
