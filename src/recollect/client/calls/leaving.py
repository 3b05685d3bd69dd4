"""The calls of ``memory.leaving`` as requests; ``make async`` writes it.

Responsible for one request for each call there. Leaves sending to ``client.asking``. Invariant:
signatures and documentation are the same.
"""

from __future__ import annotations

from recollect.client.asking import Calls
from recollect.client.kinds import Expect, Progress, Who
from recollect.model.instants import Moment
from recollect.model.values import Erasure, Record, Undone


class Leaving(Calls):
    """Revert, undo, erase, retain."""

    def revert(
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
        answer: Record = self._do(
            "revert", Record, {"id": id, "to": to}, idempotency_key=idempotency_key, expect=expect
        )
        return answer

    def undo(
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
        answer: Undone = self._do(
            "undo",
            Undone,
            {"id": id, "dry_run": dry_run},
            idempotency_key=idempotency_key,
            expect=expect,
            flags=("dry_run",),
        )
        return answer

    def subjects(self) -> Who | None:
        """Whose memory is encrypted under a key of its own: ``users``, ``named`` or None."""
        answer: Who | None = self._do("subjects", Who | None, {}, inside="who")
        return answer

    def set_subjects(
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
        self._do("set_subjects", None, {"who": who}, idempotency_key=idempotency_key, expect=expect)

    def retention(self) -> int | None:
        """For how many days expired records are kept; None if ``retain`` erases nothing.

        Only what a person set counts: an agent does not decide what is erased.
        """
        answer: int | None = self._do("retention", int | None, {}, inside="days")
        return answer

    def set_retention(
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
        self._do(
            "set_retention", None, {"days": days}, idempotency_key=idempotency_key, expect=expect
        )

    def retain(
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
        answer: Erasure = self._do(
            "retain",
            Erasure,
            {"dry_run": dry_run},
            idempotency_key=idempotency_key,
            expect=expect,
            flags=("dry_run",),
        )
        return answer
