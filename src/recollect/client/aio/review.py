"""The calls of ``memory.review``, async; ``make async`` writes this module.

Responsible for one call in a worker thread for each call there. Leaves everything else to the plain
memory. Invariant: signatures and documentation are the same.
"""

from __future__ import annotations

from collections.abc import Iterable

from recollect.client.aio.workers import AsyncCalls
from recollect.client.kinds import Expect
from recollect.client.parts import Review
from recollect.model.events import Intent
from recollect.model.values import Erasure, Proposal, Quote

List = list  # ``list`` is also the name of a call


class AsyncReview(AsyncCalls[Review]):
    """Propose a change, and approve or reject what waits.

    Two things wait in the queue: proposals, and records that are held because they are not trusted
    or would replace something that is. Anyone may propose; only a person approves or rejects."""

    async def propose(
        self,
        text: str | None = None,
        *,
        intent: Intent | None = None,
        target: str | None = None,
        key: str | None = None,
        kind: str | None = None,
        about: str | None = None,
        evidence: Iterable[str | Quote] = (),
        confidence: float | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Proposal:
        """Ask a person for a change; nothing changes until a person approves it.

        Args:
            text: The statement as it should be; left out to propose that the target is forgotten.
            intent: ``add``, ``update``, ``delete`` or ``noop``; by default it follows from the
                text and the target.
            target: The record that the proposal is about.
            key: For an addition: the key that the record would hold.
            kind: The record's kind.
            about: The person, project or thing that the statement is about.
            evidence: Ids of episodes and records that it rests on, or a ``Quote`` of an episode.
            confidence: How sure the proposer is, from 0 to 1.
            reason: Why, for the person who decides.
            idempotency_key: The same key with the same call again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Raises:
            InvalidInput: Text, target and intent do not fit together.
            NotFound: This handle does not see the target.
        """
        return await self._run(
            self._calls.propose,
            text,
            intent=intent,
            target=target,
            key=key,
            kind=kind,
            about=about,
            evidence=evidence,
            confidence=confidence,
            reason=reason,
            idempotency_key=idempotency_key,
            expect=expect,
        )

    async def list(self, *, limit: int = 100, after: int = 0) -> List[Proposal]:
        """What waits for a person, the longest first.

        Args:
            limit: At most this many, up to 1,000.
            after: The ``seq`` of the last of the page before.
        """
        return await self._run(self._calls.list, limit=limit, after=after)

    async def show(self, id: str) -> Proposal:
        """One proposal or record, waiting or decided; an agent's record can be confirmed too.

        Args:
            id: The id of the proposal, or of the record.

        Raises:
            NotFound: This handle sees no proposal and no record with that id.
        """
        return await self._run(self._calls.show, id)

    async def approve(
        self,
        id: str,
        digest: str,
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Proposal:
        """Let a proposal or a held record in; it has a person's trust then.

        Args:
            id: The id of the proposal, or of the record.
            digest: The ``digest`` of what was shown.
            reason: Why, for people who read the history.
            idempotency_key: The same key with the same call again does nothing more.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Raises:
            Forbidden: This handle has less than a person's trust.
            Conflict: It changed since it was shown, or was decided already.
        """
        return await self._run(
            self._calls.approve,
            id,
            digest,
            reason=reason,
            idempotency_key=idempotency_key,
            expect=expect,
        )

    async def reject(
        self,
        id: str,
        digest: str,
        reason: str | None = None,
        *,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Proposal:
        """Turn a proposal or a held record down.

        Args:
            id: The id of the proposal, or of the record.
            digest: The ``digest`` of what was shown.
            reason: Why, for people who read the history.
            idempotency_key: The same key with the same call again does nothing more.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Raises:
            Forbidden: This handle has less than a person's trust.
            Conflict: It changed since it was shown, or was decided already.
        """
        return await self._run(
            self._calls.reject, id, digest, reason, idempotency_key=idempotency_key, expect=expect
        )

    async def withdraw(
        self,
        id: str,
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Proposal:
        """Take a proposal back.

        Args:
            id: The proposal.
            reason: Why, for people who read the history.
            idempotency_key: The same key with the same call again does nothing more.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Raises:
            NotFound: This handle sees no such proposal.
            Forbidden: It was made with more trust than this handle has.
        """
        return await self._run(
            self._calls.withdraw, id, reason=reason, idempotency_key=idempotency_key, expect=expect
        )

    async def erase(
        self,
        id: str,
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Erasure:
        """Remove every byte of a proposal, for good; what it was about or has made stays.

        Args:
            id: The proposal.
            reason: Why; it stays in the ledger, so it should not repeat what is erased.
            idempotency_key: The same key with the same call again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Raises:
            NotFound: This handle sees no such proposal.
            Forbidden: The handle has less than a person's trust.
        """
        return await self._run(
            self._calls.erase, id, reason=reason, idempotency_key=idempotency_key, expect=expect
        )
