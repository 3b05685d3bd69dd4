"""``memory.review``: everything that waits for a person, in one queue.

Responsible for listing proposals and waiting records alike, and for deciding them. Leaves what an
approval changes to ``lifecycle.proposals``. Invariant: an approval is of exactly what was shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, cast

from recollect.errors import InvalidInput
from recollect.index.proposals import ProposalRow, unpack_spans
from recollect.index.reads import Reads
from recollect.index.rows import EpisodeRow, VersionRow, unpack_names, unpack_object
from recollect.index.statements import STILL
from recollect.index.values import episode_status, record_of
from recollect.lifecycle.commands import Erase, Expect, Propose, Withdraw
from recollect.lifecycle.filed import LIVE, is_stale
from recollect.lifecycle.proposals.proposals import digest_of, displaced, no_proposal
from recollect.lifecycle.retraction.closure import resting_on
from recollect.memory.handle.acts import Acts
from recollect.memory.handle.answers import left_by, settled
from recollect.memory.handle.authors import Authors
from recollect.memory.handle.fields import evidence as checked_evidence
from recollect.memory.handle.handle import Calls
from recollect.memory.handle.healed import compares, heals
from recollect.model import limits, validate
from recollect.model.events import NOTED, Intent
from recollect.model.rules import is_visible
from recollect.model.values import (
    Erasure,
    Proposal,
    Quote,
    Quoted,
    Record,
    Scope,
    State,
    Suggestion,
)
from recollect.model.words import changes_of
from recollect.store.port import Outcome

# What a waiting record says beside its text: a person who lets it in lets this in too.
_BESIDE: Final = (
    "said_at",
    "expires",
    "valid_from",
    "valid_to",
    "tags",
    "data",
    "decay_tier",
    "how_known",
    "is_hypothesis",
    *NOTED,
)
_RESTING_MAX_COUNT: Final = 20
List = list  # ``list`` is also the name of a call


@compares
@heals
class Review(Calls):
    """Propose a change, approve or reject what waits, and confirm or refute a hypothesis.

    Two things wait in the queue: proposals, and records that are not trusted
    or would replace something that is. Anyone may propose; only a person approves or rejects.
    """

    def propose(
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
        act = proposal_act(
            self._handle.acts,
            Suggestion(
                intent=intent or _intent(text, target),
                quotes=(),
                text=text,
                target=target,
                key=key,
                kind=kind,
                about=about,
                confidence=confidence,
                reason=reason,
            ),
            evidence,
        )
        return self._handle.write((act,), self._answer, idempotency_key, expect)

    def list(self, *, limit: int = 100, after: int = 0) -> List[Proposal]:
        """What waits for a person, the longest first.

        Args:
            limit: At most this many, up to 1,000.
            after: The ``seq`` of the last of the page before.
        """
        limit = validate.count(limit, "limit", at_most=limits.LIST_MAX_WAITING)
        after = validate.position(after, "after")
        with self._handle.reading() as reads:
            found = reads.waiting(self._handle.actor.user, after, limit)
            rows = (
                reads.proposal(id) if unit == "proposal" else reads.version(id)
                for unit, id, _ in found
            )
            return [_proposal_of(reads, row) for row in rows if row is not None]

    def show(self, id: str) -> Proposal:
        """One proposal or record, waiting or decided; an agent's record can be confirmed too.

        Args:
            id: The id of the proposal, or of the record.

        Raises:
            NotFound: This handle sees no proposal and no record with that id.
        """
        id = validate.reference(id)
        with self._handle.reading() as reads:
            return _proposal_of(reads, self._row(reads, id))

    def approve(
        self,
        id: str,
        digest: str,
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Proposal:
        """Let a proposal or a waiting record in; it has a person's trust then.

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
        act = self._handle.acts.review(id, "approved", digest, reason)
        return self._handle.write((act,), self._answer, idempotency_key, expect)

    def reject(
        self,
        id: str,
        digest: str,
        reason: str | None = None,
        *,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Proposal:
        """Turn a proposal or a waiting record down.

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
        act = self._handle.acts.review(id, "rejected", digest, reason)
        return self._handle.write((act,), self._answer, idempotency_key, expect)

    def confirm(
        self,
        id: str,
        *,
        evidence: Iterable[str | Quote] = (),
        reason: str | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Record:
        """Say that a hypothesis holds.

        It is a statement from now on, with this evidence added; its trust is at most that of the
        evidence. ``approve`` is for what waits instead.

        Args:
            id: The record, which was remembered with ``is_hypothesis=True``.
            evidence: Ids, references or quotes that show it, as in ``remember``.
            reason: Why, for people who read the history.
            idempotency_key: The same key with the same call again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Returns:
            The record. If this handle may not confirm it at once, the record as it is, with
            ``pending``: the proposal that waits for ``recollect review``.

        Raises:
            NotFound: This handle sees no record with that id.
            Conflict: It is not a hypothesis, or does not hold any more.
            Forbidden: A person names unverified evidence.
        """
        files = self._handle.files
        act = self._handle.acts.settle(id, True, evidence=evidence, reason=reason, files=files)
        return self._handle.write((act,), settled(True), idempotency_key, expect)

    def refute(
        self,
        id: str,
        *,
        evidence: Iterable[str | Quote] = (),
        reason: str | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Record:
        """Say that a hypothesis does not hold.

        It is archived, and ``undo`` brings it back. ``reject`` is for what waits instead.

        Args:
            id: The record, which was remembered with ``is_hypothesis=True``.
            evidence: Ids, references or quotes that show it, as in ``remember``.
            reason: Why, for people who read the history.
            idempotency_key: The same key with the same call again returns the first outcome.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Returns:
            The record. If this handle may not refute it at once, the record as it is, with
            ``pending``: the proposal that waits for ``recollect review``.

        Raises:
            NotFound: This handle sees no record with that id.
            Conflict: It is not a hypothesis, or does not hold any more.
            Forbidden: A person names unverified evidence.
        """
        files = self._handle.files
        act = self._handle.acts.settle(id, False, evidence=evidence, reason=reason, files=files)
        return self._handle.write((act,), settled(False), idempotency_key, expect)

    def withdraw(
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
        act = Withdraw(id=validate.reference(id), reason=validate.reason(reason))
        return self._handle.write((act,), self._answer, idempotency_key, expect)

    def erase(
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
        from recollect.memory.erasure.erasure import cleaned, erased

        act = Erase(id=validate.reference(id), what="proposal", reason=validate.reason(reason))
        seq, events = self._handle.write((act,), erased, idempotency_key, expect)
        places = cleaned(self._handle)
        return Erasure(id=id, seq=seq, events=events, episodes=(), kept=(), places=places)

    def _answer(self, reads: Reads, outcome: Outcome) -> Proposal:
        at = left_by(outcome, reads)
        return _proposal_of(at, self._row(at, outcome.subjects[-1]))

    def _row(self, reads: Reads, id: str) -> ProposalRow | VersionRow:
        for row in (reads.proposal(id), reads.version(id)):
            if row is not None and is_visible(self._handle.actor.user, row.user):
                return row
        raise no_proposal(id)


def proposal_act(
    acts: Acts, wanted: Suggestion, evidence: Iterable[str | Quote], rule: str | None = None
) -> Propose:
    """The checked act of a proposal, made by a caller or by a rule."""
    target, text, confidence = wanted.target, wanted.text, wanted.confidence
    fields = {
        "target": None if target is None else validate.reference(target),
        "text": None if text is None else validate.text(text),
        "key": validate.optional_name(wanted.key, "key"),
        "kind": validate.optional_name(wanted.kind, "kind"),
        "about": validate.optional_name(wanted.about, "about"),
        **checked_evidence(evidence),
        "rule": rule,
        "confidence": None if confidence is None else validate.fraction(confidence, "confidence"),
        "reason": validate.reason(wanted.reason),
    }
    _check_fit(wanted.intent, text, target, wanted.key)
    return acts.propose(wanted.intent, fields)


def _intent(text: str | None, target: str | None) -> Intent:
    """What a proposal with these two means."""
    if target is None:
        return "add"
    return "delete" if text is None else "update"


def _check_fit(intent: Intent, text: str | None, target: str | None, key: str | None) -> None:
    if (intent in ("add", "update")) != (text is not None):
        what = "needs" if text is None else "does not take"
        raise InvalidInput(f"a proposal to {intent} {what} a text")
    if intent != "add" and key is not None:
        raise InvalidInput(f"a proposal to {intent} does not take a key")
    if (intent == "add") != (target is None):
        what = "needs" if target is None else "does not take"
        hint = "an addition with a key replaces its holder" if intent == "add" else None
        raise InvalidInput(f"a proposal to {intent} {what} a target", hint=hint)


def _proposal_of(reads: Reads, row: ProposalRow | VersionRow) -> Proposal:
    return _of_proposal(reads, row) if isinstance(row, ProposalRow) else _of_record(reads, row)


def _of_proposal(reads: Reads, row: ProposalRow) -> Proposal:
    target = reads.version(row.target) if row.target else None
    target = target if target and target.user == row.user else None  # else it is forged
    waits = row.until == STILL
    author, decided_by = Authors(reads).of_all((row.seq, row.seq if waits else row.until))
    return Proposal(
        id=row.id,
        unit="proposal",
        intent=row.intent,
        state=cast(State, "waiting" if waits else row.outcome),
        text=row.text,
        target=row.target,
        before=None if target is None else record_of(target),
        resting=() if target is None else tuple(_resting(reads, target)),
        key=row.key,
        kind=row.kind,
        about=row.about,
        evidence=unpack_names(row.evidence),
        quotes=tuple(_quotes(reads, row)),
        rule=row.rule,
        confidence=row.confidence,
        reason=row.reason,
        changes=changes_of(unpack_object(row.changes)),
        trust=row.trust,
        by=row.origin,
        scope=Scope(user=row.user, session=row.session, agent=row.agent),
        stale=waits and is_stale(reads, row),
        digest=digest_of(row),
        at=row.at,
        seq=row.seq,
        record=row.record,
        closed_by=row.settled_by,
        closed_at=row.settled_at,
        note=row.note,
        author=author,
        decided_by=None if waits else decided_by,
    )


def _of_record(reads: Reads, row: VersionRow) -> Proposal:
    """A waiting record, as the addition or update that it would be."""
    target = displaced(reads, row)
    reviewed, record = row.what == "reviewed", record_of(row)
    authors = Authors(reads)
    return Proposal(
        id=row.id,
        unit="record",
        intent="add" if target is None else "update",
        state=_state(row),
        text=row.text,
        target=None if target is None else target.id,
        before=None if target is None else record_of(target),
        resting=() if target is None else tuple(_resting(reads, target)),
        key=row.key,
        kind=row.kind,
        about=row.about,
        evidence=unpack_names(row.evidence),
        quotes=tuple(_quotes(reads, row)),
        rule=None,
        confidence=row.confidence,
        reason=None,
        changes={
            name: value
            for name in _BESIDE
            if (value := getattr(record, name)) not in (None, (), {}, False, "standard", "told")
        },
        trust=row.trust,
        by=row.origin,
        scope=Scope(user=row.user, session=row.session, agent=row.agent),
        stale=False,
        digest=digest_of(row, target),
        at=row.at,
        seq=row.seq,
        record=row.id,
        closed_by=row.origin if reviewed else None,
        closed_at=row.at if reviewed else None,
        note=row.note if reviewed else None,
        author=authors.of(row.text_seq),
        decided_by=authors.of(row.seq) if reviewed else None,
    )


def _resting(reads: Reads, target: VersionRow) -> Iterator[Record]:
    """The first records that were derived directly from a record, and hold."""
    rows = (row for row in resting_on(reads, target) if row.status in LIVE)
    seen = (record_of(row) for row in rows if is_visible(target.user, row.user))
    return islice(seen, _RESTING_MAX_COUNT)


def _state(row: VersionRow) -> State:
    if row.status == "held":
        return "waiting"
    return "rejected" if row.reason == "rejected" else "approved"


def _quotes(reads: Reads, row: ProposalRow | VersionRow) -> Iterator[Quoted]:
    """What a proposal rests on: the quoted words, and every other episode whole.

    Only what the user of the row can see: any id may be named as evidence.
    """
    quoted: set[str] = set()
    for seq, start, end in unpack_spans(row.spans) if isinstance(row, ProposalRow) else ():
        episode = reads.by_event(seq)
        if isinstance(episode, EpisodeRow) and is_visible(row.user, episode.user):
            quoted.add(episode.id)
            yield _quoted(episode, episode.text[start:end])
    for name in unpack_names(row.evidence):
        episode = None if name in quoted else reads.episode(name)
        if episode is not None and is_visible(row.user, episode.user):
            yield _quoted(episode, episode.text)


def _quoted(episode: EpisodeRow, words: str) -> Quoted:
    return Quoted(
        episode=episode.id,
        words=words,
        role=episode.role,
        said_at=episode.said_at,
        trust=episode.trust,
        status=episode_status(episode),
    )
