"""``AsyncMemory``: one memory of a service, async.

Responsible for what cannot be derived from the plain API: opening, narrowing, moving to the past,
batches and closing. Leaves every other call to the generated groups. Invariant: one call runs in
one worker thread.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from recollect.client.aio.contexts import AsyncContexts
from recollect.client.aio.correcting import AsyncCorrecting
from recollect.client.aio.exchanging import AsyncExchanging
from recollect.client.aio.leaving import AsyncLeaving
from recollect.client.aio.linking import AsyncLinking
from recollect.client.aio.reading import AsyncReading
from recollect.client.aio.upkeep import AsyncUpkeep
from recollect.client.aio.workers import Workers, plain_of
from recollect.client.aio.writing import AsyncWriting
from recollect.client.batch import Batch
from recollect.client.kinds import Expect, Progress
from recollect.client.memory import Memory
from recollect.errors import InvalidInput
from recollect.model import validate
from recollect.model.events import Trust
from recollect.model.values import Carried, Change, LedgerMerge, Scope, Settlement

T = TypeVar("T")


class AsyncMemory(
    AsyncWriting,
    AsyncReading,
    AsyncLinking,
    AsyncContexts,
    AsyncCorrecting,
    AsyncLeaving,
    AsyncUpkeep,
    AsyncExchanging,
):
    """One memory: remember, observe, recall, correct, forget, and ask why."""

    def __init__(
        self,
        memory: Memory | None = None,
        workers: Workers | None = None,
        *,
        close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """The async API of a memory that is open; closing it closes that memory."""
        if not isinstance(memory, Memory):
            given = "" if memory is None else validate.shown(memory)
            raise InvalidInput(
                "a memory is opened, not constructed", hint=f"use await AsyncMemory.open({given})"
            )
        super().__init__(memory, workers or Workers())
        self._close = close or partial(self._workers.close, memory.close)

    @classmethod
    async def open(
        cls,
        where: str | os.PathLike[str] | None = None,
        *,
        space: str = "main",
        token: str | None = None,
        timeout_s: float = 60.0,
    ) -> AsyncMemory:
        """Open a memory of a service.

        The arguments are those of ``Memory.open``.
        """
        return cls(Memory.open(where, space=space, token=token, timeout_s=timeout_s))

    @classmethod
    async def restore_backup(cls, backup: str | os.PathLike[str], where: str) -> AsyncMemory:
        """Create a memory from a backup.

        The arguments are those of ``Memory.restore_backup``.
        """
        workers = Workers()
        return cls(await workers.run(Memory.restore_backup, backup, where), workers)

    def scoped(
        self,
        *,
        user: str | None = None,
        session: str | None = None,
        agent: str | None = None,
        origin: Trust | None = None,
        subject: str | None = None,
    ) -> AsyncMemory:
        """A handle on the same memory for one user, session or agent, or with less trust.

        The arguments are those of ``Memory.scoped``.
        """
        return self._like(
            self._calls.scoped(
                user=user, session=session, agent=agent, origin=origin, subject=subject
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

    async def copy_to(self, other: AsyncMemory, progress: Progress | None = None) -> Carried:
        """Append to another memory the events of this one that it lacks, byte for byte.

        The arguments are those of ``Memory.copy_to``.
        """
        return await self._run(self._calls.copy_to, plain_of(other), progress)

    async def merge_from(
        self,
        other: AsyncMemory,
        *,
        settle: Mapping[str, Settlement] | None = None,
        digest: str | None = None,
        is_mine: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> LedgerMerge:
        """Bring what another copy of this memory has written since both were one.

        The arguments are those of ``Memory.merge_from``.
        """
        call = partial(
            self._calls.merge_from,
            settle=settle,
            digest=digest,
            is_mine=is_mine,
            dry_run=dry_run,
            progress=progress,
        )
        return await self._run(call, plain_of(other))

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

    async def tail(
        self, *, after: int | None = None, kinds: Iterable[str] = ()
    ) -> AsyncIterator[Change]:
        """Each event as it is written, oldest first; it waits for the next one and never ends.

        The arguments are those of ``Memory.tail``. It keeps one thread busy while it is followed.
        """
        stream = self._calls.tail(after=after, kinds=kinds)
        while True:
            change = await self._run(next, stream, None)
            if change is None:
                return
            yield change

    async def wait(self, seq: int, timeout_s: float = 30.0) -> bool:
        """Wait until the memory has this many events; False if it takes longer."""
        return await self._run(self._calls.wait, seq, timeout_s)

    @property
    def name(self) -> str:
        """The name of the space."""
        return self._calls.name

    @property
    def where(self) -> str:
        """The folder or address, without secrets."""
        return self._calls.where

    @property
    def scope(self) -> Scope:
        """The user, session and agent of this handle."""
        return self._calls.scope

    @property
    def trust(self) -> Trust:
        """The trust of what this handle writes."""
        return self._calls.trust

    @property
    def position(self) -> Awaitable[int]:
        """How many events this handle sees."""
        return self._run(lambda: self._calls.position)

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
