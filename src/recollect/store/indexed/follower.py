"""The index of one ledger in this process, kept at the ledger's end.

Responsible for when the ledger is asked, for folding what is new, and for appending: once more if
another writer came before. Leaves the ledger to ``store.indexed.ledger``, the index to
``store.indexed.index``, and what is written and read to ``store.indexed.space``. Invariants: every
read sees every append that was acknowledged before it began; the index never holds an event that
the ledger has not; one thread at a time uses the index.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, TypeVar

from recollect.errors import NotFound, RecollectError, Unavailable
from recollect.index.caches import forget_texts
from recollect.index.rows import PositionRow, Undecodable
from recollect.ledger.erasure import encrypted_for
from recollect.ledger.scan import Damage
from recollect.model.events import AnyBody, Head, SpaceOpened
from recollect.model.values import Rebuilt, Token
from recollect.store.drop import was_dropped
from recollect.store.indexed.blocks import without
from recollect.store.indexed.index import Index, version
from recollect.store.indexed.ledger import (
    NOTHING_NEW,
    Block,
    Erased,
    Late,
    Ledger,
    Meanwhile,
    Snapshot,
    Tail,
    erased_by,
)
from recollect.store.indexed.turns import Turn
from recollect.store.keys.subjects import Subjects
from recollect.store.port import Progress
from recollect.store.seam import Seam
from recollect.store.write_path import Writing

T = TypeVar("T")

_TRIES_COUNT: Final = 2  # then the other writers of the ledger wait
_OPEN_BYTES: Final = 256 << 10  # of what SQLite keeps beside the pages: its schema and statements
_SNAPSHOT_MIN_EVENTS: Final = 32  # fewer are folded as fast


class _Overtaken(Exception):
    """Something was erased between a look at the ledger and waking."""


class Follower:
    """An index that follows its ledger. Safe to share between threads."""

    def __init__(
        self,
        ledger: Ledger,
        name: str,
        seam: Seam,
        *,
        create: bool,
        used: Callable[[Follower], None] = lambda space: None,
    ) -> None:
        self._name = name
        self.ledger = ledger
        self.seam = seam
        self.creates = create
        self.is_dropped = False
        self.index: Index | None = None  # while it is awake
        self.epoch = self.blocks = self.size = 0  # of the ledger, as of the last look
        self._dropped = 0  # the epoch up to which nothing that was erased is in the index
        self._used = used  # told whenever the index was asked for
        self._place: int | None = None  # which ledger of this name it is
        self._kept = 0  # the event up to which there is a snapshot
        self._subjects = ledger.subjects()
        self._turn = Turn()
        self._outdated = list[Index]()  # a read further out in this thread may still use them
        self._lost = list[Block]()  # blocks that an erasure removed, with what it erased
        self._closed = False
        self._pid = os.getpid()

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
    def place(self) -> int:
        """Which ledger of this name it is; 0 before the first look."""
        return self._place or 0

    @property
    def awake_bytes(self) -> int:
        """How much memory the index takes, about."""
        index = self.index
        return 0 if index is None else index.size_bytes + _OPEN_BYTES

    @property
    def subjects(self) -> Subjects:
        """The users whose memory is encrypted under keys of their own."""
        return self._subjects

    @property
    def is_closed(self) -> bool:
        """True after ``close``, and in a forked child, which has no part in the connections."""
        return self._closed or os.getpid() != self._pid

    @contextmanager
    def inside(self) -> Iterator[Index]:
        """The index with everything that was acknowledged; the turn is this thread's."""
        with self.held():
            if self._turn.depth > 1 and self.index is not None:
                yield self.index
            else:
                yield self.follow(self.look())
        self._note_use()

    @contextmanager
    def looking(self, hash: bytes) -> Iterator[tuple[Token | None, bool]]:
        """One look for every read in this block: the token of a hash, and whether there is a space.

        Nothing is created.
        """
        with self.held():
            tail = self.look(hash)
            if tail.place is None or tail.head.seq == 0:
                self.forget()
            elif _opens(tail.token, self._name):
                self.follow(tail)  # for nobody else: a stranger makes this process fold nothing
            yield tail.token, tail.place is not None
        self._note_use()

    @contextmanager
    def held(self) -> Iterator[None]:
        """The turn of this thread; it may have it already."""
        self.check_usable()  # in a forked child, a thread that is not there may have the turn
        with self._turn:
            self.check_usable()
            try:
                self._leave_unfinished()
                yield
                if self._turn.depth == 1:
                    self._keep_caches()
            finally:
                if self._turn.depth == 1:
                    self._close_outdated()

    def _leave_unfinished(self) -> None:
        """Drops an index that the last turn left in a transaction.

        An exception from outside (Ctrl-C, a time limit) may come before any ``try`` of ours, or in
        its ``finally``. What the ledger has of it is folded again.
        """
        if self._turn.depth == 1 and self.index is not None and self.index.db.in_transaction:
            self.forget()

    def check_usable(self) -> None:
        """Refuses a space that was dropped or closed."""
        if self.is_dropped:
            raise was_dropped(self._name, self.where)
        if self.is_closed:
            raise Unavailable("this memory is closed", hint="open it again")

    def _note_use(self) -> None:
        """Tells of a use, and only at its end: others may be put to sleep for it."""
        if not self._turn.is_mine:
            self._used(self)

    def look(self, hash: bytes | None = None) -> Tail:
        """Asks the ledger what is new."""
        after = NOTHING_NEW if self.index is None else self.index.position.seq
        tail = self.ledger.tail(after, hash, None if self.index is None else self._dropped)
        if self._place is not None and tail.place != self._place:
            self.gone()
            raise was_dropped(self._name, self.where)
        self._place = tail.place
        self.blocks, self.size = tail.blocks, tail.size
        return tail

    def follow(self, tail: Tail) -> Index:
        """Brings the index to the end of the ledger, as it was in this look."""
        try:
            return self._follow(tail)
        except _Overtaken:
            return self.follow(self.look())

    def _follow(self, tail: Tail) -> Index:
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
        if not _leads_to(index, tail):
            self.forget()
            index = self._awake(tail, fresh=True)
        if not _leads_to(index, tail):
            return self._follow_again(tail)
        self._note_epoch(index, tail)
        if was_asleep:
            self.woken(index)
        return index

    def _follow_again(self, tail: Tail) -> Index:
        """The ledger was dropped or emptied while it was read, or its events were damaged."""
        self.forget()
        again = self.look()
        if again.head == tail.head:
            raise Damage(tail.head.seq, "the events do not lead to the head that is noted")
        return self.follow(again)

    def begin(self, tail: Tail) -> Tail:
        """Adds the event that names the space to an empty ledger, if this handle may create it."""
        if tail.place is None:
            if not self.creates:
                raise NotFound(f"the space {self._name!r} does not exist in {self.where}")
            self.ledger.make()
            self.look()
        self.forget()
        self._subjects.begin()
        self.index = Index.empty(self._name)
        with suppress(Late):  # another process began it
            self.note(SpaceOpened(space=self._name))
        return self.look()

    def _awake(self, tail: Tail, *, fresh: bool = False) -> Index:
        """The index: as it is, from a snapshot, or folded from the whole ledger."""
        if self.index is not None:
            return self.index
        epoch, kept = self.ledger.wake(version(), tail.epoch)
        if epoch not in (None, tail.epoch):
            raise _Overtaken
        woken = None if kept is None or fresh else Index.woken(kept.image, self._name)
        if woken is not None and kept is not None and woken.position.seq <= tail.head.seq:
            self.index, self._kept = woken, kept.seq
        else:
            self.index = Index.folded(
                self._name,
                self._subjects.ahead(self.ledger.pieces(0, tail.head.seq)),
                self._subjects,
                total=tail.size,
            )
            self._kept = 0
        self.epoch = self._dropped = tail.epoch
        return self.index

    def woken(self, index: Index) -> None:
        """Called when the index was asleep before."""

    def _fold_new(self, index: Index, tail: Tail) -> None:
        """Folds what the look brought, or more if that is not all."""
        after = index.position.seq
        last = tail.data.count(b"\n") + after
        is_all = last == tail.head.seq
        pieces = (tail.data,) if is_all else self.ledger.pieces(after, tail.head.seq)
        for order in index.follow(self._subjects.ahead(pieces), self._subjects):
            self._subjects.forget(order.subjects)

    def _note_epoch(self, index: Index, tail: Tail) -> None:
        if tail.epoch != self.epoch:
            index.clean()
            self.epoch = tail.epoch
            self.drop_vectors()
            forget_texts()

    def rebuild(self, progress: Progress | None = None) -> Rebuilt:
        """Discards the index and folds the whole ledger again."""
        with self.held():
            tail = self.look()
            if tail.head.seq == 0:
                tail = self.begin(tail)
            self.forget()
            self.ledger.hold(tail.epoch)  # before it: an order that comes meanwhile names this one
            found = self._subjects.ahead(self.ledger.pieces(0))
            self.index = Index.folded(self._name, found, self._subjects, progress, tail.size)
            self.epoch, self._dropped, self._kept = tail.epoch, tail.epoch, 0
            self.woken(self.index)
            if progress is not None:
                progress(tail.size, tail.size)
            return Rebuilt(events=self.index.position.seq)

    def _keep_caches(self) -> None:
        """Keeps what helps processes that come later; the call that was made does not need it."""
        with suppress(RecollectError):
            self.note_held()
            while self._lost:
                self.ledger.keep_block(self.epoch, self._lost.pop())
            if self.index is not None and self.ledger.keeps_caches:
                self.index.put_aside()
                self._keep_snapshot(self.index)

    def note_held(self) -> None:
        """Tells the ledger whether an index is here, and what it has dropped."""
        if self.index is None:
            self.ledger.let_go()
            return
        if self.index.is_clean:
            self._dropped = self.epoch
        self.ledger.hold(self._dropped)

    def _keep_snapshot(self, index: Index, *, at_least: float = 1.5) -> None:
        """Keeps the index once it has grown enough, and without anything that was erased."""
        seq = index.position.seq
        if seq < max(_SNAPSHOT_MIN_EVENTS, self._kept * at_least) or self._kept >= seq:
            return
        if index.is_clean:
            self._kept = seq
            self.ledger.keep_snapshot(self.epoch, version(), Snapshot(seq, index.image()))

    def forget(self) -> None:
        """Drops the index and what was read with it; the next look makes another."""
        self.drop_vectors()
        self._subjects.let_go()
        if self.index is not None:
            self._outdated.append(self.index)
            self.index = None
        if self._turn.depth < 2:
            self._close_outdated()

    def drop_vectors(self) -> None:
        """Called when blocks of vectors were removed from the ledger."""

    def _close_outdated(self) -> None:
        while self._outdated:
            self._outdated.pop().close()

    def gone(self) -> None:
        """The space was dropped: every later call is refused."""
        self.is_dropped = True
        self.forget()
        with suppress(RecollectError):
            self.ledger.let_go()

    def sleep(self) -> bool:
        """Drops the index to save memory, and keeps a snapshot; False if it is in use."""
        if self.is_closed or not self._turn.take_if_free():
            return False
        try:
            self._leave_unfinished()
            if self.index is not None and self.ledger.keeps_caches:
                with suppress(RecollectError):
                    self._keep_snapshot(self.index, at_least=1.0)
            self.forget()
            with suppress(RecollectError):
                self.ledger.let_go()
            return True
        finally:
            self._turn.give_back()

    def settled(self, work: Callable[[bool], T]) -> T:
        """Does what appends, again if another writer came before; at last the others wait."""
        with self.held():
            for attempt in range(_TRIES_COUNT):
                with suppress(Late):
                    return work(attempt == 0)
            with self._alone():
                return work(False)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Other writers wait. What was appended is durable at the end; until then it may fail."""
        try:
            with self.ledger.alone():
                yield
        except BaseException:
            self.forget()
            raise

    def note(self, body: AnyBody) -> None:
        """Appends an event of the store itself."""
        with self.held(), self.appending(is_confirmed=True) as writing:
            writing.note("system", body)

    @contextmanager
    def appending(self, *, is_confirmed: bool = False) -> Iterator[Writing]:
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

    def append(
        self, before: Head, data: bytes, head: Head, erased: Erased | None, fold: Meanwhile
    ) -> None:
        """Appends to the ledger and then to the index; raises ``Late`` if it ends elsewhere."""
        held = [] if erased is None else self.ledger.blocks_holding(erased.targets)
        if not self.ledger.append(before, data, head, erased, fold):
            raise Late
        if self.index is not None:
            self.index.commit()
        if erased is not None:
            self._after_erasing(erased, held)

    def _after_erasing(self, erased: Erased, held: list[Block]) -> None:
        """The blocks that the order removed come back without what it erased."""
        self.epoch += 1
        self._kept = 0
        self._subjects.forget(erased.subjects)
        self.drop_vectors()
        if self.index is not None:
            self.index.is_clean = False
        left = (without(self.place, block, erased.targets) for block in held)
        self._lost += [block for block in left if block is not None]


def _opens(token: Token | None, name: str) -> bool:
    """True if a token is live and for this space."""
    return token is not None and token.live and token.space in (None, name)


def _leads_to(index: Index, tail: Tail) -> bool:
    """True if an index has the events up to the head of a look; it may have more."""
    position = index.position
    is_there = (position.seq, position.hash) == (tail.head.seq, tail.head.hash)
    return is_there or position.seq > tail.head.seq
