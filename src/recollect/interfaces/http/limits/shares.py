"""What one caller may use of the threads and the processor.

Responsible for how many calls of each caller work at the same time. Leaves the threads to ``room``
and how often a caller may ask to ``rates``. Python runs one thread at a time: while one computes,
every other waits longer for its turn, and several that compute are not faster than one. So while
others call, a caller whose reads cost much, or who uses most of the processor, works one call at a
time. Writes that cost much take turns already, those of a space, and cheap ones share a commit.
Invariant: what a caller costs the others does not grow with the number of its connections.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from math import inf
from time import monotonic, thread_time
from typing import Any, Final, Protocol, TypeVar

T = TypeVar("T")

_PART: Final = 0.5  # of a processor, for one caller while others call
_FREE_S: Final = 1.0  # that it may use beyond that at once
_LATELY_S: Final = 5.0
_COSTLY_S: Final = 0.02  # of one call
_HALF_S: Final = 15.0  # after which half of it is forgotten
_CALLERS_MAX_COUNT: Final = 10_000


class _Caller:
    """What one caller has used."""

    __slots__ = ("at", "called_at", "costliest_s", "used_s")

    def __init__(self, at: float) -> None:
        self.at = at
        self.called_at = -inf
        self.used_s = 0.0  # what its part has not covered yet
        self.costliest_s: float | None = None  # of its reads of late

    def later(self, now: float) -> None:
        """Forgets what time has covered."""
        passed = max(0.0, now - self.at)
        self.at = now
        self.used_s = max(0.0, self.used_s - passed * _PART)
        if self.costliest_s is not None:
            self.costliest_s *= 0.5 ** (passed / _HALF_S)


class Used:
    """The processor time that each caller has used of late."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._callers: OrderedDict[Hashable, _Caller] = OrderedDict()  # the last that called last
        self._costs: deque[tuple[Hashable, float, bool]] = deque()  # not counted yet

    def cost(self, owner: Hashable, seconds: float, *, is_read: bool) -> None:
        """Takes what a call of this caller has cost; from any thread."""
        self._costs.append((owner, seconds, is_read))

    def came(self, owner: Hashable) -> None:
        """Notes that this caller calls."""
        self._present(owner).called_at = self._now()
        self._callers.move_to_end(owner)

    def is_much(self, owner: Hashable) -> bool:
        """True if this caller uses more than its part while others call."""
        return self._counted(owner).used_s > _FREE_S and self._others_call(owner)

    def is_costly(self, owner: Hashable) -> bool:
        """True if this caller's reads cost much, or are not known, while others call."""
        costliest_s = self._counted(owner).costliest_s
        is_cheap = costliest_s is not None and costliest_s < _COSTLY_S
        return not is_cheap and self._others_call(owner)

    def _counted(self, owner: Hashable) -> _Caller:
        """What a caller has used, with all costs that are known."""
        while self._costs:
            of, seconds, is_read = self._costs.popleft()
            caller = self._present(of)
            caller.used_s += seconds
            if is_read:
                caller.costliest_s = max(seconds, caller.costliest_s or 0.0)
        return self._present(owner)

    def _others_call(self, owner: Hashable) -> bool:
        other = next((one for one in reversed(self._callers) if one != owner), None)
        return other is not None and self._now() - self._callers[other].called_at <= _LATELY_S

    def _present(self, owner: Hashable) -> _Caller:
        """What a caller has used, as it counts now."""
        now = self._now()
        found = self._callers.setdefault(owner, _Caller(now))
        found.later(now)
        if len(self._callers) > _CALLERS_MAX_COUNT:
            self._callers.popitem(last=False)
        return found


class Measured(Protocol):
    """Has ``work(*given)`` done in this thread, and counts what it costs."""

    def __call__(self, work: Callable[..., T], *given: object) -> T:
        """What the work returns."""
        ...


class Shares:
    """How many calls of each caller work at the same time, in one event loop."""

    def __init__(self, most: int, used: Used | None = None, *, of_reads: bool = True) -> None:
        self._most = most
        self._of_reads = of_reads
        self._used = used or Used()
        self._working = Counter[Hashable]()
        self._waiting: dict[Hashable, deque[asyncio.Future[None]]] = {}

    def __len__(self) -> int:
        return len(self._working)

    @asynccontextmanager
    async def one(self, owner: Hashable) -> AsyncIterator[Measured]:
        """Waits until a call of this caller may begin, in the order they came; None waits never."""
        if owner is None:
            yield _done
            return
        self._used.came(owner)
        await self._begun(owner)
        try:
            yield self._measuring(owner)
        finally:
            self._working[owner] -= 1
            self._let_in(owner)

    def _measuring(self, owner: Hashable) -> Measured:
        def measured(work: Callable[..., Any], *given: object) -> Any:
            began = thread_time()
            try:
                return work(*given)
            finally:
                self._used.cost(owner, thread_time() - began, is_read=self._of_reads)

        return measured

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
        most = 1 if waiting and self._is_held_back(owner) else self._most
        while waiting and self._working[owner] < most:
            first = waiting.popleft()
            if not first.done():
                first.set_result(None)
                self._working[owner] += 1
        if not waiting:
            self._waiting.pop(owner, None)
        if not self._working[owner]:
            del self._working[owner]

    def _is_held_back(self, owner: Hashable) -> bool:
        return self._used.is_much(owner) or (self._of_reads and self._used.is_costly(owner))


def _done(work: Callable[..., T], *given: object) -> T:
    return work(*given)
