"""The engine for tests and notebooks: a ledger and an index that live in this process.

Responsible for the same contract as the files, without a disk. Leaves deciding, folding and
chaining to the code they share. Invariant: it keeps real ledger bytes, so that verifying,
rebuilding and erasing mean the same here.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import structs

from recollect.errors import RecollectError, Unavailable
from recollect.index.digest import state_digest
from recollect.index.erasures import unfinished_erasures
from recollect.index.reads import Reads
from recollect.index.rows import PositionRow
from recollect.index.statements import NOW
from recollect.ledger.erasure import encrypted_for, line_of, orders_in, without_bodies
from recollect.ledger.finding import offset_of
from recollect.ledger.line import Line
from recollect.lifecycle.commands import Command
from recollect.model import limits
from recollect.model.counts import counted
from recollect.model.events import GENESIS, AnyBody, Head, SpaceOpened
from recollect.model.values import Backup, Drop, Dropped, Finding, Rebuilt, Sealed
from recollect.store import backup, clock
from recollect.store.compare import difference_of
from recollect.store.disk import PIECE_BYTES
from recollect.store.dropping import drop_of, was_dropped
from recollect.store.fold_ledger import fold_whole
from recollect.store.group import Request
from recollect.store.listening import Listener, Listeners
from recollect.store.port import Answer, Progress, Tick, Vectors
from recollect.store.posix import account
from recollect.store.receiving import first_hash, fold_parcel, parcels
from recollect.store.seam import REAL, Seam
from recollect.store.sqlite import SqliteDb, memory_index
from recollect.store.subject_keys import MemoryKeys
from recollect.store.subjects import Subjects
from recollect.store.volatile.checkpoints import MemoryCheckpoints
from recollect.store.wrapped_keys import Wrapped
from recollect.store.writing import Writing, sealed_event, what_was_sealed

if TYPE_CHECKING:  # numpy is loaded only if there are vectors
    from recollect.store.volatile.vectors import MemoryVectors

T = TypeVar("T")


class MemorySpace:
    """One space in memory; used by one thread at a time."""

    where = ":memory:"
    widest = None

    def __init__(self, name: str, seam: Seam = REAL) -> None:
        self._name = name
        self.subjects = Subjects(lambda _: MemoryKeys(seam), self._first_hash, seam)
        self._seam = seam
        self._turn = threading.RLock()
        self._ledger = bytearray()
        self._db = memory_index(name)
        self._vectors: dict[tuple[str, int], MemoryVectors] = {}
        self._checkpoints = MemoryCheckpoints()
        self._closed = False
        self.is_dropped = False
        self._left: list[Command] = []  # commands for the next append
        self._listeners = Listeners()
        self._depth = 0  # calls within calls of the thread that has the turn
        self._has_news = False
        self._first = 1  # the first event since the last seal
        self._note(SpaceOpened(space=name))

    @property
    def name(self) -> str:
        """The space's name."""
        return self._name

    def pages_folder(self) -> None:
        """No folder belongs to this space."""

    def submit(self, command: Command, answer: Answer[T]) -> T:
        """Decides, appends, folds; returns what ``answer`` reads in the same transaction."""
        with self._inside() as db:
            db.run("begin_write")
            try:
                writing = self._writing(db)
                self._take_along(writing)
                value = answer(writing.reads, writing.run(command))
                self._commit(writing)
                self._left.clear()
            finally:
                if db.in_transaction:
                    db.run("rollback")
            return value

    def submit_all(
        self, commands: Sequence[Command], answer: Answer[T]
    ) -> list[T | RecollectError]:
        """Submits many commands in as few appends as they fit into; an outcome for each."""
        requests = [Request(command, answer) for command in commands]
        done = 0
        with self._inside() as db:
            while done < len(requests):
                db.run("begin_write")
                try:
                    writing = self._writing(db)
                    self._take_along(writing)
                    done += writing.serve(requests[done:])  # type: ignore[arg-type]
                    self._commit(writing)
                    self._left.clear()
                finally:
                    if db.in_transaction:
                        db.run("rollback")
        return [request.outcome() for request in requests]

    @contextmanager
    def trying(self, command: Command) -> Iterator[Reads]:
        """Reads of the state after a command, which is then undone."""
        with self._inside() as db:
            db.run("begin_write")
            try:
                with Writing(db, self._position(), self._seam).trying(command) as reads:
                    yield reads
            finally:
                db.run("rollback")

    def later(self, command: Command) -> bool:
        """Queues a command for this process's next append, or for ``flush`` or ``close``."""
        with self._inside():
            self._left.append(command)
            if len(self._left) > limits.RECEIPTS_WAITING_MAX_COUNT:
                self.flush()
            return True

    def flush(self) -> None:
        """Writes the queued commands."""
        with self._inside() as db:
            if self._left:
                db.run("begin_write")
                writing = self._writing(db)
                self._take_along(writing)
                self._commit(writing)
                self._left.clear()

    def on_append(self, call: Listener) -> Listener:
        """Has a function called after each append; returns what ends it."""
        return self._listeners.add(call)

    def _writing(self, db: SqliteDb) -> Writing:
        return Writing(
            db,
            self._position(),
            self._seam,
            subjects=self.subjects,
            encrypted_for=lambda subjects: encrypted_for([bytes(self._ledger)], subjects),
        )

    def destroy_keys(self, subjects: Collection[str], by: int) -> tuple[str, ...]:
        """Destroys keys with which nothing is encrypted, as an event orders."""
        with self._inside():
            if encrypted_for([bytes(self._ledger)], subjects):
                return ()  # written since; it is erased by the next order
            return self.subjects.destroy(subjects, by)

    def _first_hash(self) -> str | None:
        return first_hash(self.pieces())[0]

    def _take_along(self, writing: Writing) -> None:
        for command in self._left:
            with suppress(RecollectError):  # no caller waits for it
                writing.run(command)

    @contextmanager
    def reading(self, at: int = NOW) -> Iterator[Reads]:
        """Reads that all see one state."""
        with self._inside() as db:
            yield Reads(db, at=at)

    def digest(self, at: int = NOW) -> str:
        """The state digest at a position."""
        with self._inside() as db:
            return state_digest(db, at)

    def head(self) -> Head:
        """Where the ledger ends."""
        with self._inside():
            position = self._position()
            return Head(position.seq, position.hash, position.at)

    def seen(self) -> Head | None:
        """The last event that the index has folded."""
        return self.head()

    def pieces(self, after: int = 0, offset: int = 0) -> Generator[bytes, None, None]:
        """The ledger's bytes."""
        held, size = self._ledger, len(self._ledger)
        found = offset_of(after + 1, size, lambda at, count: bytes(held[at : at + count]))
        for at in range(size if found is None else found, size, PIECE_BYTES):
            yield bytes(held[at : min(at + PIECE_BYTES, size)])

    def checkpoints(self) -> MemoryCheckpoints:
        """The checkpoints beside the ledger."""
        return self._checkpoints

    def line(self, seq: int) -> bytes | None:
        """The line of one event, without its newline."""
        with closing(self.pieces(seq - 1)) as pieces:
            return line_of(pieces, seq)

    def size_bytes(self) -> int:
        """How many bytes ``pieces`` gives."""
        return len(self._ledger)

    def existing_head(self) -> Head:
        """The end of the ledger; a genesis event alone does not count."""
        head = self.head()
        return head if head.seq > 1 else GENESIS

    def admit(self, line: Line) -> None:
        """Allows everything: the process owns this memory."""

    def receive(
        self, pieces: Iterable[bytes], tick: Tick | None = None, keys: Collection[Wrapped] = ()
    ) -> Head:
        """Appends the events that another store's ledger has beyond this one, unchanged."""
        if keys:
            self.subjects.keys.take(keys)
        with self._inside() as db:
            held = self.existing_head()
            if held == GENESIS:
                first, pieces = first_hash(pieces)
                self.subjects.begin(first)
                self._db, self._ledger = memory_index(self._name), bytearray()
                self._vectors.clear()
                db.close()
            try:
                self._receive(pieces, held, tick)
            finally:
                if self._db.in_transaction:
                    self._db.run("rollback")
                if not self._ledger:
                    self.subjects.begin()
                    self._note(SpaceOpened(space=self._name))
            return self.head()

    def _receive(self, pieces: Iterable[bytes], held: Head, tick: Tick | None) -> None:
        """Receives parcels; unsettled ones are neither added to the ledger nor committed."""
        waiting: list[bytes] = []
        first = self._first
        for parcel in parcels(pieces, held, self._name):
            if not waiting:
                self._db.run("begin_write")
            fold_parcel(self._db, self._position(), parcel, self.subjects)
            waiting += parcel.data
            seals = [line.seq for each in parcel.appends for line in each.lines if line.is_seal]
            first = max(seals, default=first)
            if parcel.settled:
                self._db.run("commit")
                self._ledger += b"".join(waiting)
                self._has_news = True
                waiting.clear()
                self._first = first
            if tick is not None:
                tick(parcel.end)

    def index_problem(self, progress: Progress | None = None) -> str | None:
        """How the index differs from a fresh fold of the ledger; None if it is equal."""
        with self._inside() as db, closing(db.copy()) as copy:
            size = len(self._ledger)
            return difference_of(copy, self._name, self.pieces(), size, progress, self.subjects)

    def vectors(self, name: str, dimensions: int) -> Vectors:
        """The vectors of an embedder, in this process."""
        from recollect.store.volatile.vectors import MemoryVectors

        with self._turn:
            made = MemoryVectors(dimensions, lambda: Reads(self._db), self._turn)
            return self._vectors.setdefault((name, dimensions), made)

    def rebuild(self, progress: Progress | None = None) -> Rebuilt:
        """Discards the index and folds the whole ledger again."""
        with self._inside() as old:
            db = memory_index(self._name)
            folded = fold_whole(db, [bytes(self._ledger)], None, 0, ciphers=self.subjects)
            head = folded.head
            db.many("move_position", [(*_at(head), folded.active_us, len(self._ledger))])
            db.many("set_purged", [(self._position().purged,)])
            self._db = db
            old.close()
            if progress is not None:
                progress(len(self._ledger), len(self._ledger))
            return Rebuilt(events=head.seq)

    def purge(self) -> tuple[str, ...]:
        """Finishes every recorded erasure."""
        with self._inside() as db:
            erased = unfinished_erasures(Reads(db))
            if not erased:
                return ()
            orders = orders_in([bytes(self._ledger)], erased)
            destroyed = self.subjects.destroy(orders, max(orders.values(), default=0))
            self._ledger = bytearray(b"".join(without_bodies([bytes(self._ledger)], erased)))
            db.many("move_offset", [(len(self._ledger),)])
            db.many("set_purged", [(max(erased.values()),)])
            for vectors in self._vectors.values():
                vectors.drop(erased)
            return (
                f"ledger in memory: the bodies of {counted(len(erased), 'event')}",
                "index in memory: rows",
                *destroyed,
                *(["vectors in memory: rows"] if self._vectors else []),
            )

    def backup(self, target: str | None, progress: Progress | None = None) -> Backup:
        """Copies the ledger to a new folder."""
        with self._inside():
            folder = backup.backup_folder(self._seam, Path.cwd(), target)
            pieces = backup.counted(self.pieces(), len(self._ledger), progress)
            return backup.write_backup(
                self._seam, folder, self._name, self.head(), pieces, self._checkpoints
            )

    def seal(self) -> Sealed:
        """Appends the event that records the state; there is no file to close."""
        with self._inside():
            head, digest = self.head(), self.digest()
            first = self._first
            if head.seq > first or clock.is_jump(head.at, self._seam.now()):
                # Otherwise the last seal still covers everything.
                self._note(sealed_event(first, head, digest))
                self._first = head.seq + 1
            return what_was_sealed(first, head, digest)

    def examine(self, progress: Progress | None = None) -> list[Finding]:
        """Findings; nothing here can be damaged from outside."""
        detail = f"{counted(self.head().seq, 'event')} in this process"
        return [Finding(level="ok", what="ledger", detail=detail)]

    def accept_loss(self, reason: str | None) -> None:
        """Does nothing: events cannot be lost while the process lives."""

    def would_drop(self) -> Drop:
        """What dropping the space would remove."""
        return drop_of(self, len(self._ledger), ())

    def drop(self, reason: str | None) -> Drop:
        """Drops the space: every later call is refused."""
        with self._inside() as db:
            found, head = self.would_drop(), self.head()
            first, _ = first_hash(self.pieces())
            note = Dropped(
                space=self._name,
                at=self._seam.now(),
                by=account(),
                seq=head.seq,
                head=head.hash,
                first=first,
                reason=reason,
            )
            self._left.clear()
            self.is_dropped = self._closed = True
            self._ledger.clear()
            self._vectors.clear()
            db.close()
            return structs.replace(found, places=("this process",), dropped=note)

    def close(self) -> None:
        """Releases everything."""
        with self._turn:
            if not self._closed:
                self.flush()
                self._closed = True
                self._db.close()

    @property
    def is_closed(self) -> bool:
        """True after ``close``."""
        return self._closed

    @contextmanager
    def _inside(self) -> Iterator[SqliteDb]:
        is_told = False
        try:
            with self._turn:
                if self.is_dropped:
                    raise was_dropped(self._name, self.where)
                if self._closed:
                    raise Unavailable("this memory is closed", hint="open it again")
                self._depth += 1
                try:
                    yield self._db
                finally:
                    self._depth -= 1
                    if self._depth == 0:
                        is_told, self._has_news = self._has_news, False
        finally:
            if is_told:
                self._listeners.tell()

    def _position(self) -> PositionRow:
        position = Reads(self._db).position()
        if position is None:
            raise Unavailable("this memory is closed", hint="open it again")
        return position

    def _note(self, body: AnyBody) -> None:
        self._db.run("begin_write")
        writing = Writing(self._db, self._position(), self._seam, is_confirmed=True)
        writing.note("system", body)
        self._commit(writing)

    def _commit(self, writing: Writing) -> None:
        data, head, active_us = writing.finish()
        if data:
            size = len(self._ledger) + len(data)
            self._db.many("move_position", [(*_at(head), active_us, size)])
            self._db.run("commit")
            self._ledger += data
            self._has_news = True
        else:
            self._db.run("rollback")


def _at(head: Head) -> tuple[int, str, str]:
    return head.seq, head.hash, head.at
