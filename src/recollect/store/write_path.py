"""The write path that every engine shares: decide, fold, chain.

Responsible for one append: it takes commands one by one and returns bytes. Leaves locks, the write
itself and the transaction around it to the engine. Invariant: the folded events are exactly those
in the bytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple, cast

import msgspec

from recollect.errors import LimitExceeded, RecollectError
from recollect.index.fold import Clock, Fold
from recollect.index.owners import owner_of
from recollect.index.reads import Reads
from recollect.index.rows import DocumentRow, PositionRow, unpack_object
from recollect.index.statements import INDEX_VERSION
from recollect.index.tables import Db, Tables
from recollect.ledger.chain import SALT_BYTES, Draft, chain, event_id
from recollect.ledger.cipher import encrypted_bytes
from recollect.ledger.codec import decode_body, encode_body
from recollect.ledger.erasure import erased_id
from recollect.lifecycle.commands import (
    Act,
    Command,
    Expect,
    Name,
    OnBranch,
    Propose,
    Remember,
    Revert,
)
from recollect.lifecycle.decide import (
    check_command,
    decide,
    foreseen,
    named_subject,
    origin_of,
)
from recollect.lifecycle.marks import act_mark, require_same, unchanged_mark
from recollect.lifecycle.records.names import with_full_ids
from recollect.model import limits
from recollect.model.events import (
    KIND_OF,
    VERSION,
    AnyBody,
    AuthorNamed,
    ContextHanded,
    EpisodeObserved,
    EventsErased,
    Head,
    LedgerSealed,
    Origin,
    RecordAdded,
)
from recollect.model.rules import CLAIMED
from recollect.model.values import Sealed
from recollect.store import clock
from recollect.store.group import AnyRequest
from recollect.store.keys.subjects import SETTING, Each, Named, Subjects
from recollect.store.port import Outcome
from recollect.store.seam import Seam

_ID_BYTES: Final = 16
_AUTHOR_BYTES: Final = 8
# Events that only add: a record without a predecessor, an episode, a receipt.
_PLAIN: Final = frozenset(KIND_OF[body] for body in (RecordAdded, EpisodeObserved, ContextHanded))
_MANY_ACTS: Final = 8
_MANY_REQUESTS: Final = 64
# Errors that a caller's value can cause in deciding or encoding, before anything is written.
_OWN: Final = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)


# The events that are encrypted for these subjects, as far as they are in the ledger.
EncryptedFor = Callable[[Collection[str]], list[int]]


class Ground(NamedTuple):
    """The tables of an index, with the fold into them and the reads of them."""

    tables: Tables
    fold: Fold
    reads: Reads

    @classmethod
    def on(cls, db: Db, settled: Db | None = None) -> Ground:
        """Empty tables on an engine; it may serve several appends, one after the other."""
        tables = Tables(db, settled=settled)
        return cls(tables, Fold(tables, Clock("", 0)), Reads(db, tables=tables))


class Writing:
    """One unfinished append, inside a transaction of the index.

    If the clock is more than a year ahead of the last event and not confirmed, commands are
    refused, and events of the store itself get the date of the last event.
    """

    def __init__(
        self,
        db: Db,
        position: PositionRow,
        seam: Seam,
        *,
        is_confirmed: bool = False,
        ground: Ground | None = None,
        subjects: Subjects | None = None,
        encrypted_for: EncryptedFor | None = None,
    ) -> None:
        self._db = db
        self._subjects = subjects
        self._encrypted_for = encrypted_for
        self._seam = seam
        self._tables, self._fold, self.reads = ground or Ground.on(db)
        self._head = Head(position.seq, position.hash, position.at)
        now = seam.now()
        is_jump = position.seq > 1 and clock.is_jump(position.at, now) and not is_confirmed
        self._refusal = clock.refusal(position.at, now) if is_jump else None
        self._at = position.at if is_jump else max(now, position.at)
        self._fold.clock.set(position.at, position.active_us)
        self._fold.clock.advance(self._at)
        self._is_foreseen = False  # the names of all commands were looked up in advance
        self._new: set[str] = set()  # names of commands that were looked up and not found
        self._drafts: list[Draft] = []
        self._bytes = 0
        self._seq = position.seq  # the last event so far
        self.is_plain = True  # all events of this append only add rows
        self._changed = position.seq  # the last event that changes a memory (not a receipt)

    @property
    def is_full(self) -> bool:
        """True if another command might exceed the limits of one append."""
        return (
            len(self._drafts) >= limits.COMMAND_MAX_EVENTS
            or self._bytes >= limits.COMMAND_MAX_BYTES
        )

    def run(self, command: Command) -> Outcome:
        """Decides a command and folds its events; a refused command has no effect."""
        known = self._known(command) if command.named else None
        if known is not None:
            return known
        if self._refusal is not None:
            raise self._refusal
        expect = command.expect
        check_command(self.reads, command, () if expect is None else self._unchanged_since(expect))
        if len(command.acts) == 1:
            return self._acts(command)
        self._tables.flush()
        self._db.run("savepoint")
        drafts, size, changed = len(self._drafts), self._bytes, self._changed
        seq = self._seq
        try:
            self._look_ahead(command.acts)
            outcome = self._acts(command)
            self._tables.flush()
        except BaseException:
            self._tables.drop()
            del self._drafts[drafts:]
            self._bytes, self._changed, self._seq = size, changed, seq
            self._db.run("rollback_to")
            raise
        finally:
            self._db.run("release")
        return outcome

    @contextmanager
    def trying(self, command: Command) -> Iterator[Reads]:
        """The state after a command, which is undone at the end: nothing of it is written."""
        self._tables.flush()
        self._db.run("savepoint")
        try:
            self._acts(command)
            self._tables.flush()
            yield Reads(self._db)
        finally:
            self._tables.drop()
            self._db.run("rollback_to")
            self._db.run("release")

    def _look_ahead(self, acts: Sequence[Act]) -> None:
        """Looks up the names of many acts in one query: one for each name would take longer."""
        if len(acts) >= _MANY_ACTS and not self._is_foreseen:
            names = foreseen(acts)
            self._tables.lack(names.without(self._db.rows("there", names.lists())))

    def _unchanged_since(self, expect: Expect) -> tuple[int, ...]:
        """The positions since which nothing changed the memory; receipts do not change it."""
        here, head = (self._changed, self._seq), self._head.seq
        if not isinstance(expect, int) or expect >= head or self._changed != head:
            return here
        only_receipts = self.reads.count_receipts(expect, head) == head - expect
        return (*here, expect) if only_receipts else here

    def serve(self, waiting: Sequence[AnyRequest]) -> int:
        """Runs requests until the append is full; returns how many were run."""
        self._foresee(waiting)
        done = 0
        for request in waiting:
            if self.is_full:
                break
            done += 1
            written, outcome = len(self._drafts), None
            try:
                outcome = self.run(request.command)
                request.prepare(self.reads, outcome)
            except RecollectError as refusal:  # affects this request only
                if outcome is None and len(self._drafts) != written:
                    raise  # a key could not be had in the middle of a command
                request.decline(refusal)
            except _OWN as error:
                if isinstance(error, msgspec.MsgspecError) or len(self._drafts) != written:
                    raise  # an unreadable row, or a command that was partly applied
                request.decline(error)
        return done

    def _foresee(self, waiting: Sequence[AnyRequest]) -> None:
        """Looks up in two queries what many requests name: one for each would take longer."""
        if len(waiting) < _MANY_REQUESTS:
            return
        self._tables.flush()
        if not self._is_foreseen:
            names = foreseen(act for request in waiting for act in request.command.acts)
            self._tables.lack(names.without(self._db.rows("there", names.lists())))
            self._is_foreseen = True
        ids = [request.command.id for request in waiting if request.command.named]
        rows = self._db.ones("get_command", [{"id": id} for id in ids])
        self._new = {id for id, row in zip(ids, rows, strict=True) if row is None}

    def note(self, origin: Origin, body: AnyBody) -> None:
        """Adds an event of the store itself, such as genesis."""
        id = self._seam.random(_ID_BYTES).hex()
        self._add(id, 1, origin, body, encode_body(body))
        self._fold.close(id, self._seq, [origin], marks=())

    @property
    def count(self) -> int:
        """The number of events."""
        return len(self._drafts)

    def finish(self) -> tuple[bytes, Head, int]:
        """Sends the rows; the bytes of the append, the new head and the new active time."""
        self.flush()
        return self.chained()

    def flush(self) -> None:
        """Sends the rows."""
        self._tables.flush()

    def chained(self) -> tuple[bytes, Head, int]:
        """The bytes of the append, the new head and the new active time; rows are not sent."""
        salts = self._seam.random(SALT_BYTES * len(self._drafts))
        drafts: Sequence[Draft] = self._drafts
        if self._subjects is not None and any(draft.subject is not None for draft in drafts):
            drafts = [*self._subjects.encrypted(drafts)]
        data, head = chain(self._head, self._at, drafts, salts)
        return data, head, self._fold.clock.active_us

    def erasures(self) -> list[EventsErased]:
        """What this append orders erased."""
        return [
            cast(EventsErased, decode_body(draft.kind, VERSION, draft.data))
            for draft in self._drafts
            if draft.kind == KIND_OF[EventsErased]
        ]

    def _known(self, command: Command) -> Outcome | None:
        """The outcome of a command that was already run; None if it is new."""
        if command.id in self._new:
            self._new.discard(command.id)  # a second one of that name is looked up
            return None
        row = self.reads.command(command.id)
        if row is None:
            return None
        require_same(row.marks, command)
        self._tables.flush()
        before = Reads(self._db, at=row.first - 1)  # a key may name another record by now
        acts = [with_full_ids(before, command.actor, act) for act in command.acts]
        proposed = self.reads.proposals_made(row.first, row.seq)
        subjects = _subjects(acts, self.reads.subjects(row.first, row.seq), proposed)
        return Outcome(first=row.first, last=row.seq, subjects=subjects, repeated=True)

    def _acts(self, command: Command) -> Outcome:
        first, size = self._seq + 1, self._bytes
        subjects: list[str] = []
        marks: list[str] = []
        unchanged: list[int] = []
        author: str | None = None
        named = command.actor.author
        for index, act in enumerate(command.acts):
            bodies, subject = decide(self.reads, command.actor, act)
            bodies = [*map(self._completed, bodies)]
            came = next((body.author for body in bodies if body.written_at is not None), "")
            if came != "":  # by a merge: its author is who wrote it there
                author = came
            elif bodies and author is None and named is not None:
                author = self._author(command, named)
            subjects.append(subject)
            if not bodies:
                unchanged.append(index)
            elif command.named:
                # Stored in the event that has the content, so that both are erased together.
                marks.append(act_mark(command, index))
                bodies[-1] = msgspec.structs.replace(bodies[-1], command=marks[-1])
            else:  # a command of another ledger keeps its own, so that its caller may repeat it
                marks += [body.command for body in bodies if body.command]
            if author is not None and came == "":
                bodies = [msgspec.structs.replace(body, author=author) for body in bodies]
            encoded = [encode_body(body) for body in bodies]  # encode all before folding any
            for body, data in zip(bodies, encoded, strict=True):
                origin = origin_of(command.actor, body)
                self._add(command.id, self._seq + 2 - first, origin, body, data)
            if self._seq - first >= limits.COMMAND_MAX_EVENTS or (
                self._bytes - size > limits.COMMAND_MAX_BYTES
            ):
                raise LimitExceeded("the command is too large", hint="split it into several")
        if marks and unchanged and command.asked is None:
            marks.append(unchanged_mark(command, unchanged))
            self._mark_last(marks[-1])
        if self._seq >= first:
            origins = [draft.origin for draft in self._drafts[first - self._seq - 1 :]]
            self._fold.close(command.id, first, origins, marks=marks, author=author)
        return Outcome(first=first, last=self._seq, subjects=tuple(subjects))

    def _author(self, command: Command, named: Name) -> str:
        """The id of who acts. The first command of a name gives it one, with an event."""
        for row in self.reads.authors_named(named.text):
            is_own = not row.id.startswith(CLAIMED)
            if is_own and (row.checked, row.user) == (named.checked, named.user):
                return row.id
        id = self._seam.random(_AUTHOR_BYTES).hex()
        body = AuthorNamed(
            id=id,
            name=named.text,
            checked=named.checked,
            user=named.user,
            agent=command.actor.agent,
            author=id,
        )
        self._add(command.id, 1, command.actor.trust, body, encode_body(body))
        return id

    def _mark_last(self, mark: str) -> None:
        """Adds a mark to the last event, which has one already."""
        last = self._drafts[-1]
        body = decode_body(last.kind, VERSION, last.data)
        data = encode_body(msgspec.structs.replace(body, command=f"{body.command} {mark}"))
        self._bytes += len(data) - len(last.data)
        self._drafts[-1] = msgspec.structs.replace(last, data=data)

    def _add(
        self, command_id: str, ordinal: int, origin: Origin, body: AnyBody, data: bytes
    ) -> None:
        kind = KIND_OF[type(body)]
        named = None if self._subjects is None else self._subject(self._subjects, body)
        if named is None:
            draft = Draft(event_id(command_id, ordinal), kind, origin, data)
            self._bytes += len(data)
        else:
            id, (subject, cipher) = event_id(command_id, ordinal), msgspec.structs.astuple(named)
            draft = Draft(id, kind, origin, data, subject, cipher)
            self._bytes += encrypted_bytes(len(data))
        self._drafts.append(draft)
        self._seq += 1
        self.is_plain &= kind in _PLAIN
        self._fold.event(self._seq, self._at, origin, body)
        if not isinstance(body, ContextHanded):  # receipts are written by reads, not by this caller
            self._changed = self._seq

    def _subject(self, subjects: Subjects, body: AnyBody) -> Named | None:
        """The subject that an event is encrypted for; asked before it is folded."""
        found = self._tables.document(*SETTING)
        if found is None:
            return None
        each = each_of(DocumentRow._make(found))
        user = None if each is None else owner_of(self._tables, body)
        return None if user is None or each is None else subjects.current(user, each)

    def _completed(self, body: AnyBody) -> AnyBody:
        """The order to destroy a key names every event that it encrypted, also the last.

        Any other erasure says which ids are gone, so that no copy brings them back.
        """
        if not isinstance(body, EventsErased):
            return body
        if not body.subjects:
            self._tables.flush()
            ids = {erased_id(*one) for one in self.reads.begun_by(body.targets)}
            return msgspec.structs.replace(body, ids=tuple(sorted(ids)))
        gone = {*body.subjects}
        targets = {*body.targets, *(self._encrypted_for(gone) if self._encrypted_for else ())}
        first = self._seq + 1 - len(self._drafts)
        targets.update(
            first + place for place, draft in enumerate(self._drafts) if draft.subject in gone
        )
        if self._subjects is not None:
            self._subjects.retire(gone)
        return msgspec.structs.replace(body, targets=tuple(sorted(targets)))


def each_of(row: DocumentRow | None) -> Each | None:
    """Who is a subject, as a person has set it; None if no user is one."""
    if row is None or row.trust != "person":
        return None
    each = unpack_object(row.data).get("each")
    return cast(Each, each) if each in ("user", "named") else None


def sealed_event(first: int, head: Head, digest: str) -> LedgerSealed:
    """The event that records a seal."""
    return LedgerSealed(
        first=first, count=head.seq, head=head.hash, digest=digest, index_version=INDEX_VERSION
    )


def what_was_sealed(first: int, head: Head, digest: str, segment: str | None = None) -> Sealed:
    """The answer to a seal; empty if there is only one event since the last seal."""
    count = head.seq + 1 - first if head.seq > first else 0
    return Sealed(events=count, seq=head.seq, head=head.hash, digest=digest, segment=segment)


def _subjects(
    acts: Sequence[Act], found: Sequence[tuple[str, str]], proposed: Sequence[str]
) -> tuple[str, ...]:
    """The subject of each act of a repeated command: named by the act or by its events.

    What falls in trust with a subject is revised before it. Remembering and observing begin with
    another event, and the last event of a revert is its own.
    """
    rest, proposals = deque(found), iter(proposed)
    subjects: list[str] = []
    for act in acts:
        subject = named_subject(act)
        if isinstance(act, Propose | OnBranch):
            subject = next(proposals, "")
        elif isinstance(act, Remember) and act.files is True and proposed:
            subject = str(act.supersedes)  # it was filed, so nothing was remembered
        elif not subject:
            is_revert = isinstance(act, Revert)
            while rest and rest[0][1] == "revised" and not is_revert:
                rest.popleft()
            subject = rest[-1 if is_revert else 0][0] if rest else ""
        while rest and rest[0][0] == subject:
            rest.popleft()
        subjects.append(subject)
    return tuple(subjects)
