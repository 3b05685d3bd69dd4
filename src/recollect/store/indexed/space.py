"""One space: an index in this process over a ledger that is kept elsewhere.

Responsible for when the ledger is asked, and for the write path: look, decide here, append, and
once more if another writer came before. Leaves the ledger to ``store.indexed.ledger``, the index to
``store.indexed.index``, and maintenance to ``store.indexed.upkeep``. Invariants: every read sees
every append that was acknowledged before it began; the index never holds an event that the ledger
has not; one thread at a time uses the index.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Final, TypeVar

from recollect.errors import ConfigError, IntegrityError, NotFound, RecollectError, Unavailable
from recollect.index.digest import state_digest
from recollect.index.reads import Reads
from recollect.index.rows import PositionRow, Undecodable
from recollect.index.statements import NOW
from recollect.ledger.erasure import encrypted_for
from recollect.ledger.line import Line
from recollect.ledger.scan import Damage
from recollect.lifecycle.commands import Command
from recollect.model.events import GENESIS, AnyBody, Head, SpaceOpened
from recollect.model.values import Backup, Drop, Finding, Rebuilt, Sealed, Token
from recollect.store.dropping import was_dropped
from recollect.store.group import AnyRequest, Group, Request
from recollect.store.indexed import upkeep
from recollect.store.indexed.index import Index, version
from recollect.store.indexed.ledger import (
    NOTHING_NEW,
    Block,
    Erased,
    Ledger,
    Meanwhile,
    Snapshot,
    Tail,
    erased_by,
)
from recollect.store.listening import Listener
from recollect.store.port import Answer, Checkpoints, Progress, Tick, Vectors
from recollect.store.seam import Seam
from recollect.store.subjects import Subjects
from recollect.store.wrapped_keys import Wrapped
from recollect.store.writing import Writing

if TYPE_CHECKING:  # numpy is loaded only if there are vectors
    from recollect.store.indexed.vectors import KeptVectors

T = TypeVar("T")

_TRIES_MAX_COUNT: Final = 40
_ALONE_AFTER: Final = 2  # tries; then the other writers of the ledger wait
_SNAPSHOT_MIN_EVENTS: Final = 32  # fewer are folded as fast


class IndexedSpace:
    """One space. Safe to share between threads."""

    widest = None

    def __init__(
        self,
        ledger: Ledger,
        name: str,
        seam: Seam,
        *,
        create: bool,
        used: Callable[[IndexedSpace], None] = lambda space: None,
    ) -> None:
        self._name = name
        self.ledger = ledger
        self.seam = seam
        self.creates = create
        self.is_dropped = False
        self.index: Index | None = None  # while it is awake
        self.epoch = self.blocks = self.size = 0  # of the ledger, as of the last look
        self._used = used  # told whenever the index was asked for
        self._place: int | None = None  # which ledger of this name it is
        self._kept = 0  # the event up to which there is a snapshot
        self._subjects = ledger.subjects()
        self._group = Group(self._lead)
        self._turn = threading.RLock()
        self._depth = 0  # calls within calls of the thread that has the turn
        self._owner: int | None = None
        self._vectors: dict[tuple[str, int], KeptVectors] = {}
        self._closed = False

    @property
    def name(self) -> str:
        """The space's name."""
        return self._name

    @property
    def where(self) -> str:
        """The location, for people."""
        return self.ledger.where

    @property
    def is_there(self) -> bool:
        """True once this process has seen that the space exists."""
        return self._place is not None

    @property
    def awake_bytes(self) -> int:
        """How much memory the index takes, about."""
        index = self.index
        return 0 if index is None else index.size_bytes

    def pages_folder(self) -> None:
        """No folder belongs to this space."""

    # Looking.

    @contextmanager
    def inside(self) -> Iterator[Index]:
        """The index with everything that was acknowledged; the turn is this thread's."""
        with self.held():
            if self._depth > 1 and self.index is not None:
                yield self.index
            else:
                yield self.follow(self.look())
        self._used(self)

    @contextmanager
    def looking(self, hash: bytes) -> Iterator[tuple[Token | None, bool]]:
        """One look for every read in this block: the token of a hash, and whether there is a space.

        Nothing is created.
        """
        with self.held():
            tail = self.look(hash)
            if tail.place is not None and tail.head.seq > 0:
                self.follow(tail)
            yield tail.token, tail.place is not None
        self._used(self)

    @contextmanager
    def held(self) -> Iterator[None]:
        """The turn of this thread; it may have it already."""
        with self._turn:
            self._check_usable()
            self._depth += 1
            self._owner = threading.get_ident()
            try:
                yield
            finally:
                self._depth -= 1
                if self._depth == 0:
                    self._owner = None

    def _check_usable(self) -> None:
        if self.is_dropped:
            raise was_dropped(self._name, self.where)
        if self._closed:
            raise Unavailable("this memory is closed", hint="open it again")

    def look(self, hash: bytes | None = None) -> Tail:
        """Asks the ledger what is new."""
        after = NOTHING_NEW if self.index is None else self.index.position.seq
        tail = self.ledger.tail(after, hash)
        if self._place is not None and tail.place != self._place:
            self.gone()
            raise was_dropped(self._name, self.where)
        self._place = tail.place
        self.blocks, self.size = tail.blocks, tail.size
        return tail

    def follow(self, tail: Tail) -> Index:
        """Brings the index to the end of the ledger, as it was in this look."""
        if tail.place is None or tail.head.seq == 0:
            tail = self.begin(tail)
        was_asleep = self.index is None
        if self.index is not None and self.index.position.seq > tail.head.seq:
            self.forget()  # the server was restored to an earlier state
        try:
            index = self._awake(tail)
            if index.head != tail.head:
                self._fold_new(index, tail)
        except (Damage, Undecodable):  # another history than the one that was folded
            self.forget()
            index = self._awake(tail, fresh=True)
        if index.position.seq < tail.head.seq or _hash_at(index, tail) != tail.head.hash:
            self.forget()
            index = self._awake(tail, fresh=True)
        self._note_epoch(index, tail)
        if was_asleep:
            upkeep.finish_left(self, index)
        return index

    def begin(self, tail: Tail) -> Tail:
        """Adds the event that names the space to an empty ledger, if this handle may create it."""
        if tail.place is None:
            if not self.creates:
                raise NotFound(f"the space {self._name!r} does not exist in {self.where}")
            self.ledger.make()
            self.look()
        self.forget()
        self.index = Index.empty(self._name)
        with suppress(Late):  # another process began it
            self.note(SpaceOpened(space=self._name))
        return self.look()

    def _awake(self, tail: Tail, *, fresh: bool = False) -> Index:
        """The index: as it is, from a snapshot, or folded from the whole ledger."""
        if self.index is not None:
            return self.index
        kept = None if fresh else self.ledger.snapshot(version())
        woken = None if kept is None else Index.woken(kept.image, self._name)
        if woken is not None and kept is not None and woken.position.seq <= tail.head.seq:
            self.index, self._kept = woken, kept.seq
        else:
            self.index = Index.folded(
                self._name, self.ledger.pieces(0), self._subjects, total=tail.size
            )
            self._kept = 0
        self.epoch = tail.epoch
        if self.ledger.keeps_caches:
            self.index.put_aside()
        return self.index

    def _fold_new(self, index: Index, tail: Tail) -> None:
        """Folds what the look brought, or more if that is not all."""
        after = index.position.seq
        last = tail.data.count(b"\n") + after
        is_all = last == tail.head.seq
        pieces = (tail.data,) if is_all else self.ledger.pieces(after)
        for order in index.follow(pieces, self._subjects):
            self._subjects.forget(order.subjects)

    def _note_epoch(self, index: Index, tail: Tail) -> None:
        if tail.epoch != self.epoch:
            index.clean()
            self.epoch = tail.epoch
            self.drop_vectors()
        self.keep_snapshot(tail.head.seq)

    def keep_snapshot(self, seq: int, *, at_least: float = 1.5) -> None:
        """Keeps the index for processes that come later, once it has grown enough."""
        if not self.ledger.keeps_caches or seq < max(_SNAPSHOT_MIN_EVENTS, self._kept * at_least):
            return
        if self.index is not None and self._kept < seq:
            self._kept = seq
            snapshot = Snapshot(seq, self.index.image())
            self.ledger.keep_snapshot(self.epoch, version(), snapshot)

    def forget(self) -> None:
        """Drops the index; the next look makes another."""
        if self.index is not None:
            self.index.close()
        self.index = None

    def gone(self) -> None:
        """The space was dropped: every later call is refused."""
        self.is_dropped = True
        self.forget()

    def sleep(self) -> bool:
        """Drops the index to save memory, and keeps a snapshot; False if it is in use."""
        if not self._turn.acquire(blocking=False):
            return False
        try:
            if self._depth:
                return False
            if self.index is not None:
                with suppress(RecollectError):
                    self.keep_snapshot(self.index.position.seq, at_least=1.0)
            self.forget()
            return True
        finally:
            self._turn.release()

    # Writing.

    def submit(self, command: Command, answer: Answer[T]) -> T:
        """Decides, appends, folds; returns what ``answer`` reads in the same transaction."""
        self._check_usable()
        if self._owner != threading.get_ident():
            return self._group.submit(command, answer)
        request: Request[T] = Request(command, answer)  # a thread with the turn waits for no other
        self._lead([request])  # type: ignore[list-item]  # answers are not mixed up
        return request.result()

    def submit_all(
        self, commands: Sequence[Command], answer: Answer[T]
    ) -> list[T | RecollectError]:
        """Submits many commands in as few appends as they fit into; an outcome for each."""
        self._check_usable()
        if self._owner != threading.get_ident():
            return self._group.submit_all(commands, answer)
        requests = [Request(command, answer) for command in commands]
        done = 0
        while done < len(requests):
            done += self._lead(requests[done:])  # type: ignore[arg-type]  # as above
        return [request.outcome() for request in requests]

    def later(self, command: Command) -> bool:
        """Queues a command for this process's next append, or for ``flush`` or ``close``."""
        self._check_usable()
        self._group.leave(command, now=self._owner != threading.get_ident())
        return True

    def flush(self) -> None:
        """Writes the queued commands."""
        self._check_usable()
        if self._owner != threading.get_ident():  # else the leader might wait for this thread
            self._group.flush()

    def on_append(self, call: Listener) -> Listener:
        """Has a function called after each append that this object writes; returns what ends it."""
        return self._group.listeners.add(call)

    def told(self) -> None:
        """Tells those who listen that something was appended."""
        self._group.listeners.tell()

    def _lead(self, taken: list[AnyRequest]) -> int:
        """Writes one append for as many waiting callers as fit."""
        with self.held():
            for attempt in range(_TRIES_MAX_COUNT):
                waiting = self.ledger.alone() if attempt >= _ALONE_AFTER else nullcontext()
                with waiting:
                    # What is known decides first: mostly nobody else has written.
                    if self.index is None or attempt:
                        self.follow(self.look())
                    with suppress(Late):
                        return self._serve(taken, is_known=attempt == 0)
            raise Unavailable("other writers were faster each time", hint="try again")

    def _serve(self, taken: list[AnyRequest], *, is_known: bool) -> int:
        """Decides and appends; raises ``Late`` if another writer has come before."""
        with self._appending() as writing:
            done = writing.serve(taken)
            if is_known and (writing.count == 0 or any(one.is_declined for one in taken[:done])):
                self._check_current()
        return done

    def _check_current(self) -> None:
        """A refusal holds only if nothing was written meanwhile."""
        if self.index is None or self.look().head.seq != self.index.position.seq:
            raise Late

    def note(self, body: AnyBody) -> None:
        """Appends an event of the store itself."""
        with self.held(), self._appending(is_confirmed=True) as writing:
            writing.note("system", body)

    @contextmanager
    def _appending(self, *, is_confirmed: bool = False) -> Iterator[Writing]:
        """One append; at the end of the block it is durable and folded."""
        index = self.index
        if index is None:
            raise Late
        position = index.position
        index.db.run("begin_write")
        try:
            writing = Writing(
                index.db,
                position,
                self.seam,
                is_confirmed=is_confirmed,
                subjects=self._subjects,
                encrypted_for=lambda some: encrypted_for(self.ledger.pieces(0), some),
            )
            yield writing
            if writing.count:
                self._append(index, writing, position)
        finally:
            index.roll_back()

    def _append(self, index: Index, writing: Writing, before: PositionRow) -> None:
        """Sends the bytes; the rows go into the index while the ledger makes them durable."""
        data, head, active_us = writing.chained()
        erased = erased_by(writing.erasures())
        size = before.offset + len(data)

        def fold() -> None:
            writing.flush()
            index.move(head, active_us, size)

        self.append(Head(before.seq, before.hash, before.at), data, head, erased, fold)
        self.size = size
        self.keep_snapshot(head.seq)

    def append(
        self, before: Head, data: bytes, head: Head, erased: Erased | None, fold: Meanwhile
    ) -> None:
        """Appends to the ledger and then to the index; raises ``Late`` if it ends elsewhere."""
        held = [] if erased is None else self.ledger.blocks_holding(erased.targets)
        if not self.ledger.append(before, data, head, erased, fold):
            raise Late
        if self.index is not None:
            self.index.db.run("commit")
        if erased is not None:
            self._after_erasing(erased, held)

    def _after_erasing(self, erased: Erased, held: list[Block]) -> None:
        """The blocks that the order removed come back without what it erased."""
        self.epoch += 1
        self._subjects.forget(erased.subjects)
        self._kept = 0
        if held:
            from recollect.store.indexed.vectors import without

            for block in held:
                self.ledger.keep_block(self.epoch, without(block, erased.targets))
        self.drop_vectors()

    def drop_vectors(self) -> None:
        """Vectors are read again from the ledger: some were removed there."""
        for vectors in self._vectors.values():
            vectors.forget()

    @contextmanager
    def trying(self, command: Command) -> Iterator[Reads]:
        """Reads of the state after a command, in a copy: writers do not wait for a reader."""
        with self.inside() as index:
            copy = index.copy()
        try:
            copy.db.run("begin_write")
            with Writing(copy.db, copy.position, self.seam).trying(command) as reads:
                yield reads
        finally:
            copy.close()

    @property
    def subjects(self) -> Subjects:
        """The users whose memory is encrypted under keys of their own."""
        return self._subjects

    def destroy_keys(self, subjects: Collection[str], by: int) -> tuple[str, ...]:
        """Destroys keys with which nothing is encrypted, as an event orders."""
        with self.inside():
            if encrypted_for(self.ledger.pieces(0), subjects):
                return ()  # written since; it is erased by the next order
            return self._subjects.destroy(subjects, by)

    # Reading.

    @contextmanager
    def reading(self, at: int = NOW) -> Iterator[Reads]:
        """Reads that all see one state."""
        with self.inside() as index:
            yield Reads(index.db, at=at)

    def digest(self, at: int = NOW) -> str:
        """The state digest at a position."""
        with self.inside() as index:
            return state_digest(index.db, at)

    def head(self) -> Head:
        """Where the ledger ends."""
        with self.inside() as index:
            return index.head

    def seen(self) -> Head | None:
        """The last event that the index has folded, or None if it cannot fold the ledger."""
        try:
            return self.head()
        except (IntegrityError, ConfigError):  # bodies that cannot be read, or a key that is away
            return None

    def existing_head(self) -> Head:
        """The end of the ledger, without creating one; a genesis event alone does not count."""
        with self.held():
            head = self.look().head
        return head if head.seq > 1 else GENESIS

    def pieces(self, after: int = 0, offset: int = 0) -> Generator[bytes, None, None]:
        """The bytes of the ledger, in pieces; events that are written meanwhile follow."""
        self.head()  # like every other read, this one begins it
        yield from self.ledger.pieces(after)

    def line(self, seq: int) -> bytes | None:
        """The line of one event, without its newline."""
        self.head()
        return self.ledger.lines([seq]).get(seq)

    def size_bytes(self) -> int:
        """How many bytes ``pieces`` gives."""
        with self.inside():
            return self.size

    def checkpoints(self) -> Checkpoints:
        """The checkpoints beside the ledger."""
        return self.ledger.checkpoints()

    def vectors(self, name: str, dimensions: int) -> Vectors:
        """The vectors of an embedder, kept with the ledger."""
        from recollect.store.indexed.vectors import KeptVectors

        made = KeptVectors(self, name, dimensions)
        return self._vectors.setdefault((name, dimensions), made)

    # Receiving and upkeep.

    def admit(self, line: Line) -> None:
        """Allows everything: who opened this has the ledger."""

    def receive(
        self, pieces: Iterable[bytes], tick: Tick | None = None, keys: Collection[Wrapped] = ()
    ) -> Head:
        """Appends the events that another store's ledger has beyond this one, unchanged."""
        with self.held():
            head = upkeep.receive(self, pieces, tick, keys)
        self.told()
        return head

    def rebuild(self, progress: Progress | None = None) -> Rebuilt:
        """Discards the index and folds the whole ledger again."""
        with self.held():
            tail = self.look()
            if tail.head.seq == 0:
                tail = self.begin(tail)
            self.forget()
            found = self.ledger.pieces(0)
            self.index = Index.folded(self._name, found, self._subjects, progress, tail.size)
            self.epoch, self._kept = tail.epoch, 0
            if progress is not None:
                progress(tail.size, tail.size)
            return Rebuilt(events=self.index.position.seq)

    def index_problem(self, progress: Progress | None = None) -> str | None:
        """How the index differs from a fresh fold of the ledger; None if it is equal."""
        return upkeep.index_problem(self, progress)

    def purge(self) -> tuple[str, ...]:
        """Finishes every recorded erasure; returns the places that it cleaned."""
        return upkeep.purge(self)

    def backup(self, target: str | None, progress: Progress | None = None) -> Backup:
        """Copies the ledger to a new folder on this machine."""
        return upkeep.copy_ledger(self, target, progress)

    def seal(self) -> Sealed:
        """Appends the event that records the state; there is no file to close."""
        sealed = upkeep.seal(self)
        self.told()
        return sealed

    def examine(self, progress: Progress | None = None) -> list[Finding]:
        """The findings of ``doctor``; compares the index with the ledger and changes nothing."""
        return upkeep.examine(self, progress)

    def accept_loss(self, reason: str | None) -> None:
        """Erases bodies that nobody can read, records that in events, and folds again."""
        upkeep.accept_loss(self, reason)
        self.told()

    def would_drop(self) -> Drop:
        """What dropping the space would remove."""
        return upkeep.would_drop(self)

    def drop(self, reason: str | None) -> Drop:
        """Drops the space: every later call is refused."""
        return upkeep.drop(self, reason)

    @property
    def is_closed(self) -> bool:
        """True after ``close``."""
        return self._closed

    def close(self) -> None:
        """Writes the queued commands and releases the index; may be called twice."""
        if self._closed:
            return
        with suppress(RecollectError):  # a receipt that cannot be written is not an error
            self.flush()
        with self._turn:
            self._closed = True
            self.forget()


class Late(Exception):
    """Another writer has appended since the look at the ledger."""


def _hash_at(index: Index, tail: Tail) -> str:
    """The hash that the index has for the head of a look; more may have been folded since."""
    position = index.position
    return position.hash if position.seq == tail.head.seq else tail.head.hash
