"""``memory.branches``: named lines of proposals, compared, merged or given up.

Responsible for opening, showing and closing branches. Leaves who may to
``lifecycle.branches.branches`` and reads and writes on a branch to ``memory.handle.on_branch``.
Invariant: a merge is of exactly what was shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from recollect.errors import InvalidInput
from recollect.index.branches import BranchRow
from recollect.index.proposals import ProposalRow
from recollect.index.reads import Reads
from recollect.index.rows import unpack_object
from recollect.index.statements import STILL
from recollect.index.values import record_of
from recollect.lifecycle.branches.branch_names import branch_known, changes_on, made_by, subject_of
from recollect.lifecycle.branches.branches import digest_of_diff, other_side
from recollect.lifecycle.commands import Erase, Expect
from recollect.lifecycle.filed import is_stale
from recollect.memory.handle.answers import left_by
from recollect.memory.handle.handle import Calls
from recollect.memory.handle.healed import heals
from recollect.model import limits, validate
from recollect.model.values import (
    Branch,
    BranchChange,
    Choice,
    Diff,
    Erasure,
    Merged,
    Quote,
    Scope,
)
from recollect.model.words import changes_of
from recollect.store.port import Outcome

List = list  # ``list`` is also the name of a call


@heals
class Branches(Calls):
    """Open a branch, look at what it would change, and merge, abandon or condense it.

    ``memory.on(name)`` writes and reads on it. Anyone but an unverified source opens and writes a
    branch; only a person merges it.
    """

    def open(
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
        act = self._handle.acts.open_branch(name, parent, reason)
        return self._handle.write((act,), self._answer, idempotency_key, expect)

    def list(
        self, *, closed: bool = False, limit: int = 100, before: int | None = None
    ) -> List[Branch]:
        """Open branches, the newest first.

        Args:
            closed: Also those that were closed.
            limit: At most this many, up to 1,000.
            before: The ``seq`` of the last branch of the page before.
        """
        limit = validate.count(limit, "limit", at_most=limits.LIST_MAX_BRANCHES)
        closed = validate.flag(closed, "closed")
        last = STILL if before is None else validate.position(before, "before")
        with self._handle.reading() as reads:
            user = self._handle.actor.user
            rows = reads.list_branches(user, last, closed, limit)
            return [_branch(reads, row) for row in rows]

    def show(self, name: str) -> Branch:
        """One branch, open or closed.

        Args:
            name: Its name or its id.

        Raises:
            NotFound: This handle sees no branch of that name.
            Ambiguous: Several users have one, and the handle is for none of them.
        """
        with self._handle.reading() as reads:
            return _branch(reads, self._known(reads, name))

    def diff(self, name: str) -> Diff:
        """What merging a branch would change, both sides of it, and which changes are conflicts.

        Args:
            name: Its name or its id.

        Raises:
            NotFound: This handle sees no branch of that name.
        """
        with self._handle.reading() as reads:
            row = self._known(reads, name)
            changes = changes_on(reads, row)
            return Diff(
                branch=_branch(reads, row),
                changes=tuple(_change(reads, change) for change in changes),
                digest=digest_of_diff(reads, row, changes),
            )

    def merge(
        self,
        name: str,
        digest: str,
        *,
        choose: Mapping[str, Choice] | None = None,
        edits: Mapping[str, str] | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Merged:
        """Make every change of a branch, in one command, and close it.

        Args:
            name: Its name or its id.
            digest: The ``digest`` of the diff that was shown.
            choose: For each conflict, by the id of the change: ``ours`` keeps what the memory has,
                ``theirs`` takes the branch's. A change without a conflict can be left out too.
            edits: Texts that take the place of a change's own, by the id of the change.
            reason: Why, for people who read the history.
            idempotency_key: The same key with the same call again does nothing more.
            expect: A position, or an id with its ``seq``; ``Conflict`` if it changed since.

        Raises:
            Conflict: A conflict is not decided, or something changed since it was shown; nothing
                was merged.
            Forbidden: The handle has less than a person's trust.
        """
        words = {} if choose is None else dict(choose)
        for id, word in words.items():
            if word not in ("ours", "theirs"):
                raise InvalidInput(
                    f"{id!r} is decided with {validate.shown(word)}",
                    hint="use ours or theirs; an edited text goes into `edits`",
                )
        act = self._handle.acts.close_branch(
            name,
            "merged",
            reason,
            digest=validate.plain(digest, "digest"),
            ours=tuple(id for id, word in words.items() if word == "ours"),
            theirs=tuple(id for id, word in words.items() if word == "theirs"),
            edits={id: validate.text(text) for id, text in (edits or {}).items()},
        )
        return self._handle.write((act,), self._merged, idempotency_key, expect)

    def abandon(
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
        act = self._handle.acts.close_branch(name, "abandoned", reason)
        return self._handle.write((act,), self._answer, idempotency_key, expect)

    def condense(
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
        acts = self._handle.acts
        summary = acts.remember(text, {"key": key, "about": about, "evidence": evidence})
        act = self._handle.acts.close_branch(name, "condensed", reason, summary=summary)
        return self._handle.write((act,), self._answer, idempotency_key, expect)

    def erase(
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
        from recollect.memory.erasure.erasure import cleaned, erased

        name = validate.name(name, "name")
        act = Erase(id=name, what="branch", reason=validate.reason(reason))
        seq, events = self._handle.write((act,), erased, idempotency_key, expect)
        places = cleaned(self._handle)
        return Erasure(id=name, seq=seq, events=events, episodes=(), kept=(), places=places)

    def _known(self, reads: Reads, name: str) -> BranchRow:
        return branch_known(reads, self._handle.actor, validate.name(name, "name"))

    def _answer(self, reads: Reads, outcome: Outcome) -> Branch:
        at = left_by(outcome, reads)
        return _branch(at, branch_known(at, self._handle.actor, outcome.subjects[-1]))

    def _merged(self, reads: Reads, outcome: Outcome) -> Merged:
        at = left_by(outcome, reads)
        row = branch_known(at, self._handle.actor, outcome.subjects[-1])
        settled = [one for one in at.proposals_on(row.id) if outcome.first <= one.until]
        made = (one.record for one in settled if one.outcome == "approved")
        return Merged(
            branch=_branch(at, row),
            records=tuple(dict.fromkeys(id for id in made if id)),
            kept=tuple(one.id for one in settled if one.outcome == "rejected"),
        )


def _branch(reads: Reads, row: BranchRow) -> Branch:
    every = reads.proposals_on(row.id)
    return Branch(
        id=row.id,
        name=row.name,
        parent=row.parent,
        events=tuple(one.seq for one in every),
        changes=sum(one.until == STILL for one in every),
        is_open=row.until == STILL,
        how=row.how,
        reason=row.reason,
        note=row.note,
        record=row.record,
        by=row.origin,
        scope=Scope(user=row.user, session=row.session, agent=row.agent),
        at=row.at,
        seq=row.seq,
        closed_at=row.closed_at,
        closed_by=row.closed_by,
    )


def _change(reads: Reads, row: ProposalRow) -> BranchChange:
    then = reads.version_at(row.target, row.base) if row.target and row.base else None
    then = then if then is not None and then.user == row.user else None  # else it is forged
    ours = other_side(reads, row)
    changes = unpack_object(row.changes)
    changes.pop("id", None)
    return BranchChange(
        id=row.id,
        record=subject_of(row),
        intent="update" if made_by(row) and row.target else row.intent,
        text=row.text,
        key=row.key,
        changes=changes_of(changes),
        base=None if then is None else record_of(then),
        ours=None if ours is None else record_of(ours),
        conflict=is_stale(reads, row),
        reason=row.reason,
        by=row.origin,
        at=row.at,
        seq=row.seq,
    )
