"""A plain API over the async one, so that the published suites run through it unchanged.

Responsible for driving an ``AsyncMemory`` from an event loop in a thread of its own. Leaves all
behaviour to it. Invariant: every call of the suites crosses the event loop.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import TypeVar, cast

from recollect import AsyncMemory, Memory
from recollect.aio.documents import AsyncDocuments
from recollect.aio.pages import AsyncPages
from recollect.aio.review import AsyncReview
from recollect.aio.rules import AsyncRules
from recollect.memory import Batch

PATIENCE_S = 60
T = TypeVar("T")
Group = AsyncMemory | AsyncDocuments | AsyncPages | AsyncReview | AsyncRules


class Loop:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="loop")
        self._thread.start()
        self.driven = 0  # how many answers were awaited

    def drive(self, awaitable: Awaitable[T]) -> T:
        async def wait() -> T:
            return await awaitable

        self.driven += 1
        return asyncio.run_coroutine_threadsafe(wait(), self._loop).result(PATIENCE_S)

    def close(self) -> None:
        self.drive(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Bridge:
    """Looks like a ``Memory``, or a group of its calls; every answer was awaited."""

    def __init__(self, loop: Loop, memory: Group) -> None:
        self._loop = loop
        self._memory = memory

    def __getattr__(self, name: str) -> object:
        found = getattr(self._memory, name)
        if not callable(found):
            return self._plain(found)
        return lambda *args, **kwargs: self._plain(found(*args, **kwargs))

    def _plain(self, answer: object) -> object:
        if isinstance(answer, Awaitable):
            answer = self._loop.drive(answer)
        if isinstance(answer, Group):
            return Bridge(self._loop, answer)
        if isinstance(answer, AbstractAsyncContextManager):
            return self._batch(cast("AbstractAsyncContextManager[Batch]", answer))
        return answer

    @contextmanager
    def _batch(self, batch: AbstractAsyncContextManager[Batch]) -> Iterator[Batch]:
        inside = self._loop.drive(batch.__aenter__())
        try:
            yield inside
        except BaseException as error:
            if not self._loop.drive(batch.__aexit__(type(error), error, error.__traceback__)):
                raise
        else:
            self._loop.drive(batch.__aexit__(None, None, None))

    def __repr__(self) -> str:
        return repr(self._memory)


@contextmanager
def async_memory(where: str) -> Iterator[Memory]:
    """A memory whose every call goes through the event loop."""
    loop = Loop()
    try:
        memory = loop.drive(AsyncMemory.open(where))
        try:
            yield cast("Memory", Bridge(loop, memory))
        finally:
            loop.drive(memory.close())
        assert loop.driven >= 2
    finally:
        loop.close()
