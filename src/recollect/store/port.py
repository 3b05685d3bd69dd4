"""The store port: what every engine provides.

Responsible for the contract; each sentence in a list below has a test of the same name in
``recollect.testing``. An engine implements ``Space``; its parts are protocols for callers that need
less. Leaves everything else to the engines.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec

from recollect.errors import RecollectError, Unavailable
from recollect.index.reads import Reads
from recollect.index.statements import NOW
from recollect.ledger.line import Line
from recollect.lifecycle.commands import Actor, Command
from recollect.model.events import Head
from recollect.model.values import Backup, Drop, Dropped, Finding, Rebuilt, Sealed, Token
from recollect.store.keys.subjects import Subjects
from recollect.store.keys.wrapped_keys import Wrapped
from recollect.store.listeners import Listener
from recollect.store.tokens.tokens import Tokens

if TYPE_CHECKING:  # numpy is loaded only if there are vectors, jobs only if there is work
    import numpy as np
    from numpy.typing import NDArray

    from recollect.store.jobs.jobs import Jobs

    Vector = NDArray[np.float32]  # one vector
    Matrix = NDArray[np.float32]  # one vector on each row

T = TypeVar("T")
Accept = Callable[[Sequence[int]], AbstractSet[int]]  # the texts that may be found
Progress = Callable[[int, int], None]  # done, total
Tick = Callable[[int], None]  # done


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a command: its events (none if nothing had to change) and its subjects."""

    first: int
    last: int
    subjects: tuple[str, ...]
    repeated: bool = False


Answer = Callable[[Reads, Outcome], T]


class IndexHealed(Unavailable):
    """The index was damaged and has been rebuilt: the same read now succeeds."""


class Vectors(Protocol):
    """The vectors of one embedder for the texts of a space: a cache beside the index.

    A text is identified by its number in full text; it has a row for each piece.

        - Every text up to ``through`` has its rows, unless it was erased.
        - Texts that are not accepted push no other out of the best.
        - A text's score does not depend on what else is kept.
        - Of texts with the same score the newest comes first.
        - What is deleted, foreign or torn is taken for nothing, never for an answer.
    """

    @property
    def keeps(self) -> bool:
        """True if rows can be added here."""
        ...

    def through(self) -> int:
        """The position up to which every text has its rows."""
        ...

    def add(self, after: int, through: int, texts: Sequence[tuple[int, Matrix]]) -> None:
        """Adds the rows of all texts after one position, up to another.

        Existing rows stay; nothing is added if there is a gap before these rows.
        """
        ...

    def expect(self, queries: Matrix) -> None:
        """Announces the next queries, so that an engine can score all of them in one pass."""
        ...

    def best(self, query: Vector, n: int, accept: Accept) -> list[tuple[int, float]]:
        """The accepted texts that are nearest to a row, best first, each by its best piece."""
        ...

    def scores(self, query: Vector, seqs: Iterable[int]) -> dict[int, float]:
        """The scores of those of these texts that have rows."""
        ...


class Checkpoints(Protocol):
    """The checkpoints of a ledger: signed notes, each under its number of events.

    What they are worth depends on who signed them, which nothing here checks.

        - A note is given back as it was kept.
        - Sizes come in order.
        - A note takes the place of another one of its size.
        - Spaces do not share notes.
        - A dropped space leaves no note.
        - Looking writes nothing.
        - What is signed does not depend on the frontier.
    """

    @property
    def keeps(self) -> bool:
        """True if notes can be added here."""
        ...

    def sizes(self) -> list[int]:
        """The numbers of events for which there is a note, the smallest first."""
        ...

    def note(self, size: int) -> bytes:
        """The note for so many events."""
        ...

    def keep(self, size: int, note: bytes) -> None:
        """Keeps a note, in place of another one of the same size."""
        ...

    def frontier(self) -> bytes | None:
        """What ``keep_frontier`` was given last, if it is still there."""
        ...

    def keep_frontier(self, data: bytes) -> None:
        """Keeps where the next checkpoint continues; it may be lost at any time."""
        ...


class Readable(Protocol):
    """A space for callers that only read it.

    - A reader sees whole appends only.
    - Positions become visible in order.
    """

    @property
    def name(self) -> str:
        """The space's name."""
        ...

    @property
    def where(self) -> str:
        """The location, for people."""
        ...

    def reading(self, at: int = NOW) -> AbstractContextManager[Reads]:
        """Reads that all see one state.

        A damaged index is rebuilt; then ``IndexHealed`` is raised, and repeating the reads gives
        the right answer.
        """
        ...

    def digest(self, at: int = NOW) -> str:
        """The state digest at a position."""
        ...

    def head(self) -> Head:
        """Where the ledger ends."""
        ...

    def seen(self) -> Head | None:
        """The last event that the index has folded, or None if that is unknown."""
        ...


class Searchable(Readable, Protocol):
    """A space for callers that also search it by meaning."""

    def vectors(self, name: str, dimensions: int) -> Vectors:
        """The vectors of an embedder; cheap, and creates nothing."""
        ...


class Copyable(Readable, Protocol):
    """A space for callers that copy its ledger elsewhere, or another ledger into it."""

    def pieces(self, after: int = 0, offset: int = 0) -> Iterator[bytes]:
        """The bytes of the ledger, in pieces, taken between two appends.

        Events that are written during the read may follow. ``after`` leaves out the events up to
        that one; ``offset`` was the position's when that event was the last, and makes it faster.
        """
        ...

    def line(self, seq: int) -> bytes | None:
        """The line of one event, without its newline; None if this caller sees no such event."""
        ...

    def size_bytes(self) -> int:
        """About how many bytes ``pieces`` gives."""
        ...

    def existing_head(self) -> Head:
        """The end of the ledger, without creating one; the start if there are no events."""
        ...

    def admit(self, line: Line) -> None:
        """Refuses an event of another store that this caller may not write."""
        ...

    def receive(
        self, pieces: Iterable[bytes], tick: Tick | None = None, keys: Collection[Wrapped] = ()
    ) -> Head:
        """Appends the events that another store's ledger has beyond this one, unchanged.

        Continues after this ledger's head, which must be an event of the other ledger. If it is
        stopped at any moment, whole appends are kept and the next call continues after them.
        ``tick`` is called with the number of bytes of the other ledger that were processed.
        ``keys`` are those of subjects that are not known here; they are kept before the events.
        """
        ...

    @property
    def subjects(self) -> Subjects:
        """The users whose memory is encrypted under keys of their own.

        A key is made before it is used, and an order to destroy it names all that it encrypted.
        """
        ...

    def tokens(self) -> list[Token]:
        """The tokens that open this space, for who may erase in it; creates nothing."""
        ...

    def checkpoints(self) -> Checkpoints:
        """The checkpoints beside the ledger; cheap, and creates nothing."""
        ...

    def purge(self) -> tuple[str, ...]:
        """Finishes every recorded erasure; returns the places that it cleaned."""
        ...


class Upkeep(Protocol):
    """A space for maintenance."""

    def index_problem(self, progress: Progress | None = None) -> str | None:
        """How the index differs from a fresh fold of the ledger; None if it is equal."""
        ...

    def rebuild(self, progress: Progress | None = None) -> Rebuilt:
        """Discards the index and folds the whole ledger again."""
        ...

    def backup(self, target: str | None, progress: Progress | None = None) -> Backup:
        """Copies the ledger to a new folder; two in one second get two folders."""
        ...

    def seal(self) -> Sealed:
        """Closes the active file into a segment; the first event of the next file records it."""
        ...

    def examine(self, progress: Progress | None = None) -> list[Finding]:
        """The findings of ``doctor``; compares the index with the ledger and changes nothing."""
        ...

    def accept_loss(self, reason: str | None) -> None:
        """Accepts that events were lost: keeps the valid ones and appends an event about it."""
        ...


class Space(Searchable, Copyable, Upkeep, Protocol):
    """One space: its ledger and its index; every engine implements all of it.

    - A submitted command is durable when the call returns.
    - A refused command leaves nothing behind.
    - A command happens once for each id.
    - A refused command among many concerns no other.
    - A command that is tried leaves nothing behind.
    - A listener hears of an append when it is durable.
    - What a listener raises concerns no writer.
    """

    @property
    def widest(self) -> Actor | None:
        """The widest rights of a handle here; None if there is no limit."""
        ...

    def pages_folder(self) -> Path | None:
        """Where pages are written by default; None if the space has no folder."""
        ...

    @property
    def is_dropped(self) -> bool:
        """True once this process has noticed that the space was dropped."""
        ...

    @property
    def is_closed(self) -> bool:
        """True after ``close``."""
        ...

    def submit(self, command: Command, answer: Answer[T]) -> T:
        """Decides, appends, folds; returns what ``answer`` reads in the same transaction."""
        ...

    def submit_all(
        self, commands: Sequence[Command], answer: Answer[T]
    ) -> list[T | RecollectError]:
        """Submits many commands in as few appends as they fit into; an outcome for each.

        Each is decided as if it were submitted alone, in this order; a refusal is returned in its
        place and concerns no other command.
        """
        ...

    def destroy_keys(self, subjects: Collection[str], by: int) -> tuple[str, ...]:
        """Destroys keys with which nothing is encrypted, as an event orders."""
        ...

    def trying(self, command: Command) -> AbstractContextManager[Reads]:
        """Reads of the state after a command; then it is undone, and nothing of it is written."""
        ...

    def later(self, command: Command) -> bool:
        """Queues a command for this process's next append, or for ``flush`` or ``close``.

        It does not cost an append, and a crash before the next one loses it. Returns False, and
        queues nothing, if this caller may not write the space.
        """
        ...

    def flush(self) -> None:
        """Writes the queued commands."""
        ...

    def on_append(self, call: Listener) -> Listener:
        """Has a function called after each append that this object writes; returns what ends it.

        The thread that wrote calls it, with no lock held, so it should only wake another one. It
        may be called when nothing is new. Of other processes ``Backend.heads`` tells.
        """
        ...

    def close(self) -> None:
        """Writes the queued commands and releases files and connections; may be called twice."""
        ...


class Opened(Protocol):
    """The open spaces of a store, which all that enter it share."""

    def __call__(self, name: str, *, create: bool) -> Space:
        """A space by name."""
        ...


class Backend(Protocol):
    """Many spaces in one place.

    - A dropped space is gone, and a note of it stays.
    - A handle of a dropped space is refused, also if there is a new one of that name.
    - A new space of that name has another identity.
    - Heads are of the spaces that exist and may be read.
    """

    @property
    def where(self) -> str:
        """The location, for people."""
        ...

    def space(self, name: str, *, create: bool) -> Space:
        """A space by name; no I/O happens before it is used."""
        ...

    def spaces(self) -> list[str]:
        """The names of the spaces that exist."""
        ...

    def heads(self, names: Iterable[str]) -> dict[str, int]:
        """The last event of each of these spaces, in one look; a missing space is left out."""
        ...

    def drop(self, name: str, reason: str | None) -> Drop:
        """Drops a space whole: after a crash all of it is there, or the drop is finished later."""
        ...

    def would_drop(self, name: str) -> Drop:
        """What dropping a space would remove, and what would remain; changes nothing."""
        ...

    def dropped(self) -> list[Dropped]:
        """The notes about the spaces that were dropped here, oldest first."""
        ...

    def token(self) -> Token | None:
        """What the token that was given allows; None for the owner, who has none."""
        ...

    def entered(self, token: str, opened: Opened) -> Backend:
        """The same place for the holder of a token; ``opened`` gives the spaces that are open."""
        ...

    def tokens(self) -> Tokens:
        """What opens the spaces of this store; creates nothing."""
        ...

    def jobs(self) -> Jobs:
        """The work that was asked for in this store; creates nothing."""
        ...

    def give_up(self) -> None:
        """Ends every wait for a server at once, because the process ends; ``close`` follows."""
        ...

    def close(self) -> None:
        """Closes every space."""
        ...
