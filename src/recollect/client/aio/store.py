"""``AsyncStore``: the memories that a token opens on a service, async.

Responsible for the same calls as ``Store``, each in a worker thread. Leaves everything else to it.
Invariant: all memories of a store share its threads.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from types import TracebackType
from typing import Self

from recollect.client.aio.jobs import AsyncJobs
from recollect.client.aio.memory import AsyncMemory
from recollect.client.aio.tokens import AsyncTokens
from recollect.client.aio.workers import Workers
from recollect.client.store import Store
from recollect.model.values import Drop, Token


class AsyncStore:
    """The memories of a service; open one for each process."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._workers = Workers()

    @classmethod
    async def open(
        cls,
        where: str | os.PathLike[str] | None = None,
        *,
        token: str | None = None,
        timeout_s: float = 60.0,
    ) -> AsyncStore:
        """Open a service.

        The arguments are those of ``Store.open``.
        """
        return cls(Store.open(where, token=token, timeout_s=timeout_s))

    @property
    def where(self) -> str:
        """The address of the service."""
        return self._store.where

    async def space(self, name: str = "main", *, create: bool = True) -> AsyncMemory:
        """The memory of one user, project or team; nothing is created before its first use."""
        memory = self._store.space(name, create=create)
        close = partial(self._workers.run, _nothing)
        return AsyncMemory(memory, self._workers, close=close)

    async def spaces(self) -> list[str]:
        """The names of the memories that the token opens."""
        return await self._workers.run(self._store.spaces)

    async def token(self) -> Token:
        """What the token of this client allows."""
        return await self._workers.run(self._store.token)

    @property
    def tokens(self) -> AsyncTokens:
        """The tokens that open memories of this service, for a token with the verb ``admin``."""
        return AsyncTokens(self._store.tokens, self._workers)

    @property
    def jobs(self) -> AsyncJobs:
        """The background work in memories of this service."""
        return AsyncJobs(self._store.jobs, self._workers)

    async def heads(self, names: Iterable[str]) -> dict[str, int]:
        """The position of each of these memories, to see which of many have changed.

        The arguments are those of ``Store.heads``.
        """
        return await self._workers.run(self._store.heads, names)

    async def drop(self, name: str, *, reason: str | None = None, dry_run: bool = False) -> Drop:
        """Remove a memory whole: its ledger, its index and its copies. It cannot be undone.

        The arguments are those of ``Store.drop``.
        """
        return await self._workers.run(self._store.drop, name, reason=reason, dry_run=dry_run)

    async def close(self) -> None:
        """Close the connections of every memory that came from here."""
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


def _nothing() -> None:
    """A memory of a store is closed with the store."""
