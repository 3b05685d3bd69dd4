"""``AsyncStore``: a workspace or a server with many memories, async.

Responsible for the same calls as ``Store``, each in a worker thread. Leaves everything else to it.
Invariants: all memories of a store share its threads; over a service no engine is loaded.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from types import TracebackType
from typing import Self

from recollect.aio.jobs import AsyncJobs
from recollect.aio.memory import AsyncMemory
from recollect.aio.tokens import AsyncTokens
from recollect.aio.workers import Workers

TYPE_CHECKING = False  # as type checkers know it
if TYPE_CHECKING:
    from recollect.client import Memory as RemoteMemory
    from recollect.client import Store as Remote
    from recollect.config import Settings, Where
    from recollect.memory import Memory, Store
    from recollect.model.values import Drop, Dropped, Token


class AsyncStore:
    """A workspace or server with many memories; open one for each process."""

    def __init__(
        self, store: Store | Remote, workers: Workers | None = None, *, is_entered: bool = False
    ) -> None:
        self._store = store  # that of a service has the same calls
        self._is_entered = is_entered  # the threads belong to the store that was entered
        self._workers = workers or Workers()
        self.settings = self._store.settings

    @classmethod
    async def open(
        cls,
        where: Where = None,
        *,
        embedder: str = "auto",
        settings: Settings | None = None,
        token: str | None = None,
    ) -> AsyncStore:
        """Open the store at a place, or the nearest one.

        The arguments are those of ``Store.open``.
        """
        from recollect.memory import Store

        workers = Workers()
        call = partial(Store.open, where, embedder=embedder, settings=settings)
        return cls(await workers.run(call, token=token), workers)

    @classmethod
    async def restore_backup(cls, backup: str | os.PathLike[str], where: Where) -> AsyncMemory:
        """Create a memory from a backup, and open it.

        The arguments are those of ``Store.restore_backup``.
        """
        from recollect.memory import Store

        workers = Workers()
        return AsyncMemory(await workers.run(Store.restore_backup, backup, where), workers)

    @property
    def where(self) -> str:
        """The folder or address, without secrets."""
        return self._store.where

    async def space(self, name: str = "main", *, create: bool = True) -> AsyncMemory:
        """The memory of one user, project or team; nothing is created before its first use."""
        opened: Callable[..., Memory | RemoteMemory] = self._store.space
        memory = await self._workers.run(opened, name, create=create)
        return AsyncMemory(memory, self._workers, close=partial(self._workers.run, memory.close))

    def entered(self, token: str) -> AsyncStore:
        """The same store for the holder of a token: it opens and allows what the token does.

        The arguments are those of ``Store.entered``.
        """
        return AsyncStore(self._store.entered(token), self._workers, is_entered=True)

    async def token(self) -> Token | None:
        """What the token that this store was entered with allows; None without one."""
        return await self._workers.run(self._store.token)

    @property
    def tokens(self) -> AsyncTokens:
        """The tokens that open memories of this store."""
        return AsyncTokens(self._store.tokens, self._workers)

    @property
    def jobs(self) -> AsyncJobs:
        """The background work in memories of this store."""
        return AsyncJobs(self._store.jobs, self._workers)

    async def spaces(self) -> list[str]:
        """The names of the memories that exist here."""
        return await self._workers.run(self._store.spaces)

    async def heads(self, names: Iterable[str]) -> dict[str, int]:
        """The position of each of these memories: cheap, to see which of many have changed.

        The arguments are those of ``Store.heads``.
        """
        return await self._workers.run(self._store.heads, names)

    async def drop(self, name: str, *, reason: str | None = None, dry_run: bool = False) -> Drop:
        """Remove a memory whole: its ledger, its index and its copies here. It cannot be undone.

        The arguments are those of ``Store.drop``.
        """
        return await self._workers.run(self._store.drop, name, reason=reason, dry_run=dry_run)

    async def dropped(self) -> list[Dropped]:
        """The notes about the memories that were dropped here, oldest first."""
        return await self._workers.run(self._store.dropped)

    async def close(self) -> None:
        """Close every memory that came from here."""
        if self._is_entered:
            await self._workers.run(self._store.close)
        else:
            await self._workers.close(self._store.close)

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
        return f"Async{self._store!r}"
