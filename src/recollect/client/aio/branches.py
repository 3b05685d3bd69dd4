"""The calls of ``memory.branches``, async; ``make async`` writes this module.

Responsible for one call in a worker thread for each call there. Leaves everything else to the plain
memory. Invariant: signatures and documentation are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from recollect.client.aio.workers import AsyncCalls
from recollect.client.kinds import Expect
from recollect.client.parts import Branches
from recollect.model.values import Branch, Diff, Erasure, Merged, Quote, Settlement

List = list  # ``list`` is also the name of a call


class AsyncBranches(AsyncCalls[Branches]):
    """Open a branch, look at what it would change, and merge, abandon or condense it.

    ``memory.on(name)`` writes and reads on it. Anyone but an unverified source opens and writes a
    branch; only a person merges it."""

    async def open(
        self,
        name: str,
        *,
        parent: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Branch:
        """Open a branch; then write on it with ``memory.on(name)``.

        Args:
            name: Its name, which no open branch of the same user has.
            parent: The branch that it comes from, by name or id. Its changes are not copied.
            reason: What it is for.
            idempotency_key: The same key with the same call again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Raises:
            Conflict: A branch of that name is open.
            NotFound: This handle sees no branch that ``parent`` names.
            Forbidden: The handle has less than an agent's trust.
        """
        return await self._run(
            self._calls.open,
            name,
            parent=parent,
            reason=reason,
            idempotency_key=idempotency_key,
            expect=expect,
        )

    async def list(
        self, *, closed: bool = False, limit: int = 100, before: int | None = None
    ) -> List[Branch]:
        """Open branches, the newest first.

        Args:
            closed: Also those that were closed.
            limit: At most this many, up to 1,000.
            before: The ``seq`` of the last branch of the page before.
        """
        return await self._run(self._calls.list, closed=closed, limit=limit, before=before)

    async def show(self, name: str) -> Branch:
        """One branch, open or closed.

        Args:
            name: Its name or its id.

        Raises:
            NotFound: This handle sees no branch of that name.
            Ambiguous: Several users have one, and the handle is for none of them.
        """
        return await self._run(self._calls.show, name)

    async def diff(self, name: str) -> Diff:
        """What merging a branch would change, both sides of it, and which changes are conflicts.

        Args:
            name: Its name or its id.

        Raises:
            NotFound: This handle sees no branch of that name.
        """
        return await self._run(self._calls.diff, name)

    async def merge(
        self,
        name: str,
        digest: str,
        *,
        settle: Mapping[str, Settlement] | None = None,
        edits: Mapping[str, str] | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Merged:
        """Make every change of a branch, in one command, and close it.

        Args:
            name: Its name or its id.
            digest: The ``digest`` of the diff that was shown.
            settle: For each conflict, by the id of the change: ``ours`` keeps what the memory has,
                ``theirs`` takes the branch's. A change without a conflict can be left out too.
            edits: Texts that take the place of a change's own, by the id of the change.
            reason: Why, for people who read the history.
            idempotency_key: The same key with the same call again does nothing more.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Raises:
            Conflict: A conflict is not settled, or something changed since it was shown; nothing
                was merged.
            Forbidden: The handle has less than a person's trust.
        """
        return await self._run(
            self._calls.merge,
            name,
            digest,
            settle=settle,
            edits=edits,
            reason=reason,
            idempotency_key=idempotency_key,
            expect=expect,
        )

    async def abandon(
        self,
        name: str,
        reason: str | None = None,
        *,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Branch:
        """Reject everything that waits on a branch, and close it.

        Args:
            name: Its name or its id.
            reason: Why, for people who read the history.
            idempotency_key: The same key with the same call again does nothing more.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Raises:
            NotFound: This handle sees no branch of that name.
            Conflict: The branch is closed.
            Forbidden: It was opened, or a change on it was written, with more trust.
        """
        return await self._run(
            self._calls.abandon, name, reason, idempotency_key=idempotency_key, expect=expect
        )

    async def condense(
        self,
        name: str,
        text: str,
        *,
        key: str | None = None,
        about: str | None = None,
        evidence: Iterable[str | Quote] = (),
        reason: str | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Branch:
        """Reject everything that waits on a branch, keep one record of what it was, and close it.

        Args:
            name: Its name or its id.
            text: The summary. It rests on what the branch rested on and was about.
            key: The key of the summary's record.
            about: The person, project or thing that the summary is about.
            evidence: More ids that the summary rests on.
            reason: Why, for people who read the history.
            idempotency_key: The same key with the same call again does nothing more.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Returns:
            The branch; its ``record`` is the summary.

        Raises:
            NotFound: This handle sees no branch of that name.
            Conflict: The branch is closed.
            Forbidden: It was opened, or a change on it was written, with more trust.
        """
        return await self._run(
            self._calls.condense,
            name,
            text,
            key=key,
            about=about,
            evidence=evidence,
            reason=reason,
            idempotency_key=idempotency_key,
            expect=expect,
        )

    async def erase(
        self,
        name: str,
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Erasure:
        """Remove every byte of a branch and of the proposals on it; what it has changed stays.

        Args:
            name: Its name or its id.
            reason: Why; it stays in the ledger, so it should not repeat what is erased.
            idempotency_key: The same key with the same call again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Raises:
            NotFound: This handle sees no branch of that name.
            Forbidden: The handle has less than a person's trust.
        """
        return await self._run(
            self._calls.erase, name, reason=reason, idempotency_key=idempotency_key, expect=expect
        )
