"""``memory.proof.audit``: who told a memory what, who approved it, what was handed out or erased.

Responsible for one list of entries over events and checkpoints. Leaves finding events to ``index``
and how an audit looks to ``exchange``. Invariants: an entry is about an event that this handle's
``events`` lists, or about a signed checkpoint; memory does not grow with the length of the list.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, timedelta
from typing import Final

from recollect.errors import Forbidden, NotInstalled, RecollectError
from recollect.finding import search
from recollect.index.erasures import events_erased_by
from recollect.index.preset_rows import unpack_items
from recollect.index.reads import Reads
from recollect.index.rows import EventRow, VersionRow, unpack_names
from recollect.index.statements import NOW
from recollect.ledger.codec import decode
from recollect.ledger.line import BadLine, parse
from recollect.lifecycle.records.names import full_id
from recollect.memory.events import changes_of
from recollect.memory.handle.due import has_keys
from recollect.memory.handle.handle import Handle
from recollect.model import limits, validate
from recollect.model.counts import counted
from recollect.model.events import EventsErased, LineageRetracted
from recollect.model.instants import Moment, instant, later
from recollect.model.values import AuditEntry, AuditHead, AuditLine, Change, Scope, Verification

PAGE: Final = 1_000
_LINES_MAX_COUNT: Final = 50
_LINE_MAX_CHARS: Final = 160
_MICROSECOND: Final = timedelta(microseconds=1)

_WHAT: Final = {
    "episode.observed": "said",
    "record.added": "remembered",
    "record.reinforced": "confirmed",
    "record.superseded": "replaced",
    "record.forgotten": "forgot",
    "record.vouched": "vouched for",
    "proposal.made": "proposed",
    "proposal.withdrawn": "withdrew",
    "context.handed": "handed out",
    "link.added": "linked",
    "link.removed": "unlinked",
    "rule.passed": "ran a rule",
    "space.opened": "began",
}
_ERASED: Final = "(erased)"
_REVIEWS: Final = {"reopened": "took an approval back"}
# Events whose session and agent are those of who wrote them. Those of others are their subject's.
_OWN: Final = frozenset(
    {"record.added", "episode.observed", "proposal.made", "context.handed", "branch.opened"}
)
_RESTING: Final = ("record.added", "record.revised")
_NOTED: Final = ("record.forgotten", "record.archived", "record.reviewed", "record.superseded")


class Auditing:
    """The entries of one audit."""

    def __init__(
        self, handle: Handle, since: Moment | None, until: Moment | None, id: str | None
    ) -> None:
        self._handle = handle
        self.since = None if since is None else instant(since)
        self.before = None if until is None else _after(until)
        self.id = None if id is None else validate.name(id, "id")
        if handle.position == NOW:
            handle.space.flush()  # receipts that wait
        self.ledger, self._signed = _signed(handle)
        self._sizes = sorted(self._signed)

    def page(self, after: int, limit: int) -> tuple[list[AuditEntry], int | None]:
        """The entries after a position, and the position after which the next ones begin."""
        handle = self._handle
        with handle.reading() as reads:
            start, end = self._bounds(reads)
            start = max(start, after)
            rows = self._rows(reads, start, end, limit)
            is_last = len(rows) < limit
            found = [self._entry(reads, change) for change in changes_of(reads, rows)]
            stop = end - 1 if is_last else rows[-1].seq
            found += self._checkpoints(reads, start, stop)
        found.sort(key=lambda entry: (entry.seq, entry.unit == "checkpoint"))
        return found, None if is_last else stop

    def entries(self) -> Iterator[AuditEntry]:
        """All of them, page by page."""
        after: int | None = 0
        while after is not None:
            found, after = self.page(after, PAGE)
            yield from found

    def head(self, check: Verification) -> AuditHead:
        """What stands above the entries."""
        return AuditHead(
            space=self._handle.space.name,
            ledger=self.ledger,
            made_at=self._handle.seam.now(),
            events=check.events,
            head=check.head,
            status=check.status,
            problem=check.problem,
            anchored_through=check.anchored_through,
            checkpoints=len(self._sizes),
            covered=self._sizes[-1] if self._sizes else 0,
            since=self.since,
            before=self.before,
            id=self.id,
            user=self._handle.actor.user,
        )

    def _bounds(self, reads: Reads) -> tuple[int, int]:
        """The position before the first event of the time asked for, and that after the last."""
        start = 0 if self.since is None else reads.seq_at(later(self.since, -_MICROSECOND))
        through = NOW if self.before is None else reads.seq_at(later(self.before, -_MICROSECOND))
        return start, min(through, self._handle.position) + 1

    def _rows(self, reads: Reads, after: int, end: int, limit: int) -> list[EventRow]:
        user = self._handle.actor.user

        def about(id: str | None) -> list[EventRow]:
            rows = reads.events(kinds=(), id=id, user=user, after=after, before=None, limit=limit)
            return [row for row in rows if row.seq < end]

        rows = about(self.id)
        if not rows and self.id is not None:
            ids = self._named(reads, full_id(reads, user, self.id))
            found = (row for id in ids for row in about(id))
            rows = sorted(found, key=lambda row: row.seq)[:limit]
        return rows

    def _named(self, reads: Reads, full: str) -> list[str]:
        """The record that a name stands for; with those that had the key before, if it is a key."""
        row = reads.version(full)
        if row is None or row.key != self.id:
            return [] if full == self.id else [full]
        return [full, *(record.id for record in search.replaced_by(reads, row))]

    def _entry(self, reads: Reads, change: Change) -> AuditEntry:
        what, reason, lines = self._said(reads, change)
        place = bisect_left(self._sizes, change.seq)
        return AuditEntry(
            seq=change.seq,
            at=change.at,
            kind=change.kind,
            what=what,
            by=change.by,
            trust=change.trust,
            scope=change.scope if change.kind in _OWN else Scope(user=change.scope.user),
            unit=change.unit,
            id=change.id,
            text=change.text,
            reason=reason,
            lines=tuple(lines[:_LINES_MAX_COUNT]),
            more=max(0, len(lines) - _LINES_MAX_COUNT),
            checkpoint=self._sizes[place] if place < len(self._sizes) else None,
            author=change.author,
        )

    def _said(self, reads: Reads, change: Change) -> tuple[str, str | None, list[AuditLine]]:
        """In a word or two what happened, why, and what else it names."""
        kind = change.kind
        if kind is None:
            return _ERASED, None, []
        what = _WHAT.get(kind, change.what or kind)
        if kind in _NOTED or kind in _RESTING:
            row = reads.by_event(change.seq)
            if isinstance(row, VersionRow) and kind in _RESTING:
                return what, row.note, self._sources(reads, row.evidence)
            if isinstance(row, VersionRow):
                what, reason = _verdict(row) if kind == "record.reviewed" else (what, row.note)
                return what, reason, []
        if kind.startswith("proposal.") and change.id is not None:
            proposal = reads.proposal(change.id)
            if proposal is not None and kind == "proposal.made":
                return what, proposal.reason, self._sources(reads, proposal.evidence)
            return what, proposal and proposal.note, []
        if kind == "context.handed" and change.id is not None:
            return what, None, self._handed(reads, change.id)
        if kind == "events.erased":
            gone = events_erased_by(reads, change.seq)
            lines = [AuditLine(seq=seq, id=None, text=None) for seq in gone]
            return what, self._reason(change.seq), lines
        return what, self._reason(change.seq) if kind == "lineage.retracted" else None, []

    def _sources(self, reads: Reads, evidence: str) -> list[AuditLine]:
        """What a record or a proposal rests on, without what was erased."""
        found = (reads.episode(id) or reads.version(id) for id in unpack_names(evidence))
        return [
            AuditLine(seq=row.seq, id=row.id, text=row.text[:_LINE_MAX_CHARS])
            for row in found
            if row is not None and self._handle.may_see(row)
        ]

    def _handed(self, reads: Reads, id: str) -> list[AuditLine]:
        row = reads.receipt(id)
        items = () if row is None or not self._handle.may_see(row) else unpack_items(row.items)
        lines: list[AuditLine] = []
        for item in items:
            said = reads.by_event(item.seq)
            if said is not None and self._handle.may_see(said):
                text = said.text[:_LINE_MAX_CHARS]
                lines.append(AuditLine(seq=item.seq, id=said.id, text=text))
            else:
                lines.append(AuditLine(seq=item.seq, id=None, text=None))
        return lines

    def _reason(self, seq: int) -> str | None:
        """What the event says itself; the index does not have it."""
        from recollect.store.checkpoints.proofs import line_of  # reads one line

        with suppress(RecollectError):  # the check of the ledger says what is wrong with it
            body = decode(parse(line_of(self._handle.space, seq))).body
            if isinstance(body, EventsErased):
                return body.reason
            if isinstance(body, LineageRetracted):
                return (
                    f"what came of event {body.root}: {counted(body.taken, 'record')} taken back, "
                    f"{body.back} as before again"
                )
        return None

    def _checkpoints(self, reads: Reads, after: int, through: int) -> Iterator[AuditEntry]:
        """Those over more events than one position and at most as many as another."""
        if self.id is not None or self._handle.actor.user is not None:
            return  # they are about everybody's events
        low, high = bisect_right(self._sizes, after), bisect_right(self._sizes, through)
        for size in self._sizes[low:high]:
            command = reads.command_at(size)
            yield AuditEntry(
                seq=size,
                at="" if command is None else command.at,
                kind="checkpoint.signed",
                what="signed",
                by="system",
                trust=None,
                scope=Scope(),
                unit="checkpoint",
                id=self.ledger,
                text=f"{counted(size, 'event')}, signed by {self._signed[size]}",
                reason=None,
                lines=(),
                more=0,
                checkpoint=size,
            )


def audit(
    handle: Handle,
    *,
    since: Moment | None,
    until: Moment | None,
    id: str | None,
    after: int,
    limit: int,
) -> list[AuditEntry]:
    """One page of an audit; ``Memory.audit`` documents the arguments."""
    after = validate.position(after, "after")
    limit = validate.count(limit, "limit", at_most=limits.LIST_MAX_RECORDS)
    return Auditing(handle, since, until, id).page(after, limit)[0]


def _after(until: Moment) -> str:
    """The instant that an audit ends before; a date without a time includes that day."""
    is_day = isinstance(until, date) and not isinstance(until, datetime)
    is_day = is_day or (isinstance(until, str) and len(until) == len("2026-01-31"))
    return later(instant(until), timedelta(days=1) if is_day else _MICROSECOND)


def _verdict(row: VersionRow) -> tuple[str, str | None]:
    """What a review decided, and why: the fold notes both together."""
    verdict, _, reason = (row.note or "").partition(": ")
    return _REVIEWS.get(verdict, verdict), reason or None


def _signed(handle: Handle) -> tuple[str | None, dict[int, str]]:
    """The ledger's name, and who signed the checkpoint of each size; only keys known here count."""
    if not has_keys():
        return None, {}
    from recollect.memory.proof.checkpoints import ring_of
    from recollect.proof.keys import signers
    from recollect.store.checkpoints.checkpoints import known

    try:
        ring = ring_of(handle)
    except (Forbidden, BadLine):  # a token for one user reads no ledger; a damaged one has no name
        return None, {}
    found: dict[int, str] = {}
    with suppress(NotInstalled):
        keys = ring.public()
        for each in known(handle.space, ring):
            names = (f"{key.name}+{key.id.hex()}" for key in signers(each.note, keys))
            found[each.checkpoint.size] = ", ".join(names)
    return ring.ledger, found
