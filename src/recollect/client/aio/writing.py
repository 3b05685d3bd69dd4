"""The calls of ``memory.writing``, async; ``make async`` writes this module.

Responsible for one call in a worker thread for each call there. Leaves everything else to the plain
memory. Invariant: signatures and documentation are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta

from msgspec import UNSET, UnsetType

from recollect.client.aio.workers import AsyncCalls
from recollect.client.kinds import Act, Expect, Progress, Proposer
from recollect.client.memory import Memory
from recollect.model.events import Role, Sources, SourceType
from recollect.model.instants import Moment
from recollect.model.messages import Content
from recollect.model.validate import Json
from recollect.model.values import Episode, Forgotten, Link, Pass, Quote, Record


class AsyncWriting(AsyncCalls[Memory]):
    """Remember, observe, revise, forget, restore, tag, link."""

    async def remember(
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
        return await self._run(
            self._calls.remember,
            text,
            key=key,
            about=about,
            kind=kind,
            tags=tags,
            data=data,
            confidence=confidence,
            evidence=evidence,
            expires=expires,
            said_at=said_at,
            valid_from=valid_from,
            valid_to=valid_to,
            source_type=source_type,
            is_hypothesis=is_hypothesis,
            supersedes=supersedes,
            id=id,
            idempotency_key=idempotency_key,
            expect=expect,
        )

    async def observe(
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
        return await self._run(
            self._calls.observe,
            content,
            role=role,
            session=session,
            said_at=said_at,
            metadata=metadata,
            id=id,
            idempotency_key=idempotency_key,
            expect=expect,
        )

    async def revise(
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
        return await self._run(
            self._calls.revise,
            id,
            text,
            reason=reason,
            evidence=evidence,
            data=data,
            expires=expires,
            idempotency_key=idempotency_key,
            expect=expect,
        )

    async def forget(
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
        return await self._run(
            self._calls.forget,
            id,
            sources=sources,
            reason=reason,
            idempotency_key=idempotency_key,
            expect=expect,
        )

    async def restore(
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
        return await self._run(
            self._calls.restore, id, idempotency_key=idempotency_key, expect=expect
        )

    async def tag(
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
        return await self._run(
            self._calls.tag, id, *add, remove=remove, idempotency_key=idempotency_key, expect=expect
        )

    async def link(
        self,
        source: str,
        target: str,
        kind: str = "relates_to",
        *,
        weight: float = 1.0,
        name: str | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Link:
        """Relate two records by a typed, directed link.

        Args:
            source: The record the link starts from.
            target: The record it points to.
            kind: A word such as ``contradicts``, ``derived_from`` or ``relates_to``.
            weight: How strong the relation is, from 0 to 1.
            name: What another system calls the link, such as its id there. Without one a link
                keeps the name that it has.
            idempotency_key: The same key with the same call again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Raises:
            NotFound: This handle does not see one of the two records.
        """
        return await self._run(
            self._calls.link,
            source,
            target,
            kind,
            weight=weight,
            name=name,
            idempotency_key=idempotency_key,
            expect=expect,
        )

    async def unlink(
        self,
        source: str,
        target: str,
        kind: str = "relates_to",
        *,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> None:
        """End a relation.

        Args:
            source: The record the link starts from.
            target: The record it points to.
            kind: The link's kind.
            idempotency_key: The same key with the same call again does nothing more.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Raises:
            NotFound: The link does not exist.
        """
        await self._run(
            self._calls.unlink, source, target, kind, idempotency_key=idempotency_key, expect=expect
        )

    async def consolidate(
        self,
        rule: str,
        *,
        dry_run: bool = False,
        limit: int | None = None,
        proposer: Proposer | None = None,
        progress: Progress | None = None,
    ) -> Pass:
        """Run a rule: make records and proposals of the episodes that it has not looked at.

        Episodes are taken in the order of the ledger. What the trust of this handle, of the rule
        and of the episode allows is done at once; the rest waits in ``memory.review``. An episode
        that cannot be used is reported and skipped. A pass that was stopped goes on where it was.

        Args:
            rule: The name of the rule.
            dry_run: Write nothing; each episode is judged as if it was the only one.
            limit: Look at so many matching episodes at most.
            proposer: For a rule that was set with ``propose``: a function, or ``ChatProposer``,
                that says what the episodes change.
            progress: Called with the events done and the events in all.

        Returns:
            What was done, what waits, and what was skipped and why.

        Raises:
            NotFound: The rule does not exist.
            InvalidInput: The rule asks a proposer and none was given, or the other way round.
            Forbidden: The rule was set with more trust than this handle has.
            Conflict: The rule was changed, or run by another process, meanwhile.
            Unavailable: The proposer did not answer; what was filed before stays.
        """
        return await self._run(
            self._calls.consolidate,
            rule,
            dry_run=dry_run,
            limit=limit,
            proposer=proposer,
            progress=progress,
        )

    async def submit(
        self, *made: Act, idempotency_key: str | None = None, expect: Expect | None = None
    ) -> None:
        """Submit acts that happen together or not at all, for APIs with words of their own."""
        await self._run(self._calls.submit, *made, idempotency_key=idempotency_key, expect=expect)
