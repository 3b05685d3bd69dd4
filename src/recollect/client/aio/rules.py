"""The calls of ``memory.rules``, async; ``make async`` writes this module.

Responsible for one call in a worker thread for each call there. Leaves everything else to the plain
memory. Invariant: signatures and documentation are the same.
"""

from __future__ import annotations

from collections.abc import Iterable

from recollect.client.aio.workers import AsyncCalls
from recollect.client.kinds import Expect
from recollect.client.parts import Rules
from recollect.model.values import Rule

List = list  # ``list`` is also the name of a call


class AsyncRules(AsyncCalls[Rules]):
    """List, get, set and drop the rules of a space; ``memory.consolidate`` runs one.

    A rule is the document "rules/NAME". Running it needs at least the trust that set it."""

    async def list(self, *, limit: int = 100, after: str | None = None) -> List[Rule]:
        """Rules, by name; other documents of the type "rules" are left out.

        Args:
            limit: At most this many, up to 1,000.
            after: The name of the last rule of the page before.
        """
        return await self._run(self._calls.list, limit=limit, after=after)

    async def get(self, name: str) -> Rule:
        """One rule.

        Args:
            name: The name.

        Raises:
            NotFound: The rule does not exist.
            InvalidInput: The document "rules/NAME" is not a rule.
        """
        return await self._run(self._calls.get, name)

    async def set(
        self,
        name: str,
        *,
        filter: str | None = None,
        every: int | None = None,
        cron: str | None = None,
        channels: Iterable[str] = (),
        propose: bool = False,
        from_start: bool = False,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Rule:
        """Set a rule, whole. It goes on after the last episode that it has looked at.

        Args:
            name: An id; with "rules/" at most 120 characters.
            filter: Which episodes; all by default. The columns ``content``, ``timestamp``,
                ``source_node`` and ``scope_key`` of an earlier design are translated.
            every: Run it when this many episodes are new.
            cron: Run it at these times of this machine's clock: minute, hour, day, month, weekday.
            channels: Tags of what it makes.
            propose: A proposer says what the episodes change, not their metadata; all that it
                suggests waits for a person. ``consolidate`` then needs a proposer.
            from_start: Look at every episode again, from the first.
            idempotency_key: The same key with the same call again does nothing more.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Raises:
            InvalidInput: The filter or the cadence cannot be understood.
            Forbidden: The rule was set with more trust than this handle has.
        """
        return await self._run(
            self._calls.set,
            name,
            filter=filter,
            every=every,
            cron=cron,
            channels=channels,
            propose=propose,
            from_start=from_start,
            idempotency_key=idempotency_key,
            expect=expect,
        )

    async def drop(
        self,
        name: str,
        *,
        erase: bool = False,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> None:
        """Remove a rule; what it made stays. Set again, it goes on where it stood.

        Args:
            name: The name.
            erase: Also remove every byte of it and of how far it has looked; needs a person.
            idempotency_key: The same key with the same call again does nothing more.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Raises:
            NotFound: The rule does not exist.
            Forbidden: The rule was set with more trust than this handle has, or ``erase`` is asked
                for without a person's trust.
        """
        await self._run(
            self._calls.drop, name, erase=erase, idempotency_key=idempotency_key, expect=expect
        )

    async def due(self) -> List[Rule]:
        """The rules whose cadence has come; nothing runs them but ``memory.consolidate``."""
        return await self._run(self._calls.due)
