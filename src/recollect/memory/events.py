"""``memory.events``: what happened to a memory, event by event.

Responsible for checking what is asked for and for the values. Leaves finding the events to
``index.reads``. Invariant: a handle for one user lists events about that user's memory alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from threading import Event
from typing import Final, cast

from recollect.errors import InvalidInput
from recollect.index.reads import Reads
from recollect.index.rows import EventRow
from recollect.index.statements import NOW
from recollect.lifecycle.commands import Act, Expect
from recollect.lifecycle.records.names import full_id
from recollect.memory.handle import acts, answers
from recollect.memory.handle.authors import Authors
from recollect.memory.handle.handle import Calls, Handle
from recollect.memory.handle.healed import compares, heals
from recollect.model import limits, validate
from recollect.model.events import KINDS
from recollect.model.feed import Following
from recollect.model.values import (
    Change,
    EventUnit,
    EventView,
    Scope,
)


def changes(
    handle: Handle,
    *,
    kinds: Iterable[str] = (),
    id: str | None = None,
    after: int = 0,
    before: int | None = None,
    limit: int = 100,
) -> list[Change]:
    """Lists events, oldest first; ``Events.list`` documents the arguments."""
    wanted = _checked_kinds(kinds)
    if id is not None:
        id = validate.name(id, "id")
    limit = validate.count(limit, "limit", at_most=limits.LIST_MAX_RECORDS)
    after = validate.position(after, "after")
    if before is not None:
        before = validate.position(before, "before")
    with handle.reading() as reads:
        user = handle.actor.user

        def about(id: str | None) -> list[EventRow]:
            return reads.events(
                kinds=wanted, id=id, user=user, after=after, before=before, limit=limit
            )

        rows = about(id)
        full = id if rows or id is None else full_id(reads, user, id)
        if full != id:
            rows = about(full)
        return changes_of(reads, rows)


def _checked_kinds(kinds: Iterable[str]) -> tuple[str, ...]:
    if isinstance(kinds, str):
        raise InvalidInput("kinds is a list of names, not one name", hint=f"use [{kinds!r}]")
    if not isinstance(kinds, Iterable):
        raise InvalidInput(f"kinds is a list of names, not {validate.shown(kinds)}")
    wanted = tuple(kinds)
    for kind in wanted:
        if not isinstance(kind, str) or kind not in KINDS:
            raise InvalidInput(
                f"unknown kind of event {validate.shown(kind)}",
                hint=f"choose from {', '.join(sorted(KINDS))}",
            )
    return wanted


def changes_of(reads: Reads, rows: Iterable[EventRow]) -> list[Change]:
    """Events as the list of events shows them."""
    authors = Authors(reads)
    return [_change(row, authors) for row in rows]


def _change(row: EventRow, authors: Authors) -> Change:
    return Change(
        seq=row.seq,
        at=row.at,
        kind=row.kind,
        by=row.origin,
        unit=cast("EventUnit | None", row.unit),
        id=row.id,
        what=row.what,
        text=row.text,
        key=row.key,
        trust=row.trust,
        scope=Scope(user=row.user, session=row.session, agent=row.agent),
        erased=row.kind is None,
        idempotency_key=row.command,
        author=None if row.kind is None else authors.known(row.author),
    )


_LOOK_S: Final = 0.2  # between two looks for something new
List = list  # inside the class, ``list`` is the method


@compares
@heals
class Events(Calls):
    """List, get and submit events; follow what is written."""

    @property
    def position(self) -> int:
        """How many events this handle sees."""
        handle = self._handle
        return handle.space.head().seq if handle.position == NOW else handle.position

    def list(
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
            id: Only events about this record (and its links), episode, receipt, preset or document
                (``type/name``).
            after: Only events after this position. Pass the ``seq`` of a page's last event to get
                the next page.
            before: Only events before this position, and the last of them instead of the first.
                Pass the ``seq`` of a page's first event to get the page before.
            limit: At most this many, up to 10,000.

        Raises:
            InvalidInput: A kind does not exist, or a position is below 0.
        """
        return changes(self._handle, kinds=kinds, id=id, after=after, before=before, limit=limit)

    def get(self, seq: int) -> EventView:
        """One event as the ledger has it: its header, and its body unless that was erased.

        Args:
            seq: Its number, as ``list`` gives it.

        Returns:
            The event; if it was erased, ``erased_by`` is the event that did it.

        Raises:
            NotFound: This handle's ``list`` does not give it. A token for one user also does
                not see what others wrote about that user's memory.
            Unsupported: The handle is on a branch.
        """
        from recollect.memory.one_event import event  # most processes ask for no single event

        return event(self._handle, seq)

    def submit(
        self, *made: Act, idempotency_key: str | None = None, expect: Expect | None = None
    ) -> None:
        """Submit acts that happen together or not at all, for APIs with words of their own."""
        if made:
            asked = tuple(map(acts.well_formed, made))
            self._handle.write(asked, answers.nothing, idempotency_key, expect)

    def tail(self, *, after: int | None = None, kinds: Iterable[str] = ()) -> Following:
        """Each event as it is written, oldest first; it waits for the next one, without end.

        Args:
            after: The position to begin after; by default what is written from now on.
            kinds: Only events of these kinds.

        Raises:
            InvalidInput: A kind does not exist, or the position is below 0.
            Unavailable: The store did not answer.
        """
        seen = _last(self._handle) if after is None else validate.position(after, "after")
        ended = Event()
        return Following(self._looking(seen, _checked_kinds(kinds), ended), ended.set)

    def _looking(self, seen: int, kinds: tuple[str, ...], ended: Event) -> Iterator[List[Change]]:
        """What each look has found; nothing before each wait."""
        while not ended.is_set():
            last = _last(self._handle)
            found = self.list(kinds=kinds, after=seen) if last > seen else []
            yield found
            seen = found[-1].seq if found else max(seen, last)
            if found:
                continue
            if self._handle.position != NOW:
                return  # nothing is added to the past
            ended.wait(_LOOK_S)

    def wait(self, seq: int, timeout_s: float = 30.0) -> bool:
        """Wait until the memory has this many events; False if it takes longer."""
        deadline = time.monotonic() + timeout_s
        while _last(self._handle) < seq:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_LOOK_S)
        return True


def _last(handle: Handle) -> int:
    """How many events a handle sees."""
    return min(handle.position, handle.space.head().seq)
