"""The memory that a store of this API is a face of.

Responsible for opening it on ``bootstrap`` and closing it. Leaves every call to ``store`` and
``facts``. Invariants: nothing is created before ``bootstrap``; one call is one hop to a thread, and
a write is durable when it returns. The ledger's lock, which several processes share, puts the
writes to one path in order.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from threading import Lock
from types import TracebackType
from typing import Self, TypeVar

from recollect.aio import AsyncMemory
from recollect.config import Settings, load
from recollect.contracts.episodic.errors import MigrationNotSupported
from recollect.contracts.episodic.values import MigrationPlan
from recollect.errors import ConfigError, Conflict
from recollect.memory import Memory
from recollect.model import validate
from recollect.model.events import Trust

T = TypeVar("T")


class OpenedStore:
    """A memory at a path, open from ``bootstrap`` to ``close``."""

    def __init__(
        self, path: str | os.PathLike[str], *, space: str = "main", trust: Trust = "agent"
    ) -> None:
        """A store at a folder, which ``bootstrap`` creates.

        Writes have the trust ``trust``; by default an agent's, so that a program cannot change
        what a person said.
        """
        self._path = os.fspath(path)
        self._space = space
        self._trust: Trust = trust
        self._memory: AsyncMemory | None = None
        self._opening = Lock()  # several tasks may call bootstrap

    @classmethod
    def over(cls, memory: AsyncMemory) -> Self:
        """A store over a memory that is open, with that handle's trust; closing it closes both."""
        made = cls(memory.where, space=memory.scope.space, trust=memory.scope.trust)
        made._memory = memory
        return made

    async def bootstrap(self) -> None:
        """Create the folder, its ledger and its index, unless they are there."""
        if self._memory is None:
            await asyncio.to_thread(self._open)
        await self.run(lambda memory: memory.events.position)  # the first read creates the index

    def _open(self) -> None:
        with self._opening:
            if self._memory is None:
                memory = Memory.open(space=self._space, settings=self._settings())
                self._memory = AsyncMemory(memory.scoped(trust=self._trust))

    def _settings(self) -> Settings:
        settings = load(self._path)
        folder = settings.folder
        if folder is not None and os.path.exists(folder) and not os.path.isdir(folder):
            raise ConfigError(
                f"{self._path} is a file; a store is a folder",
                hint="name another path, then `recollect --store PATH import FILE` brings it in",
            )
        return settings

    async def migrate(self, plan: MigrationPlan) -> None:
        """Check a plan. There is nothing to replay: ``metadata`` takes any key."""
        for operation in plan.operations:
            name = operation.get("op")
            if name != "add_column":
                raise MigrationNotSupported(
                    f"the operation {validate.shown(name)} is not supported",
                    hint="only add_column is",
                )
            if operation.get("nullable") is not True:
                raise MigrationNotSupported(
                    "add_column needs nullable=True",
                    hint="episodes that are there have no value for the column",
                )

    async def run(self, work: Callable[[Memory], T]) -> T:
        """Runs ``work`` with the memory in a thread."""
        if self._memory is None:
            raise Conflict("the store is not open", hint="await its bootstrap() first")
        return await self._memory.run(work)

    async def close(self) -> None:
        """Release files and threads; closing twice is fine, and ``bootstrap`` opens it again."""
        memory, self._memory = self._memory, None
        if memory is not None:
            await memory.close()

    async def __aenter__(self) -> Self:
        await self.bootstrap()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._path!r})"
