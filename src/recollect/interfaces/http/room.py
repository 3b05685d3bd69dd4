"""Which request gets a thread, so that writes that wait leave some to reads.

Responsible for two groups of threads, and for reads of a space that is being written. Leaves the
number of requests to ``gate``. Invariant: however many writes wait for a server, reads of other
spaces find a thread, because each space that is being written holds at most one of the readers.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from typing import Final, TypeVar

from recollect.interfaces.http.problems import Refused
from recollect.web.threads import Threads

T = TypeVar("T")
Turn = AbstractAsyncContextManager[None]

READERS_COUNT: Final = 8
WRITERS_COUNT: Final = 6  # fewer than readers: each may hold up one of them
_WAITING_MAX_COUNT: Final = 8  # reads of one space
_WAIT_MAX_S: Final = 5.0


class Room:
    """The threads of a service."""

    def __init__(self, *, takes_turns: bool) -> None:
        self.readers = Threads(READERS_COUNT, "http")
        self.writers = Threads(WRITERS_COUNT, "write")
        self._takes_turns = takes_turns  # a read of a space waits for a write of it
        self._writes = Counter[str]()  # in work, by space
        self._reads = Counter[str]()
        self._waiting = Counter[str]()
        self._left: dict[str, asyncio.Event] = {}  # set when a request of the space has ended

    async def read(
        self, space: str | None, work: Callable[..., T], *given: object, turn: Turn | None = None
    ) -> T:
        """Has ``work(*given)`` done, which only reads, in its caller's turn."""
        if space is None or not self._takes_turns:
            async with turn or nullcontext():
                return await self.readers.run(work, *given)
        await self._until_free(space)
        with self._counted(self._reads, space):
            async with turn or nullcontext():
                return await self.readers.run(work, *given)

    async def write(
        self, space: str | None, work: Callable[..., T], *given: object, turn: Turn | None = None
    ) -> T:
        """Has ``work(*given)`` done, which may write, in its caller's turn."""
        async with turn or nullcontext():
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
