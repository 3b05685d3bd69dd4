"""The calls of ``memory.leaving``, async; ``make async`` writes this module.

Responsible for one call in a worker thread for each call there. Leaves everything else to the plain
memory. Invariant: signatures and documentation are the same.
"""

from __future__ import annotations

from recollect.aio.workers import AsyncCalls
from recollect.lifecycle.commands import Expect
from recollect.memory.memory import Memory
from recollect.model.instants import Moment
from recollect.model.values import Erasure, Record, Undone, Unit
from recollect.store.port import Progress
from recollect.store.subjects import Who


class AsyncLeaving(AsyncCalls[Memory]):
    """Revert, undo, erase, retain."""

    async def revert(
        self,
        id: str,
        *,
        to: int | Moment | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Record:
        """Bring back what held before: an earlier version, or the record that was superseded.

        The version is written again, so the history shows both. A record that holds the key
        instead is superseded, in the same command. Trust is never raised: a version comes back
        with at most the trust that its record has now.

        Args:
            id: The record, or its key.
            to: The ``seq`` of an earlier version, as ``history`` lists it, or an instant: what
                held then comes back. By default the last version that said something else.
            idempotency_key: The same key with the same call again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Returns:
            The record that holds again.

        Raises:
            NotFound: This handle sees no record with that id.
            Conflict: Nothing came before, or what came before was erased.
            Forbidden: An agent reverts a person's record, or takes back a person's change.
        """
        return await self._run(
            self._calls.revert, id, to=to, idempotency_key=idempotency_key, expect=expect
        )

    async def undo(
        self,
        id: str | None = None,
        *,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Undone:
        """Take back the last command, in one command; an undo can be undone in the same way.

        Records, episodes, links, tags, frames and documents are again as they were before that
        command. Receipts, reinforcements and sessions stay, and so does what was said in a
        session, unless its id is given. An erasure cannot be taken back.

        Args:
            id: Take back the last change of this record or episode instead.
            dry_run: Only return what would be taken back.
            idempotency_key: The same key with the same call again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since. By
                default the position at which the last command was found.

        Returns:
            The events of the command, and the events that took them back.

        Raises:
            NotFound: This handle sees nothing with that id.
            Conflict: There is nothing to undo, or the last command was an erasure.
            Forbidden: An agent takes back what a person wrote or did.
        """
        return await self._run(
            self._calls.undo, id, dry_run=dry_run, idempotency_key=idempotency_key, expect=expect
        )

    async def erase(
        self,
        id: str | None = None,
        *,
        key: str | None = None,
        about: str | None = None,
        user: str | None = None,
        filter: str | None = None,
        subject: str | None = None,
        author: str | None = None,
        certificate: bool = False,
        unit: Unit = "record",
        sources: bool = True,
        reason: str | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Erasure:
        """Remove every byte of records, episodes and receipts from this memory, for good.

        Exactly one of ``id``, ``key``, ``about``, ``user``, ``filter``, ``subject`` and ``author``
        says what. Much is erased in several commands. If that is interrupted, what was ordered is
        finished by the next process, and the same call again, without an idempotency key, erases
        the rest. What is written while it runs is not erased.

        Args:
            id: One record or episode.
            key: Every record that has this key: the present value and all earlier ones.
            about: Every record about this person, project or thing.
            user: Every record, episode, receipt and session of this user.
            filter: Every record that matches, in any state, such as ``created_at < '2026-01-01'``.
            subject: Everything of this user, and the key that it is encrypted with, so that
                copies elsewhere cannot be read any more. It needs a handle for the whole space.
            author: The name of who acted, or their id: the name alone; what they wrote and approved
                stays.
            certificate: Of a subject: also sign what was done, if the ledger has a key here.
            unit: ``episode`` to erase the episodes that match the filter instead.
            sources: Also erase episodes that are evidence for these records and nothing else.
            reason: Why; it stays in the ledger, so it should not repeat what is erased.
            dry_run: Only return what would be erased.
            progress: Called with the records, episodes and receipts done, and all of them.
            idempotency_key: The same key with the same call again returns the first outcome, and
                never erases more: if there is more by then, it is a ``Conflict``.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Returns:
            What was erased, the places that were cleaned, and what remains: earlier values of the
            same key, episodes that other records need, and what still names the user, the subject
            or the author in its text.

        Raises:
            NotFound: This handle sees nothing of that kind.
            InvalidInput: Not exactly one of the seven was given, or the filter cannot be parsed.
            Ambiguous: Several users have values under the key.
            Forbidden: The handle has less than a person's trust.
            Conflict: The key was used before, and there is more to erase: what an interrupted call
                left, or what was written later. Call again without the key.
        """
        return await self._run(
            self._calls.erase,
            id,
            key=key,
            about=about,
            user=user,
            filter=filter,
            subject=subject,
            author=author,
            certificate=certificate,
            unit=unit,
            sources=sources,
            reason=reason,
            dry_run=dry_run,
            progress=progress,
            idempotency_key=idempotency_key,
            expect=expect,
        )

    async def subjects(self) -> Who | None:
        """Whose memory is encrypted under a key of its own: ``users``, ``named`` or None."""
        return await self._run(self._calls.subjects)

    async def set_subjects(
        self,
        who: Who | None,
        *,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> None:
        """Set whose memory is encrypted from now on, each under a key of its own.

        It is the document ``settings/subjects``. What was written before stays as it is.

        Args:
            who: ``users`` for every user, ``named`` for those that ``scoped(subject=…)`` names;
                None to encrypt no more.
            idempotency_key: The same key with the same call again does nothing more.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Raises:
            InvalidInput: Another word was given.
            Forbidden: The handle has less than a person's trust, or is bound to one user.
        """
        await self._run(
            self._calls.set_subjects, who, idempotency_key=idempotency_key, expect=expect
        )

    async def retention(self) -> int | None:
        """For how many days expired records are kept; None if ``retain`` erases nothing.

        Only what a person set counts: an agent does not decide what is erased.
        """
        return await self._run(self._calls.retention)

    async def set_retention(
        self,
        days: int | None,
        *,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> None:
        """Set for how many days expired records are kept; nothing is erased by this.

        It is the document ``settings/retention`` with ``days``.

        Args:
            days: A number of days, 0 or more; None to keep expired records.
            idempotency_key: The same key with the same call again does nothing more.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Raises:
            InvalidInput: The number cannot be used.
            Forbidden: The handle has less than a person's trust, or is bound to one user.
        """
        await self._run(
            self._calls.set_retention, days, idempotency_key=idempotency_key, expect=expect
        )

    async def retain(
        self,
        *,
        dry_run: bool = False,
        progress: Progress | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Erasure:
        """Erase the records that expired longer ago than ``retention`` keeps them.

        Nothing calls this by itself. Without a retention nothing is erased.

        Args:
            dry_run: Only return what would be erased.
            progress: Called with the records and episodes done, and all of them.
            idempotency_key: The same key again returns the first outcome, and never erases more:
                if more has expired by then, it is a ``Conflict``.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Returns:
            What was erased; nothing if ``events`` is empty.

        Raises:
            Forbidden: The handle has less than a person's trust, or is bound to one user.
            Conflict: The key was used before, and there is more to erase by now.
        """
        return await self._run(
            self._calls.retain,
            dry_run=dry_run,
            progress=progress,
            idempotency_key=idempotency_key,
            expect=expect,
        )
