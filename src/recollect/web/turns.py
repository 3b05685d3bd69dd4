"""Turns: so many calls of one caller work at the same time, and its others wait.

Responsible for the order in which the calls of one caller begin. Leaves the work to the callers.
Invariants: what a caller does never keeps a thread from another one while it has its share; a
caller without calls costs nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager


class Turns:
    """The turns of all callers, of one event loop."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._shares: dict[Hashable, tuple[asyncio.Semaphore, int]] = {}  # and who uses each

    def __len__(self) -> int:
        return len(self._shares)

    @asynccontextmanager
    async def turn(self, owner: Hashable) -> AsyncIterator[None]:
        """Waits until a call of this caller may begin, in the order they came."""
        share, users = self._shares.get(owner) or (asyncio.Semaphore(self._most), 0)
        self._shares[owner] = share, users + 1
        try:
            async with share:
                yield
        finally:
            share, users = self._shares.pop(owner)
            if users > 1:
                self._shares[owner] = share, users - 1
