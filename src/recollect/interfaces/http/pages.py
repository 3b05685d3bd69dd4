"""Pages of events for streams, each read once for all streams that ask for it at the same time.

Responsible for reading them in threads and for their bytes. Leaves sending to ``feed``. Invariants:
a page is shared only among streams of one token that ask for the same, and for a moment only, so a
token that ended reads nothing; after ``forget``, every page is read again, so none lacks an event
that was there before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from recollect.lifecycle.commands import Actor
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of
from recollect.model.values import Change
from recollect.serving.threads import Threads

_EVENTS_MAX_COUNT: Final = 100
_SHARED_S: Final = 0.25
_MAX_COUNT: Final = 32


class Asked:
    """What a stream asks for, whatever its position."""

    def __init__(self, owner: bytes, memory: Memory, options: Mapping[str, Any]) -> None:
        self.memory = memory
        self.options = options
        self.space = memory.scope.space
        self.key: tuple[bytes, Actor, bytes] = (
            owner, handle_of(memory).actor, msgspec.json.encode(options),
        )  # fmt: skip


class Page(NamedTuple):
    """Some events as they are sent."""

    body: bytes
    last: int  # the position of the last event; where it was asked after, if there is none
    is_full: bool


class _Shared(NamedTuple):
    space: str
    until: float
    page: asyncio.Future[Page]


class Pages:
    """The pages that are being read or were read a moment ago."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._found: dict[tuple[object, ...], _Shared] = {}  # oldest first

    async def read(self, asked: Asked, after: int) -> Page:
        """The events after a position."""
        loop = asyncio.get_running_loop()
        key = (asked.space, *asked.key, after)
        found = self._found.get(key)
        if found is None or loop.time() >= found.until:
            self._found.pop(key, None)
            page = self._threads.run(_read, asked, after)
            found = self._found[key] = _Shared(asked.space, loop.time() + _SHARED_S, page)
            while len(self._found) > _MAX_COUNT:
                self._found.pop(next(iter(self._found)))
        return await asyncio.shield(found.page)  # others may wait for it too

    def forget(self, space: str) -> None:
        """Something was written: pages of this space may lack it."""
        for key in [key for key, found in self._found.items() if found.space == space]:
            del self._found[key]


def _read(asked: Asked, after: int) -> Page:
    changes = asked.memory.events.list(after=after, limit=_EVENTS_MAX_COUNT, **asked.options)
    body = b"".join(map(_event, changes))
    last = changes[-1].seq if changes else after
    return Page(body, last, len(changes) == _EVENTS_MAX_COUNT)


def _event(change: Change) -> bytes:
    data, kind = msgspec.json.encode(change), change.kind or "erased"
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (change.seq, kind.encode(), data)
