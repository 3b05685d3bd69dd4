"""LangGraph's ``BaseStore`` over a memory.

Responsible for executing a batch of operations. Leaves an item's format to ``items`` and comparing
to ``match``. Invariants: the reads of a batch see the state before its puts; the puts of a batch
happen together or not at all; items are forgotten, never deleted.

**Time to live.** ``ttl`` becomes the record's ``expires``, and from that instant on no read returns
the item. A read that refreshes is a write: an event with its own fsync; so a refresh that would
gain less than a tenth of the time to live is skipped. There is no sweeper: an expired item is left
out of every answer, and stays in the history like a forgotten one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from types import TracebackType
from typing import Final, Self, cast

from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchOp,
    TTLConfig,
)

from recollect.aio import Workers
from recollect.config import Where
from recollect.errors import Conflict, Forbidden, NotFound
from recollect.integrations.langgraph import items, match
from recollect.integrations.langgraph.items import Stored
from recollect.integrations.langgraph.match import Namespace
from recollect.integrations.trust import lowered
from recollect.memory import Batch, Memory
from recollect.memory.handle.handle import clock_of
from recollect.model.events import Trust
from recollect.model.limits import LIST_MAX_RECORDS, RECALL_MAX_HITS
from recollect.model.validate import Json
from recollect.model.values import Include, Record

_PUT_TRIES: Final = 10  # another writer may delete an item between the read and the put
_REFRESH_SHARE: Final = 0.1  # the least share of its time to live that a refresh must add


class RecollectStore(BaseStore):
    """A memory as LangGraph's long-term store: items with history, full text and expiry.

    Writes have an agent's trust; ``trust="unverified"`` lowers it, and items of such a store are
    only read by such a store. ``fields`` are the searched fields of a value, unless a put names its
    own: paths in LangGraph's notation, by default the whole value.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: Memory,
        *,
        trust: Trust = "agent",
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        self.memory = lowered(memory, trust)
        self.ttl_config = ttl
        self._fields = None if fields is None else tuple(fields)
        self._user = self.memory.scope.user
        self._include: tuple[Include, ...] = (
            ("waiting",) if self.memory.scope.trust == "unverified" else ()
        )
        self._workers = Workers()

    @classmethod
    def open(
        cls,
        where: Where = None,
        *,
        space: str = "main",
        trust: Trust = "agent",
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
    ) -> RecollectStore:
        """Opens a memory and a store over it; close the store when you are done."""
        return cls(Memory.open(where, space=space), trust=trust, fields=fields, ttl=ttl)

    # LangGraph's interface; put, get, search and the rest are made of these two.

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Runs the operations; reads see the state before the puts, the last put of a key wins."""
        asked = list(ops)
        for op in asked:
            _check(op)
        touched: dict[str, Stored] = {}
        results = [self._read(op, touched) for op in asked]
        self._refresh(list(touched.values()))
        puts = {(tuple(op.namespace), op.key): op for op in asked if isinstance(op, PutOp)}
        if puts:
            self._put(list(puts.values()))
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same in a worker thread, so that the event loop is not blocked."""
        return await self._workers.run(self.batch, list(ops))

    # Beyond LangGraph's interface.

    def record(self, namespace: Namespace, key: str) -> Record | None:
        """The record behind an item, for ``memory.history``, ``why``, ``revise`` and ``erase``."""
        found = self._find(tuple(namespace), key)
        return None if found is None else found.record

    def close(self) -> None:
        """Closes the memory with its files and connections."""
        self.memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._workers.close(self.close)

    # Reading.

    def _read(self, op: Op, touched: dict[str, Stored]) -> Result:
        """The answer to one operation; ``touched`` collects the items it refreshes."""
        if isinstance(op, PutOp):
            return None
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        one = self._find(tuple(op.namespace), op.key) if isinstance(op, GetOp) else None
        found = self._search(op) if isinstance(op, SearchOp) else [(one, None)] if one else []
        if op.refresh_ttl:
            touched.update((item.record.id, item) for item, _ in found)
        if isinstance(op, SearchOp):
            return [item.hit(score) for item, score in found]
        return None if one is None else one.item()

    def _find(self, namespace: Namespace, key: str, *, expired: bool = False) -> Stored | None:
        include = (*self._include, "expired") if expired else self._include
        with suppress(NotFound):
            return items.stored(
                self.memory.get(key=items.record_key(namespace, key), include=include)
            )
        return None

    def _search(self, op: SearchOp) -> list[tuple[Stored, float | None]]:
        if op.limit <= 0:
            return []
        if op.query:
            return self._recalled(op)
        found: list[tuple[Stored, float | None]] = []
        for item in self._listed(tuple(op.namespace_prefix), look=op.offset + op.limit):
            if match.passes(item.value, op.filter):
                found.append((item, None))
                if len(found) == op.offset + op.limit:
                    break
        return found[op.offset :]

    def _recalled(self, op: SearchOp) -> list[tuple[Stored, float | None]]:
        """The items that recall finds, best first; asks for more until a page is full."""
        where = f"data.searchable = true and {self._where(tuple(op.namespace_prefix))}"
        wanted = op.offset + op.limit
        look = min(wanted, RECALL_MAX_HITS)
        while True:
            hits = self.memory.recall(
                op.query or "", k=look, unit="record", filter=where, include=self._include
            )
            found: list[tuple[Stored, float | None]] = []
            for hit in hits:
                record = None if hit.until else hit.record  # an item has its present value only
                item = None if record is None else items.stored(record)
                if item and self._fits(item, op):
                    found.append((item, hit.relevance))
            if len(found) >= wanted or len(hits) < look or look == RECALL_MAX_HITS:
                return found[op.offset : wanted]
            look = min(4 * look, RECALL_MAX_HITS)

    def _fits(self, item: Stored, op: SearchOp) -> bool:
        inside = match.begins(item.namespace, tuple(op.namespace_prefix))
        return inside and match.passes(item.value, op.filter)

    def _listed(self, prefix: Namespace, *, look: int) -> Iterator[Stored]:
        """The items under a prefix, the last changed first, each once."""
        seen: set[str] = set()
        after = None
        while True:
            look = min(look, LIST_MAX_RECORDS)
            page = self.memory.list(
                filter=self._where(prefix), include=self._include, limit=look, after=after
            )
            for record in page:
                item = None if record.id in seen else items.stored(record)
                seen.add(record.id)
                if item and match.begins(item.namespace, prefix):
                    yield item
            if len(page) < look:
                return
            after, look = page[-1].id, 4 * look

    def _where(self, prefix: Namespace) -> str:
        """A filter for items under a prefix; a handle without a user sees no user's items."""
        mine = "" if self._user else " and user = null"
        return items.where(prefix) + mine

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        conditions = op.match_conditions or ()
        found = {item.namespace for item in self._listed((), look=LIST_MAX_RECORDS)}
        matching = {namespace for namespace in found if match.meets(namespace, conditions)}
        if op.max_depth is not None:
            matching = {namespace[: op.max_depth] for namespace in matching}
        return sorted(matching)[op.offset : op.offset + op.limit]

    # Writing.

    def _put(self, ops: list[PutOp]) -> None:
        for left in reversed(range(_PUT_TRIES)):
            try:
                with self.memory.batch() as batch:
                    for op in ops:
                        self._plan(batch, op)
                self._check_put(batch)
                return
            except (Conflict, NotFound):
                if not left:
                    raise

    def _check_put(self, batch: Batch) -> None:
        """Raises if a put waits: a more trusted record has its key, or a policy asks first."""
        aside = [
            one for one in batch.results if isinstance(one, Record) and one.status == "waiting"
        ]
        if aside and "waiting" not in self._include:
            raise Forbidden(
                f"the put waits until a person reviews it, under the key {aside[0].key!r}",
                hint="ask the person to run `recollect review`: a more trusted record has this "
                "key, or the policy asks about everything new",
            )

    def _plan(self, batch: Batch, op: PutOp) -> None:
        """Adds a put to a batch, as forget, revise or remember."""
        place = tuple(op.namespace), op.key
        live = self._find(*place)
        known = live or self._find(*place, expired=True)
        if op.value is None:
            if known is not None:
                batch.forget(known.record.id)
            return
        index = self._fields if op.index is None else op.index
        text = items.text_of(*place, op.value, index)
        data = items.data_of(*place, op.value, index, op.ttl)
        lasts = None if op.ttl is None else timedelta(minutes=op.ttl)
        if known is None:
            key = items.record_key(*place)
            batch.remember(text, key=key, kind=items.KIND, data=data, expires=lasts)
        else:
            began: dict[str, Json] = items.first_put(live) if live else {"anew": True}
            batch.revise(known.record.id, text, data={**data, **began}, expires=lasts)

    def _refresh(self, touched: list[Stored]) -> None:
        """Extends the items that were read: together if possible, else one by one."""
        now = datetime.fromisoformat(clock_of(self.memory)[0])
        due = [item for item in touched if _gains(item, now)]
        if not due:
            return
        refused = (
            Conflict,
            Forbidden,
            NotFound,
        )  # changed meanwhile, or this store may not change it
        with suppress(*refused):
            self._extend(due)
            return
        for item in due:
            with suppress(*refused):
                self._extend([item])

    def _extend(self, due: list[Stored]) -> None:
        with self.memory.batch() as batch:
            for item in due:
                record, ttl = item.record, cast(float, item.ttl)
                data = {**record.data, "put_at": item.updated_at}
                batch.revise(record.id, record.text, data=data, expires=timedelta(minutes=ttl))


def _check(op: Op) -> None:
    """Refuses what LangGraph's own calls refuse, also inside a batch."""
    if isinstance(op, GetOp | PutOp):
        paths = [op.namespace]
    elif isinstance(op, SearchOp):
        paths = [op.namespace_prefix]
    elif isinstance(op, ListNamespacesOp):
        paths = [condition.path for condition in op.match_conditions or ()]
    else:
        raise ValueError(f"Unknown operation type: {type(op)}")
    for label in (label for path in paths for label in path):
        if not isinstance(label, str) or not label or "." in label or "\0" in label:
            raise InvalidNamespaceError(
                f"a namespace label must be a string without '.' and U+0000, not {label!r}"
            )


def _gains(item: Stored, now: datetime) -> bool:
    """True if a refresh would extend the item enough to be worth a write."""
    if item.ttl is None or item.record.expires is None:
        return False
    left = datetime.fromisoformat(item.record.expires) - now
    whole = timedelta(minutes=item.ttl)
    return whole - left >= _REFRESH_SHARE * whole
