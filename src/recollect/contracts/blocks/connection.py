"""The connection that every function takes as its first argument.

Responsible for opening and closing. Leaves threads to ``aio``. Invariant: one call is one hop to a
thread, and a write is durable when it returns; no transaction spans several calls.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from recollect.aio import AsyncMemory
from recollect.config import Where
from recollect.errors import Changed, Conflict
from recollect.memory import Memory
from recollect.model.events import Trust

_TRIES: Final = 50

T = TypeVar("T")


class IntegrityError(Conflict):
    """The row to insert already exists, or refers to a block that does not exist."""


class Connection:
    """A memory, as the functions of this API take it."""

    def __init__(self, memory: AsyncMemory) -> None:
        self.memory = memory

    async def run(self, work: Callable[[Memory], T]) -> T:
        """Runs ``work`` with the memory in a thread."""
        return await self.memory.run(work)


@asynccontextmanager
async def connect(
    where: Where = None,
    *,
    space: str = "main",
    session: str | None = None,
    trust: Trust = "agent",
) -> AsyncIterator[Connection]:
    """A connection to a memory, closed when the block ends.

    By default it writes with an agent's trust, so that a program cannot change what a person said.
    """
    async with await AsyncMemory.open(where, space=space) as memory:
        yield Connection(memory.scoped(session=session, trust=trust))


def again(work: Callable[[], T]) -> T:
    """Does what rests on what it has read, once more if another writer has changed that."""
    for _ in range(_TRIES):
        try:
            return work()
        except Changed:
            pass
    return work()
