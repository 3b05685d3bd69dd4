"""One space: what is written to it and read from it, over an index that follows its ledger.

Responsible for the methods of the port: commands of many threads share an append, a refusal holds
only if it was decided on the newest state. Leaves following the ledger to
``store.indexed.follower`` and what is done to a whole ledger to ``store.indexed.upkeep``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from recollect.errors import ConfigError, IntegrityError, RecollectError, Unsupported
from recollect.index.digest import state_digest
from recollect.index.reads import Reads
from recollect.index.statements import NOW
from recollect.ledger.erasure import encrypted_for
from recollect.ledger.line import Line
from recollect.lifecycle.commands import Command
from recollect.model.events import GENESIS, Head
from recollect.model.values import Backup, Drop, Finding, Sealed, Token
from recollect.store.drop import drop_of
from recollect.store.group import AnyRequest, Group, Request
from recollect.store.indexed import upkeep
from recollect.store.indexed.follower import Follower
from recollect.store.indexed.index import Index
from recollect.store.indexed.ledger import NOTHING_NEW, Late, Ledger
from recollect.store.indexed.turns import has_one
from recollect.store.keys.wrapped_keys import Wrapped
from recollect.store.listeners import Listener
from recollect.store.port import Answer, Checkpoints, Progress, Tick, Vectors
from recollect.store.seam import Seam
from recollect.store.write_path import Writing

if TYPE_CHECKING:  # numpy is loaded only if there are vectors
    from recollect.store.indexed.vectors import KeptVectors

T = TypeVar("T")


class IndexedSpace(Follower):
    """One space. Safe to share between threads."""

    widest = None

    def __init__(
        self,
        ledger: Ledger,
        name: str,
        seam: Seam,
        *,
        create: bool,
        used: Callable[[Follower], None] = lambda space: None,
    ) -> None:
        super().__init__(ledger, name, seam, create=create, used=used)
        self._group = Group(self._lead)
        self._vectors: dict[tuple[str, int], KeptVectors] = {}

    def pages_folder(self) -> None:
        """No folder belongs to this space."""

    def woken(self, index: Index) -> None:
        """Finishes erasures that a process left unfinished."""
        upkeep.finish_left(self, index)

    def drop_vectors(self) -> None:
        """Vectors are read again from the ledger: some were removed there."""
        for vectors in [*self._vectors.values()]:
            vectors.forget()

    # Writing.

    def submit(self, command: Command, answer: Answer[T]) -> T:
        """Decides, appends, folds; returns what ``answer`` reads in the same transaction."""
        self.check_usable()
        if not has_one():
            return self._group.submit(command, answer)
        request: Request[T] = Request(command, answer)  # the leader might wait for this thread
        self._lead([request])  # type: ignore[list-item]  # answers are not mixed up
        self.told()
        return request.result()

    def submit_all(
        self, commands: Sequence[Command], answer: Answer[T]
    ) -> list[T | RecollectError]:
        """Submits many commands in as few appends as they fit into; an outcome for each."""
        self.check_usable()
        if not has_one():
            return self._group.submit_all(commands, answer)
        requests = [Request(command, answer) for command in commands]
        done = 0
        while done < len(requests):
            done += self._lead(requests[done:])  # type: ignore[arg-type]  # as above
        self.told()
        return [request.outcome() for request in requests]

    def later(self, command: Command) -> bool:
        """Queues a command for this process's next append, or for ``flush`` or ``close``."""
        self.check_usable()
        self._group.leave(command, now=not has_one())
        return True

    def flush(self) -> None:
        """Writes the queued commands."""
        self.check_usable()
        if not has_one():  # else the leader might wait for this thread
            self._group.flush()

    def on_append(self, call: Listener) -> Listener:
        """Has a function called after each append that this object writes; returns what ends it."""
        return self._group.listeners.add(call)

    def told(self) -> None:
        """Tells those who listen that something was appended."""
        self._group.listeners.tell()

    def _lead(self, taken: list[AnyRequest]) -> int:
        """Writes one append for as many waiting callers as fit."""
        return self.settled(lambda is_first: self._serve(taken, is_first=is_first))

    def _serve(self, taken: list[AnyRequest], *, is_first: bool) -> int:
        """Decides and appends; raises ``Late`` if another writer has come before."""
        # What is known decides first: mostly no other process has written.
        is_known = is_first and self.index is not None
        if not is_known:
            self.follow(self.look())
        with self.appending() as writing:
            done = writing.serve(taken)
            if is_known and (writing.count == 0 or any(one.is_declined for one in taken[:done])):
                self._check_current()
        return done

    def _check_current(self) -> None:
        """A refusal holds only if nothing was written meanwhile."""
        tail = self.ledger.tail(NOTHING_NEW)
        if self.index is None or (tail.place, tail.head) != (self._place, self.index.head):
            raise Late

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
        except (IntegrityError, ConfigError, Unsupported):  # bodies, or keys that are not here
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

    def tokens(self) -> list[Token]:
        """The tokens that open this space."""
        return [one for one in self.ledger.tokens() if one.space in (None, self.name)]

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
        """Erases bodies that no reader takes, records that in events, and folds again."""
        upkeep.accept_loss(self, reason)
        self.told()

    def would_drop(self) -> Drop:
        """What dropping the space would remove."""
        with self.held():
            return drop_of(self, self.look().size, ())

    def drop(self, reason: str | None) -> Drop:
        """Drops the space: every later call is refused."""
        with self.held():
            return upkeep.drop(self, reason, self.would_drop())

    def close(self) -> None:
        """Writes the queued commands and releases the index; may be called twice."""
        if self.is_closed:
            return
        with suppress(RecollectError):  # a receipt that cannot be written is not an error
            self.flush()
        with self._turn:
            self._closed = True
            self.forget()
            with suppress(RecollectError):
                self.ledger.let_go()
