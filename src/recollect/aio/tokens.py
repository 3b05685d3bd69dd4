"""The calls of ``memory.tokens``, async; ``make async`` writes this module.

Responsible for one call in a worker thread for each call there. Leaves everything else to the plain
memory. Invariant: signatures and documentation are the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from recollect.aio.workers import AsyncCalls
from recollect.memory.tokens import Tokens
from recollect.model.events import Trust
from recollect.model.instants import Moment
from recollect.model.values import MadeToken, Token
from recollect.store.tokens import OVERLAP_S


class AsyncTokens(AsyncCalls[Tokens]):
    """The tokens of one store: the owner's calls, or those of a token with the verb ``admin``."""

    async def create(
        self,
        label: str,
        *,
        space: str | None,
        verbs: Iterable[str] = ("read", "write"),
        origin: Trust = "agent",
        user: str | None = None,
        agent: str | None = None,
        expires: Moment | timedelta | None = None,
    ) -> MadeToken:
        """Create a token. The answer is the only one that ever holds it.

        Args:
            label: A name for it, such as the program that uses it.
            space: The one memory that it opens, which is created; None for every memory.
            verbs: What it allows: ``read``, ``write``, ``erase``, ``create``, ``drop``, ``review``,
                ``admin``.
            origin: The highest trust of what is written with it.
            user: It reads and writes for this user alone.
            agent: It writes for this agent alone.
            expires: When it ends, or after how long.

        Raises:
            InvalidInput: No token can be like this.
        """
        return await self._run(
            self._calls.create,
            label,
            space=space,
            verbs=verbs,
            origin=origin,
            user=user,
            agent=agent,
            expires=expires,
        )

    async def list(self) -> list[Token]:
        """Every token, the oldest first, also those that have ended."""
        return await self._run(self._calls.list)

    async def get(self, which: str | int) -> Token:
        """One token.

        Args:
            which: Its id, or its label if no other has it.

        Raises:
            NotFound: No token has this id or label.
            Ambiguous: Several have this label.
        """
        return await self._run(self._calls.get, which)

    async def rotate(
        self, which: str | int, *, overlap: timedelta = timedelta(seconds=OVERLAP_S)
    ) -> MadeToken:
        """Create a token that allows the same as another, which ends after an overlap.

        Both work until then. The new one is valid for as long as the old one was when it was
        created, and not for longer than the token that rotates it.

        Args:
            which: The old token's id, or its label if no other valid token has it.
            overlap: How long the old one still works: 30 days at most; 0 ends it at once.

        Raises:
            NotFound: No valid token has this id or label.
            Ambiguous: Several valid tokens have this label.
        """
        return await self._run(self._calls.rotate, which, overlap=overlap)

    async def revoke(self, which: str | int) -> int:
        """End a token at once; returns how many were ended.

        Args:
            which: Its id, or a label: then all tokens with this label.

        Raises:
            NotFound: No token of this name is left to revoke.
        """
        return await self._run(self._calls.revoke, which)
