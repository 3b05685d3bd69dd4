"""Which request gets a thread, so that writes leave some to reads, and each caller to the others.

Responsible for two groups of threads, and for reads of a space that is being written. Leaves the
number of requests to ``gate`` and what one caller may use to ``shares``. Invariants: however many
writes wait for a server, reads of other spaces find a thread, because each space that is being
written holds at most one of the readers; no caller has all threads of a group.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from recollect.interfaces.http.limits.shares import Shares, Used
from recollect.interfaces.http.problems import Refused
from recollect.serving.threads import Threads

T = TypeVar("T")

READERS_COUNT: Final = 8
WRITERS_COUNT: Final = 6  # fewer than readers: each may hold up one of them
_READS_OF_ONE: Final = 6
_LONG_OF_ONE: Final = 1  # reads of a whole ledger
_WRITES_OF_ONE: Final = 4  # fewer, for the same reason
_WAITING_MAX_COUNT: Final = 8  # reads of one space
_WAIT_MAX_S: Final = 5.0


class Room:
    """The threads of a service."""

    def __init__(self, *, takes_turns: bool) -> None:
        self.readers = Threads(READERS_COUNT, "http")
        self.writers = Threads(WRITERS_COUNT, "write")
        used = Used()
        self._read_shares = Shares(_READS_OF_ONE, used)
        self._long_shares = Shares(_LONG_OF_ONE, used)
        self._write_shares = Shares(_WRITES_OF_ONE, used, of_reads=False)
        self._takes_turns = takes_turns  # a read of a space waits for a write of it
        self._writes = Counter[str]()  # in work, by space
        self._reads = Counter[str]()
        self._waiting = Counter[str]()
        self._left: dict[str, asyncio.Event] = {}  # set when a request of the space has ended

    async def read(
        self,
        space: str | None,
        work: Callable[..., T],
        *given: object,
        owner: Hashable = None,
        is_long: bool = False,
    ) -> T:
        """Has ``work(*given)`` done, which only reads, within the share of its owner."""
        shares = self._long_shares if is_long else self._read_shares
        if space is None or not self._takes_turns:
            async with shares.one(owner) as measured:
                return await self.readers.run(measured, work, *given)
        await self._until_free(space)
        with self._counted(self._reads, space):
            async with shares.one(owner) as measured:
                return await self.readers.run(measured, work, *given)

    async def write(
        self, space: str | None, work: Callable[..., T], *given: object, owner: Hashable = None
    ) -> T:
        """Has ``work(*given)`` done, which may write, within the share of its owner."""
        async with self._write_shares.one(owner) as measured:
            if space is None or not self._takes_turns:
                return await self.writers.run(measured, work, *given)
            with self._counted(self._writes, space):
                return await self.writers.run(measured, work, *given)

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
