"""The calls of ``memory.sessions``, async; ``make async`` writes this module.

Responsible for one call in a worker thread for each call there. Leaves everything else to the plain
memory. Invariant: signatures and documentation are the same.
"""

from __future__ import annotations

from recollect.client.aio.workers import AsyncCalls
from recollect.client.kinds import Expect
from recollect.client.parts import Sessions
from recollect.model.values import Session

List = list  # ``list`` is also the name of a call


class AsyncSessions(AsyncCalls[Sessions]):
    """Open, close and list the sessions of a memory.

    Whatever is written with ``session=`` makes that session known, without an event of its own. One
    that was opened also has a task type, a start and an end. A session belongs to its user, if it
    has one: two users may each have a session of the same name."""

    async def open(
        self,
        id: str | None = None,
        *,
        task_type: str | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Session:
        """Open a session; then write in it with ``memory.scoped(session=session.id)``.

        Opening an open session again, with the same task type, writes nothing.

        Args:
            id: Its name; one is made by default. What named it before stays in it.
            task_type: What kind of work it is, such as "review".
            idempotency_key: The same key with the same call again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Raises:
            InvalidInput: The id or the task type cannot be a name.
            Conflict: The session is closed, or open with another task type.
            Forbidden: The handle has less than an agent's trust.
        """
        return await self._run(
            self._calls.open,
            id,
            task_type=task_type,
            idempotency_key=idempotency_key,
            expect=expect,
        )

    async def close(
        self,
        id: str,
        *,
        erase: bool = False,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Session | None:
        """Close a session. Closing it again writes nothing.

        Args:
            id: Its name.
            erase: Instead remove every byte of its opening and closing, for good; needs a person.
                What was written in it stays; ``memory.erase(filter="session = '…'")`` erases that.
            idempotency_key: The same key with the same call again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Returns:
            The session; None if it was erased.

        Raises:
            NotFound: No session of that name was opened.
            Ambiguous: Several users have opened one, and the handle is for none of them.
            Forbidden: The handle has less than an agent's trust, or for ``erase`` than a person's.
        """
        return await self._run(
            self._calls.close, id, erase=erase, idempotency_key=idempotency_key, expect=expect
        )

    async def list(self, *, limit: int = 100, before: int | None = None) -> List[Session]:
        """Sessions, named or opened, the last known first.

        Args:
            limit: At most this many, up to 10,000.
            before: The ``seq`` of the last session of the page before.
        """
        return await self._run(self._calls.list, limit=limit, before=before)

    async def active(self) -> Session | None:
        """The session that was opened last and is not closed; None if there is none."""
        return await self._run(self._calls.active)
