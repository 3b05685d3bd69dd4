"""The calls of a memory that supersede a record, settle a hypothesis, archive, or retract.

Responsible for their public signatures. Leaves what has faded to ``memory.correction.curating`` and
deciding to ``lifecycle``. Invariant: everything that they do can be undone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta

from recollect.lifecycle.commands import Expect, Retract
from recollect.memory.handle import answers
from recollect.memory.handle.handle import Calls
from recollect.memory.handle.healed import heals
from recollect.model import validate
from recollect.model.instants import Moment
from recollect.model.validate import Json
from recollect.model.values import Quote, Record, Retraction


@heals
class Correcting(Calls):
    """Supersede, settle, retract, curate."""

    def supersede(
        self,
        id: str,
        text: str,
        *,
        reason: str | None = None,
        key: str | None = None,
        about: str | None = None,
        kind: str | None = None,
        tags: Iterable[str] | None = None,
        data: Mapping[str, Json] | None = None,
        confidence: float | None = None,
        evidence: Iterable[str | Quote] = (),
        expires: Moment | timedelta | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Record:
        """Store a new record in the place of an old one, which stays in the history.

        For something that changed. The old record is archived as superseded: default reads leave
        it out, and its page shows it struck through. ``revise`` corrects a record in place instead.
        The new record has the key, ``about``, kind, tags, data, decay tier and user of the old one,
        unless they are given. ``undo`` takes it back.

        Args:
            id: The record that does not hold any more.
            text: The statement that holds now.
            reason: Why, for people who read the history.
            key: Another key; that of the old record by default.
            about: The person, project or thing that the statement is about.
            kind: A word such as ``fact``, ``preference`` or ``decision``.
            tags: The tags that it has in place of those of the old record.
            data: A JSON object of your own.
            confidence: How sure the writer is, from 0 to 1; 0.7 by default.
            evidence: Ids, references or quotes that the new statement rests on, as in ``remember``.
                An agent supersedes a person's record only with a ``Quote`` of what a person said
                after that record, with a word that the new statement adds.
            expires: When the new record stops showing: an instant, or a span from now.
            idempotency_key: The same key with the same call again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Returns:
            The new record. If this handle may not supersede at once, the old record as it is, with
            ``pending``: the proposal that waits for ``recollect review``.

        Raises:
            NotFound: This handle sees no record with that id.
            Conflict: The record says this already, or does not hold: it was superseded, is
                forgotten or waits for a review.
            InvalidInput: An argument is not valid, or a quote does not occur in its episode.
            Forbidden: A person names unverified evidence.
        """
        act = self._handle.acts.supersede(
            id,
            text,
            {
                "key": key,
                "about": about,
                "kind": kind,
                "data": data,
                "confidence": confidence,
                "evidence": evidence,
                "expires": expires,
            },
            reason=reason,
            tags=tags,
            files=self._handle.files,
        )
        answer = answers.superseding(act.text)
        return self._handle.write((act,), answer, idempotency_key, expect)

    def settle(
        self,
        id: str,
        holds: bool,
        *,
        evidence: Iterable[str | Quote] = (),
        reason: str | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Record:
        """Confirm a hypothesis, or refute it.

        If it holds, it is a statement from now on, with this evidence added; its trust is at most
        that of the evidence. If not, it is archived, and ``restore`` or ``undo`` brings it back.

        Args:
            id: The record, which was remembered with ``is_hypothesis=True``.
            holds: True if it turned out to hold.
            evidence: Ids, references or quotes that show it, as in ``remember``.
            reason: Why, for people who read the history.
            idempotency_key: The same key with the same call again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Returns:
            The record. If this handle may not settle it at once, the record as it is, with
            ``pending``: the proposal that waits for ``recollect review``.

        Raises:
            NotFound: This handle sees no record with that id.
            Conflict: It is not a hypothesis, or does not hold any more.
            Forbidden: A person names unverified evidence.
        """
        act = self._handle.acts.settle(
            id,
            validate.flag(holds, "holds"),
            evidence=evidence,
            reason=reason,
            files=self._handle.files,
        )
        return self._handle.write((act,), answers.settled(act.holds), idempotency_key, expect)

    def retract(
        self,
        id: str,
        *,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Retraction:
        """Take back an episode or a record, and everything that was derived from it.

        Derived is what names it as evidence or has a link ``derived_from`` to it, at any distance.
        Afterwards the memory is as if none of that had been written: a record that was revised
        because of it says what it said before, and what was superseded has its key again. Trust is
        not raised by it: what was lowered waits for a review. Nothing is erased, and ``undo``
        brings all of it back.

        Args:
            id: The episode or the record.
            dry_run: Only return what would be taken back.
            idempotency_key: The same key with the same call again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Returns:
            The records that go, and those that are back.

        Raises:
            NotFound: This handle sees nothing with that id.
            Forbidden: Some of it has more trust than this handle, or is another user's.
            LimitExceeded: More than 1,000 records are derived from it.
        """
        from recollect.memory.correction.undoing import retracted, would_retract

        name = validate.reference(id)
        if validate.flag(dry_run, "dry_run"):
            return would_retract(self._handle, name)
        return self._handle.write((Retract(id=name),), retracted, idempotency_key, expect)
