"""What every function of the face takes first.

Responsible for opening and closing. Leaves threads to ``aio``. Invariant: one call is one hop, and
a write is durable when it returns; there is no transaction that spans several.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from recollect.aio import AsyncMemory
from recollect.errors import Conflict
from recollect.memory import Memory
from recollect.memory.face import Where
from recollect.model.events import Trust

T = TypeVar("T")


class IntegrityError(Conflict):
    """What is to be inserted is there already, or names a block that is not."""


class Connection:
    """A memory, as the functions of the face want it."""

    def __init__(self, memory: AsyncMemory) -> None:
        self.memory = memory

    async def run(self, work: Callable[[Memory], T]) -> T:
        """One hop: ``work`` gets the memory itself and runs in a thread."""
        return await self.memory.run(work)


@asynccontextmanager
async def connect(
    where: Where = None,
    *,
    space: str = "main",
    session: str | None = None,
    origin: Trust = "agent",
) -> AsyncIterator[Connection]:
    """A connection to a memory, closed when the block ends.

    It writes with an agent's trust unless told otherwise, so that a program changes nothing that a
    person said.
    """
    async with await AsyncMemory.open(where, space=space) as memory:
        yield Connection(memory.scoped(session=session, origin=origin))
