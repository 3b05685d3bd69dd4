"""``AsyncMemory``: the public API of one memory, async.

Responsible for what cannot be derived from the plain API: opening, narrowing, moving to the past,
batches and closing. Leaves every other call to the generated groups. Invariants: one
call runs in one worker thread; over a memory of a service no engine is loaded.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from recollect.aio.contexts import AsyncContexts
from recollect.aio.doors import AsyncDoors
from recollect.aio.leaving import AsyncLeaving
from recollect.aio.reading import AsyncReading
from recollect.aio.workers import Workers
from recollect.aio.writing import AsyncWriting
from recollect.errors import InvalidInput
from recollect.model import validate

TYPE_CHECKING = False  # as type checkers know it
if TYPE_CHECKING:
    from recollect.client import Memory as Remote
    from recollect.config import Settings, Where
    from recollect.lifecycle.commands import Expect
    from recollect.memory import Batch, Memory
    from recollect.model.events import Trust
    from recollect.model.values import MemoryScope

T = TypeVar("T")


class AsyncMemory(
    AsyncWriting,
    AsyncReading,
    AsyncContexts,
    AsyncLeaving,
    AsyncDoors,
):
    """One memory: remember, observe, recall, correct, forget, and ask why."""

    def __init__(
        self,
        memory: Memory | Remote | None = None,
        workers: Workers | None = None,
        *,
        close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """The async API of a memory that is open; closing it closes that memory."""
        if not (memory and _is_memory(memory)):
            given = "" if memory is None else validate.shown(memory)
            raise InvalidInput(
                "a memory is opened, not constructed", hint=f"use await AsyncMemory.open({given})"
            )
        super().__init__(memory, workers or Workers())
        self._close = close or partial(self._workers.close, memory.close)

    @classmethod
    async def open(
        cls,
        where: Where = None,
        *,
        space: str = "main",
        embedder: str = "auto",
        settings: Settings | None = None,
        token: str | None = None,
    ) -> AsyncMemory:
        """Open the memory at a place, or the nearest one. Closing it closes its store too.

        The arguments are those of ``Memory.open``.
        """
        from recollect.memory import Memory

        workers = Workers()
        call = partial(Memory.open, where, space=space, embedder=embedder, settings=settings)
        return cls(await workers.run(call, token=token), workers)

    def scoped(
        self,
        *,
        user: str | None = None,
        session: str | None = None,
        agent: str | None = None,
        trust: Trust | None = None,
        subject: str | None = None,
    ) -> AsyncMemory:
        """A handle on the same memory for one user, session or agent, or with less trust.

        The arguments are those of ``Memory.scoped``.
        """
        return self._like(
            self._calls.scoped(
                user=user, session=session, agent=agent, trust=trust, subject=subject
            )
        )

    async def on(self, branch: str) -> AsyncMemory:
        """The memory with the changes of an open branch; what is written here waits there.

        The argument is that of ``Memory.on``.
        """
        return self._like(await self._run(self._calls.on, branch))

    async def at(self, position: int | datetime | str) -> AsyncMemory:
        """The memory as it was; a handle that only reads.

        The argument is that of ``Memory.at``.
        """
        return self._like(await self._run(self._calls.at, position))

    @asynccontextmanager
    async def batch(
        self, *, idempotency_key: str | None = None, expect: Expect | None = None
    ) -> AsyncIterator[Batch]:
        """Several writes that happen together or not at all, with one fsync.

        The arguments are those of ``Memory.batch``.
        """
        batch = self._calls.batch(idempotency_key=idempotency_key, expect=expect)
        yield batch.__enter__()  # collecting does no I/O: only the end of the block needs a thread
        await self._run(batch.__exit__, None, None, None)

    async def run(self, work: Callable[[Memory], T]) -> T:
        """Run several calls in one thread: ``work`` gets the plain memory."""
        return await self._run(work, self._calls)

    @property
    def where(self) -> str:
        """The folder or address, without secrets."""
        return self._calls.where

    @property
    def scope(self) -> MemoryScope:
        """The space, the user, session and agent of this handle, and its trust."""
        return self._calls.scope

    async def close(self) -> None:
        """Release files and connections; closing twice is fine."""
        await self._close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"Async{self._calls!r}"

    def _like(self, memory: Memory) -> AsyncMemory:
        """Another handle of the same space; it shares the threads and is closed with this one."""
        return AsyncMemory(memory, self._workers, close=self._close)


def _is_memory(given: object) -> bool:
    """A memory of this machine or of a service; a module that is not loaded has made none."""
    homes = ("recollect.memory.memory", "recollect.client.memory")
    loaded = [sys.modules[home] for home in homes if home in sys.modules]
    return isinstance(given, tuple(module.Memory for module in loaded))
