"""Which request gets a thread, so that writes leave some to reads, and each caller to the others.

Responsible for two groups of threads, for reads of a space that is being written, and for the share
of one caller. Leaves the number of requests to ``gate``. Invariants: however many writes wait for a
server, reads of other spaces find a thread, because each space that is being written holds at most
one of the readers; no caller has all threads of a group, nor most of the processor's time.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager
from time import monotonic, thread_time
from typing import Final, TypeVar

from recollect.interfaces.http.problems import Refused
from recollect.web.threads import Threads

T = TypeVar("T")

READERS_COUNT: Final = 8
WRITERS_COUNT: Final = 6  # fewer than readers: each may hold up one of them
_READS_OF_ONE: Final = 6
_LONG_OF_ONE: Final = 1  # reads of a whole ledger
_WRITES_OF_ONE: Final = 4  # fewer, for the same reason
# A caller that uses more than half a processor works one call at a time while others call: Python
# runs one thread at a time, so that each of its threads would slow them down.
_PART: Final = 0.5
_FREE_S: Final = 1.0  # more than its part, before that begins
_LATELY_S: Final = 5.0
_CALLERS_MAX_COUNT: Final = 10_000
_WAITING_MAX_COUNT: Final = 8  # reads of one space
_WAIT_MAX_S: Final = 5.0


class Used:
    """How much processor time each caller has had of late."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._used: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()  # seconds, and when
        self._costs: deque[tuple[Hashable, float]] = deque()  # not counted yet; of any thread

    def measured(self, owner: Hashable, work: Callable[..., T], *given: object) -> T:
        """Has ``work(*given)`` done in this thread, and counts what it costs."""
        began = thread_time()
        try:
            return work(*given)
        finally:
            self._costs.append((owner, thread_time() - began))

    def note(self, owner: Hashable, seconds: float = 0.0) -> None:
        """Counts what a call of this caller has cost, or that it has come."""
        now = self._now()
        self._used[owner] = self._of(owner, now) + seconds, now
        self._used.move_to_end(owner)
        if len(self._used) > _CALLERS_MAX_COUNT:
            self._used.popitem(last=False)

    def is_much(self, owner: Hashable) -> bool:
        """True if this caller had more than its part while others called."""
        while self._costs:
            self.note(*self._costs.popleft())
        now = self._now()
        if self._of(owner, now) <= _FREE_S:
            return False
        other = next((one for one in reversed(self._used) if one != owner), None)
        return other is not None and now - self._used[other][1] <= _LATELY_S

    def _of(self, owner: Hashable, now: float) -> float:
        seconds, at = self._used.get(owner, (0.0, now))
        return max(0.0, seconds - (now - at) * _PART)


class Shares:
    """How many calls of each caller work at the same time, in one event loop."""

    def __init__(self, most: int, used: Used | None = None) -> None:
        self._most = most
        self._used = used or Used()
        self._working = Counter[Hashable]()
        self._waiting: dict[Hashable, deque[asyncio.Future[None]]] = {}

    def __len__(self) -> int:
        return len(self._working)

    @asynccontextmanager
    async def one(self, owner: Hashable) -> AsyncIterator[None]:
        """Waits until a call of this caller may begin, in the order they came; None waits never."""
        if owner is None:
            yield
            return
        self._used.note(owner)
        await self._begun(owner)
        try:
            yield
        finally:
            self._working[owner] -= 1
            self._let_in(owner)

    async def _begun(self, owner: Hashable) -> None:
        """Returns once the call is counted as working."""
        waiting = self._waiting.setdefault(owner, deque())
        mine = asyncio.get_running_loop().create_future()
        waiting.append(mine)
        self._let_in(owner)
        try:
            await mine
        except asyncio.CancelledError:
            if not mine.cancelled():  # it was let in at the same time
                self._working[owner] -= 1
            self._let_in(owner)
            raise

    def _let_in(self, owner: Hashable) -> None:
        """Lets in as many calls as this caller may have now, the first first."""
        waiting = self._waiting.get(owner, deque())
        most = 1 if waiting and self._used.is_much(owner) else self._most
        while waiting and self._working[owner] < most:
            first = waiting.popleft()
            if not first.done():
                first.set_result(None)
                self._working[owner] += 1
        if not waiting:
            self._waiting.pop(owner, None)
        if not self._working[owner]:
            del self._working[owner]


class Room:
    """The threads of a service."""

    def __init__(self, *, takes_turns: bool) -> None:
        self.readers = Threads(READERS_COUNT, "http")
        self.writers = Threads(WRITERS_COUNT, "write")
        self._used = Used()
        self._read_shares = Shares(_READS_OF_ONE, self._used)
        self._long_shares = Shares(_LONG_OF_ONE, self._used)
        self._write_shares = Shares(_WRITES_OF_ONE, self._used)
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
            async with shares.one(owner):
                return await self.readers.run(self._used.measured, owner, work, *given)
        await self._until_free(space)
        with self._counted(self._reads, space):
            async with shares.one(owner):
                return await self.readers.run(self._used.measured, owner, work, *given)

    async def write(
        self, space: str | None, work: Callable[..., T], *given: object, owner: Hashable = None
    ) -> T:
        """Has ``work(*given)`` done, which may write, within the share of its owner."""
        async with self._write_shares.one(owner):
            if space is None or not self._takes_turns:
                return await self.writers.run(self._used.measured, owner, work, *given)
            with self._counted(self._writes, space):
                return await self.writers.run(self._used.measured, owner, work, *given)

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
