"""The calls of a memory that write.

Responsible for the public signatures of writing and for what each call returns. Leaves checking
arguments to ``memory.handle.acts`` and deciding to ``lifecycle``. Invariant: a call that returns
has reached the disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta

from msgspec import UNSET, UnsetType

from recollect.lifecycle.commands import Act, Expect, Retract
from recollect.memory.batch import Batch
from recollect.memory.handle import answers
from recollect.memory.handle.handle import Calls
from recollect.memory.handle.healed import heals
from recollect.model import validate
from recollect.model.events import Role, SourceType
from recollect.model.instants import Moment
from recollect.model.messages import Content
from recollect.model.validate import Json
from recollect.model.values import Episode, Forgotten, Quote, Record
from recollect.model.words import Sources


@heals
class Writing(Calls):
    """Remember, observe, revise, forget."""

    def remember(
        self,
        text: str,
        *,
        key: str | None = None,
        about: str | None = None,
        kind: str | None = None,
        tags: Iterable[str] | None = None,
        data: Mapping[str, Json] | None = None,
        confidence: float | None = None,
        evidence: Iterable[str | Quote] = (),
        expires: Moment | timedelta | None = None,
        said_at: Moment | None = None,
        valid_from: Moment | None = None,
        valid_to: Moment | None = None,
        how_known: SourceType | None = None,
        is_hypothesis: bool | None = None,
        replaces: str | None = None,
        reason: str | None = None,
        id: str | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Record:
        """Store a statement as a record.

        Saying an active sentence again reinforces the record that holds it.

        With ``replaces`` the record takes the place of an old one, because something changed. The
        old record is archived: default reads leave it out, its history stays, and ``undo`` takes
        the change back. ``revise`` corrects a record in place instead.

        Args:
            text: One self-contained statement, up to 1 MiB.
            key: A name for what the statement answers, such as ``db.port``. A new record under a
                key replaces the record that held the key.
            about: The person, project or thing that the statement is about.
            kind: A word such as ``fact``, ``preference`` or ``decision``; ``fact`` by default.
            tags: Words to group and filter by, at most 64; none by default.
            data: A JSON object of your own, up to 256 KiB.
            confidence: How sure the writer is, from 0 to 1; 0.7 by default.
            evidence: Ids of episodes and records that the statement rests on, or references to
                elsewhere such as a URL. Trust is the least of all that is named. A name that
                matches nothing here is kept as a reference; ``why`` lists it in
                ``other_evidence``. ``Quote(episode, "words")`` names an episode and words that
                occur in it; an agent replaces a person's record only with a person's words.
            expires: When the record stops showing: an instant, or a span from now.
            said_at: When it was said, if not now: for notes that are brought in later. The order of
                calls, not this, decides which record a key holds.
            valid_from: From when the statement is true; always by default.
            valid_to: Until when the statement is true; always by default.
            how_known: How the statement came to be known; ``told`` by default.
            is_hypothesis: True if the statement is a guess that is still to be tested.
            replaces: A record that does not hold any more. The new one has the key, ``about``,
                kind, tags, data, decay tier and user of the old one, unless they are given.
            reason: Why that record is replaced, for people who read the history.
            id: An id of your own; one is made by default.
            idempotency_key: The same key with the same call again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Returns:
            The record. Its ``status`` is ``waiting`` if it waits for a person's review. If this
            handle may not replace a record at once, the old record as it is, with ``pending``: the
            proposal that waits for ``recollect review``.

        Raises:
            InvalidInput: An argument is not valid, or a quote does not occur in its episode.
            Conflict: The id is taken, or the idempotency key was used for another call. The record
                in ``replaces`` says this already, or does not hold: it was replaced, is forgotten
                or waits for a review.
            NotFound: This handle sees no record with the id in ``replaces``.
            Forbidden: A person replaces a record and names unverified evidence.
        """
        act = self._handle.acts.remember(
            text,
            {
                "key": key,
                "about": about,
                "kind": kind,
                "tags": tags,
                "data": data,
                "confidence": confidence,
                "evidence": evidence,
                "expires": expires,
                "said_at": said_at,
                "valid_from": valid_from,
                "valid_to": valid_to,
                "how_known": how_known,
                "is_hypothesis": is_hypothesis,
                "replaces": replaces,
                "reason": reason,
                "id": id,
            },
            files=self._handle.files,
        )
        answer = answers.record if act.files is UNSET else answers.superseding(act.text)
        return self._handle.write((act,), answer, idempotency_key, expect)

    def observe(
        self,
        content: Content,
        *,
        role: Role = "user",
        session: str | None = None,
        said_at: Moment | None = None,
        metadata: Mapping[str, Json] | None = None,
        id: str | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> list[Episode]:
        """Store what was seen or said, verbatim, as episodes.

        Args:
            content: A text, one message, or several messages with ``role`` and ``content``. A
                message may have its own ``id`` and ``said_at``.
            role: Who said the text; messages name their own.
            session: The conversation it belongs to; this handle's session by default.
            said_at: When it was said; now by default.
            metadata: A JSON object of your own, up to 256 KiB.
            id: An id of your own, for one message.
            idempotency_key: The same key with the same call again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Returns:
            An episode for each message that has text, in order.

        Raises:
            InvalidInput: The content has no text, or an argument is not valid.
            Conflict: The id is taken, or the idempotency key was used for another call.
        """
        made = self._handle.acts.observe(
            content, role=role, session=session, said_at=said_at, metadata=metadata, id=id
        )
        return self._handle.write(tuple(made), answers.episodes, idempotency_key, expect)

    def revise(
        self,
        id: str,
        text: str | None = None,
        *,
        reason: str | None = None,
        evidence: Iterable[str | Quote] = (),
        tags: Iterable[str] = (),
        untag: Iterable[str] = (),
        data: Mapping[str, Json] | None = None,
        expires: Moment | timedelta | None | UnsetType = UNSET,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Record:
        """Correct a record or change its tags; the old text stays in its history only.

        Args:
            id: The record.
            text: The statement as it should be; kept as it is by default.
            reason: Why, for people who read the history.
            evidence: Ids, references or quotes that the correction rests on, as in ``remember``.
                An agent corrects a person's record only with a ``Quote`` of what a person said
                after that record, with a word that the correction adds.
            tags: Tags to add; the others stay.
            untag: Tags to remove.
            data: Replaces the record's data; kept as it is by default.
            expires: A new end, or None for no end; kept as it is by default.
            idempotency_key: The same key with the same call again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Returns:
            The corrected record. If this handle may not correct it at once, the record as it is,
            with ``pending``: the proposal that waits for ``recollect review``.

        Raises:
            NotFound: This handle sees no record with that id.
            InvalidInput: An argument is not valid, a quote does not occur in its episode, or
                nothing to change was given.
            Forbidden: A person names unverified evidence, or an agent changes the tags of a
                person's record.
        """
        made = self._handle.acts.change(
            id,
            text,
            reason=reason,
            evidence=evidence,
            tags=tags,
            untag=untag,
            data=data,
            expires=expires,
            files=self._handle.files,
        )
        answer = answers.revised(text) if self._handle.files else answers.record
        return self._handle.write(made, answer, idempotency_key, expect)

    def forget(
        self,
        id: str,
        *,
        derived: bool = False,
        sources: Sources | None = None,
        reason: str | None = None,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Forgotten:
        """Take a record or an episode out of default reads; ``undo`` brings it back.

        With ``derived`` everything that was derived from it goes as well: what names it as evidence
        or has a link ``derived_from`` to it, at any distance. Afterwards the memory is as if none
        of that had been written: a record that was revised because of it says what it said before,
        and what was replaced has its key again. Trust is not raised by it: what was lowered waits
        for a review. ``undo(forgotten.seq)`` brings all of it back, ``undo(id)`` only the source.

        Args:
            id: The record or episode.
            derived: Also take back what was derived from it.
            sources: ``hide``, the default, also hides episodes that were evidence for nothing
                else; ``keep`` leaves them, and ``derived`` always does.
            reason: Why, for people who read the history; not with ``derived``.
            dry_run: Only return what ``derived`` would take back.
            idempotency_key: The same key with the same call again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Returns:
            What was forgotten, and which of its sources still show. If this handle may not forget
            the record at once, ``pending`` is the proposal that waits for ``recollect review``.

        Raises:
            NotFound: This handle sees nothing with that id.
            InvalidInput: An argument is not valid, or does not fit with ``derived``.
            Forbidden: The episode was said with more trust than this handle has, or some of what
                was derived has more, or is another user's.
            LimitExceeded: More than 1,000 records are derived from it.
        """
        if validate.flag(dry_run, "dry_run") or validate.flag(derived, "derived"):
            from recollect.memory.correction import derived as of_all  # most forget one thing

            name = of_all.checked(id, derived, sources, reason)
            if dry_run:
                return of_all.would_retract(self._handle, name)
            act: Act = Retract(id=name)
            return self._handle.write((act,), of_all.retracted, idempotency_key, expect)
        how = "hide" if sources is None else sources
        act = self._handle.acts.forget(id, how, reason, files=self._handle.files)
        return self._handle.write((act,), answers.forgotten, idempotency_key, expect)

    def batch(self, *, idempotency_key: str | None = None, expect: Expect | None = None) -> Batch:
        """Several writes that happen together or not at all, with one fsync.

        Use it as ``with memory.batch() as batch:``; nothing is written if the block raises.

        Args:
            idempotency_key: The same key with the same writes again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.
        """
        return Batch(
            self._handle.acts,
            lambda made: self._handle.write(made, answers.unmade, idempotency_key, expect),
        )
