"""Which request gets a thread, so that writes leave some to reads, and each caller to the others.

Responsible for two groups of threads, for reads of a space that is being written, and for the share
of one caller. Leaves the number of requests to ``gate``. Invariants: however many writes wait for a
server, reads of other spaces find a thread, because each space that is being written holds at most
one of the readers; no caller has all threads of a group.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final, TypeVar

from recollect.interfaces.http.problems import Refused
from recollect.web.threads import Threads

T = TypeVar("T")

READERS_COUNT: Final = 8
WRITERS_COUNT: Final = 6  # fewer than readers: each may hold up one of them
_READS_OF_ONE: Final = 6
_WRITES_OF_ONE: Final = 4  # fewer, for the same reason
_WAITING_MAX_COUNT: Final = 8  # reads of one space
_WAIT_MAX_S: Final = 5.0


class Shares:
    """How many calls of each caller work at the same time, in one event loop."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._shares: dict[Hashable, tuple[asyncio.Semaphore, int]] = {}  # and who uses each

    def __len__(self) -> int:
        return len(self._shares)

    @asynccontextmanager
    async def one(self, owner: Hashable) -> AsyncIterator[None]:
        """Waits until a call of this caller may begin, in the order they came; None waits never."""
        if owner is None:
            yield
            return
        share, users = self._shares.get(owner) or (asyncio.Semaphore(self._most), 0)
        self._shares[owner] = share, users + 1
        try:
            async with share:
                yield
        finally:
            share, users = self._shares.pop(owner)
            if users > 1:
                self._shares[owner] = share, users - 1


class Room:
    """The threads of a service."""

    def __init__(self, *, takes_turns: bool) -> None:
        self.readers = Threads(READERS_COUNT, "http")
        self.writers = Threads(WRITERS_COUNT, "write")
        self._read_shares = Shares(_READS_OF_ONE)
        self._write_shares = Shares(_WRITES_OF_ONE)
        self._takes_turns = takes_turns  # a read of a space waits for a write of it
        self._writes = Counter[str]()  # in work, by space
        self._reads = Counter[str]()
        self._waiting = Counter[str]()
        self._left: dict[str, asyncio.Event] = {}  # set when a request of the space has ended

    async def read(
        self, space: str | None, work: Callable[..., T], *given: object, owner: Hashable = None
    ) -> T:
        """Has ``work(*given)`` done, which only reads, within the share of its owner."""
        if space is None or not self._takes_turns:
            async with self._read_shares.one(owner):
                return await self.readers.run(work, *given)
        await self._until_free(space)
        with self._counted(self._reads, space):
            async with self._read_shares.one(owner):
                return await self.readers.run(work, *given)

    async def write(
        self, space: str | None, work: Callable[..., T], *given: object, owner: Hashable = None
    ) -> T:
        """Has ``work(*given)`` done, which may write, within the share of its owner."""
        async with self._write_shares.one(owner):
            if space is None or not self._takes_turns:
                return await self.writers.run(work, *given)
            with self._counted(self._writes, space):
                return await self.writers.run(work, *given)

    def shutdown(self) -> None:
        """Waits until all work is done."""
        self.readers.shutdown()
        self.writers.shutdown()

    @contextmanager
    def _counted(self, counts: Counter[str], space: str) -> Iterator[None]:
        counts[space] += 1
        try:
            yield
        finally:
            counts[space] -= 1
            counts += Counter()  # forgets what is zero
            if space in self._left:
                self._left.pop(space).set()

    async def _until_free(self, space: str) -> None:
        """Returns once the space is not being written, or no other read of it has a thread."""
        if not (self._writes[space] and self._reads[space]):
            return
        if self._waiting[space] >= _WAITING_MAX_COUNT:
            raise _busy()
        self._waiting[space] += 1
        try:
            async with asyncio.timeout(_WAIT_MAX_S):
                while self._writes[space] and self._reads[space]:
                    await self._left.setdefault(space, asyncio.Event()).wait()
        except TimeoutError as error:
            raise _busy() from error
        finally:
            self._waiting[space] -= 1
            self._waiting += Counter()


def _busy() -> Refused:
    return Refused(
        503, "busy", "a write of this space is in work and takes long", hint="send it again",
        headers={"Retry-After": "1"},
    )  # fmt: skip
