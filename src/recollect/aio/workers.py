"""The worker threads of the async API.

Responsible for running one call in a thread and returning its result. Leaves the calls to the plain
memory. Invariant: a store has at most ``WORKERS_MAX_COUNT`` threads at work; further calls wait
without a thread.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar
from weakref import WeakSet

from recollect.errors import Unavailable
from recollect.model.feed import Following
from recollect.model.limits import WORKERS_MAX_COUNT
from recollect.model.values import Change

P = ParamSpec("P")
T = TypeVar("T")


class Workers:
    """The threads of one store."""

    def __init__(self, count: int = WORKERS_MAX_COUNT) -> None:
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="recollect")
        self._process = os.getpid()
        self.followed: WeakSet[Following] = WeakSet()

    async def run(self, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run one call in a thread, in the caller's context."""
        if os.getpid() != self._process:  # a fork has no threads: a call would wait forever
            raise Unavailable(
                "this memory was opened before a fork", hint="open it again in the child"
            )
        # A cancelled caller takes its call out of the queue, unless a thread has started it.
        work = partial(contextvars.copy_context().run, call, *args, **kwargs)
        try:
            answer = asyncio.get_running_loop().run_in_executor(self._pool, work)
        except RuntimeError as error:
            raise Unavailable("this memory is closed", hint="open it again") from error
        return await answer

    async def close(self, last: Callable[[], None]) -> None:
        """Refuse further calls, wait for those that were made, then run the last one."""
        await asyncio.to_thread(self._end, last)

    def _end(self, last: Callable[[], None]) -> None:
        for following in list(self.followed):
            following.close()  # else its thread would wait for the next event
        self._pool.shutdown()
        last()


class AsyncCalls:
    """A group of calls of a plain memory, each run in a worker thread."""

    _calls: Any  # each group says which

    def __init__(self, calls: object, workers: Workers) -> None:
        self._calls = calls
        self._workers = workers
        self._run = workers.run

    async def _followed(
        self, call: Callable[P, Following], *args: P.args, **kwargs: P.kwargs
    ) -> AsyncIterator[Change]:
        """What each look of a call finds; a thread is busy for one look at a time."""
        following = await self._run(call, *args, **kwargs)
        self._workers.followed.add(following)
        try:
            while (
                not following.is_closed and (found := await self._run(following.look)) is not None
            ):
                for each in found:
                    yield each
        finally:  # a cancelled look still waits in its thread
            following.close()
