"""The calls of a memory that write.

Responsible for the public signatures of writing and for what each call returns. Leaves checking
arguments to ``memory.handle.acts`` and deciding to ``lifecycle``. Invariant: a call that returns
has reached the disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta

from msgspec import UNSET, UnsetType

from recollect.lifecycle.commands import Expect
from recollect.memory.batch import Batch
from recollect.memory.handle import acts, answers
from recollect.memory.handle.handle import Calls
from recollect.memory.handle.healed import heals
from recollect.model.events import Role, Sources, SourceType
from recollect.model.instants import Moment
from recollect.model.messages import Content
from recollect.model.validate import Json
from recollect.model.values import Episode, Forgotten, Quote, Record


@heals
class Writing(Calls):
    """Remember, observe, revise, forget, restore, tag, link."""

    def remember(
        self,
        text: str,
        *,
        key: str | None = None,
        about: str | None = None,
        kind: str | None = None,
        tags: Iterable[str] = (),
        data: Mapping[str, Json] | None = None,
        confidence: float | None = None,
        evidence: Iterable[str | Quote] = (),
        expires: Moment | timedelta | None = None,
        said_at: Moment | None = None,
        valid_from: Moment | None = None,
        valid_to: Moment | None = None,
        source_type: SourceType | None = None,
        is_hypothesis: bool | None = None,
        supersedes: str | None = None,
        id: str | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Record:
        """Store a statement as a record.

        Saying an active sentence again reinforces the record that holds it.

        Args:
            text: One self-contained statement, up to 1 MiB.
            key: A name for what the statement answers, such as ``db.port``. A new record under a
                key supersedes the record that held the key.
            about: The person, project or thing that the statement is about.
            kind: A word such as ``fact``, ``preference`` or ``decision``; ``fact`` by default.
            tags: Words to group and filter by, at most 64.
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
            source_type: How the statement came to be known; ``told`` by default.
            is_hypothesis: True if the statement is a guess that is still to be tested.
            supersedes: A record whose place this one takes, as with ``supersede``.
            id: An id of your own; one is made by default.
            idempotency_key: The same key with the same call again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Returns:
            The record. Its ``status`` is ``held`` if it waits for a person's review.

        Raises:
            InvalidInput: An argument is not valid, or a quote does not occur in its episode.
            Conflict: The id is taken, or the idempotency key was used for another call.
            NotFound: This handle sees no record with the id in ``supersedes``.
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
                "source_type": source_type,
                "is_hypothesis": is_hypothesis,
                "supersedes": supersedes,
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
        data: Mapping[str, Json] | None = None,
        expires: Moment | timedelta | None | UnsetType = UNSET,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Record:
        """Correct a record; the old text stays in its history only.

        Args:
            id: The record.
            text: The statement as it should be; kept as it is by default.
            reason: Why, for people who read the history.
            evidence: Ids, references or quotes that the correction rests on, as in ``remember``.
                An agent corrects a person's record only with a ``Quote`` of what a person said
                after that record, with a word that the correction adds.
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
                neither text, evidence, data nor ``expires`` was given.
            Forbidden: A person names unverified evidence.
        """
        act = self._handle.acts.revise(
            id,
            text,
            reason=reason,
            evidence=evidence,
            data=data,
            expires=expires,
            files=self._handle.files,
        )
        answer = answers.revised(text) if self._handle.files else answers.record
        return self._handle.write((act,), answer, idempotency_key, expect)

    def forget(
        self,
        id: str,
        *,
        sources: Sources = "shadow",
        reason: str | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Forgotten:
        """Take a record or an episode out of default reads; ``restore`` brings it back.

        Args:
            id: The record or episode.
            sources: ``shadow`` also hides episodes that were evidence for nothing else; ``keep``
                leaves them.
            reason: Why, for people who read the history.
            idempotency_key: The same key with the same call again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Returns:
            What was forgotten, and which of its sources still show. If this handle may not forget
            the record at once, ``pending`` is the proposal that waits for ``recollect review``.

        Raises:
            NotFound: This handle sees nothing with that id.
            Forbidden: The episode was said with more trust than this handle has.
        """
        act = self._handle.acts.forget(id, sources, reason, files=self._handle.files)
        return self._handle.write((act,), answers.forgotten, idempotency_key, expect)

    def restore(
        self, id: str, *, idempotency_key: str | None = None, expect: Expect | None = None
    ) -> Record | Episode:
        """Undo a forgetting, or bring an archived record back.

        Args:
            id: The record or episode.
            idempotency_key: The same key with the same call again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Raises:
            NotFound: This handle sees nothing with that id.
            Conflict: Another record holds the key now.
        """
        return self._handle.write((acts.restore(id),), answers.subject, idempotency_key, expect)

    def tag(
        self,
        id: str,
        *add: str,
        remove: Iterable[str] = (),
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Record:
        """Add tags to a record, or remove them.

        Args:
            id: The record.
            add: Tags to add.
            remove: Tags to remove.
            idempotency_key: The same key with the same call again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Raises:
            NotFound: This handle sees no record with that id.
        """
        return self._handle.write(
            (acts.tag(id, add, remove),), answers.record, idempotency_key, expect
        )

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
