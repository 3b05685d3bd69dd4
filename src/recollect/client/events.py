"""``memory.events`` over a service: listed page by page, and followed.

Responsible for pages, and for a feed that goes on by itself. Leaves the others to ``client.calls``.
Invariants: a list is of one state of the memory; a feed gives each event once, in order.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from http.client import HTTPException
from typing import Final

import msgspec

from recollect.client.calls import events
from recollect.client.decoding import decoded
from recollect.client.kinds import Act, Expect
from recollect.client.looking import position_of
from recollect.client.transport import Ending, Sent, pause_s
from recollect.errors import Forbidden, InvalidInput, Unavailable
from recollect.model import limits, validate, wire
from recollect.model.feed import Following
from recollect.model.values import (
    Change,
)

_PAGE_MAX_COUNT: Final = 1_000
_FAULTS_MAX_COUNT: Final = 12  # about half a minute
_STEADY_S: Final = 15.0
_LOOK_S: Final = 0.05
List = list  # ``list`` is a call


class _Bye(msgspec.Struct, frozen=True):
    why: str


class Events(events.Events):
    """List, get and submit events; follow what is written."""

    @property
    def position(self) -> int:
        """How many events this handle sees."""
        return position_of(self._remote)

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

        The arguments are those of ``recollect.Memory.events.list``.
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

    def submit(
        self, *made: Act, idempotency_key: str | None = None, expect: Expect | None = None
    ) -> None:
        """Write acts of ``recollect.lifecycle.commands`` as one command."""
        raise self._unsupported("submit")

    def tail(self, *, after: int | None = None, kinds: Iterable[str] = ()) -> Following:
        """Each event as it is written, oldest first; it waits for the next one, without end.

        A stream that broke is continued after the last event, so none is missed or given twice.

        Args:
            after: The position to begin after; by default what is written from now on.
            kinds: Only events of these kinds.

        Raises:
            Unavailable: The service did not answer for a while.
        """
        position = position_of(self._remote) if after is None else after
        ended = Ending()
        return Following(self._heard(position, List(kinds), ended), ended.set)

    def _heard(self, position: int, wanted: List[str], ended: Ending) -> Iterator[List[Change]]:
        """Each event alone."""
        faults = 0
        while not ended.is_set():
            began = time.monotonic()
            try:
                for sent in self._streamed(position, wanted, ended):
                    change = decoded(sent.data, Change)
                    if change.seq <= position:
                        continue  # it was given already
                    position, faults = change.seq, 0
                    yield [change]
            except (OSError, HTTPException, Unavailable) as error:
                if time.monotonic() - began > _STEADY_S:
                    faults = 0  # a stream that lasted was a good one; only breaks in a row count
                if faults >= _FAULTS_MAX_COUNT and not ended.is_set():
                    raise Unavailable(
                        "the service ended the stream again and again",
                        hint=f"check that it runs, then go on with after={position}",
                    ) from error
            faults += 1
            ended.wait(_LOOK_S + pause_s(faults))

    def _streamed(self, position: int, kinds: List[str], ended: Ending) -> Iterator[Sent]:
        """The events of one stream, until it says bye or breaks."""
        query = {"after": position, "kinds": kinds}
        handle = self._remote
        path = f"{handle.root}/events"
        for sent in handle.transport.stream(path, ended, query=query, headers=handle.headers):
            if sent.name == "bye":
                why = decoded(sent.data, _Bye).why
                if why not in ("draining", "renew", "unavailable"):
                    raise Forbidden(f"the service ended the stream: {why}")
                return
            yield sent

    def wait(self, seq: int, timeout_s: float = 30.0) -> bool:
        """Wait until the memory has this many events; False if it takes longer."""
        deadline = time.monotonic() + timeout_s
        while position_of(self._remote) < seq:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_LOOK_S)
        return True
