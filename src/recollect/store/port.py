"""The store port: what the use cases ask of an engine.

Responsible for the contract; each sentence below has a test of the same name in
``recollect.testing``. ``Space`` is what an engine provides; its parts are for callers that need no
more. Leaves everything else to the engines beside this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec

from recollect.errors import Unavailable
from recollect.index.reads import Reads
from recollect.index.statements import NOW
from recollect.ledger.line import Line
from recollect.lifecycle.commands import Actor, Command
from recollect.model.events import Head
from recollect.model.values import Backup, Finding, Rebuilt, Sealed

if TYPE_CHECKING:  # numpy is loaded only for who has vectors
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]  # one vector
    Matrix = NDArray[np.float32]  # one vector on each row

T = TypeVar("T")
Accept = Callable[[Sequence[int]], AbstractSet[int]]  # of these texts, those that may be found
Progress = Callable[[int, int], None]  # done, total
Tick = Callable[[int], None]  # done


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a command came to: its events (none if nothing had to change) and its subjects."""

    first: int
    last: int
    subjects: tuple[str, ...]
    repeated: bool = False


Answer = Callable[[Reads, Outcome], T]


class IndexHealed(Unavailable):
    """The index was damaged and has been built again: the same question now has its answer."""


class Vectors(Protocol):
    """The vectors that one embedder made of a space's texts: a cache beside the index.

    A text is known by the number under which full text knows it; it has a row for each piece.

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
        """Up to which position every text has its rows."""
        ...

    def add(self, after: int, through: int, texts: Sequence[tuple[int, Matrix]]) -> None:
        """The rows of all texts after the one position, up to the other.

        Those that are there already stay; nothing happens if there is a gap before them.
        """
        ...

    def expect(self, queries: Matrix) -> None:
        """These will be asked next: an engine may look at its rows once for all of them."""
        ...

    def best(self, query: Vector, n: int, accept: Accept) -> list[tuple[int, float]]:
        """The accepted texts that are nearest to a row, best first, each by its best piece."""
        ...

    def scores(self, query: Vector, seqs: Iterable[int]) -> dict[int, float]:
        """How near those of these texts are that have rows."""
        ...


class Readable(Protocol):
    """A space for those who only ask what it holds.

    - A reader sees whole appends only.
    - Positions become visible in order.
    """

    @property
    def name(self) -> str:
        """The space's name."""
        ...

    @property
    def where(self) -> str:
        """A place a person can look at."""
        ...

    def reading(self, at: int = NOW) -> AbstractContextManager[Reads]:
        """Reads that all see one state.

        An index that turns out to be damaged is built again; then ``IndexHealed`` is raised, and
        the same reads give the right answer.
        """
        ...

    def digest(self, at: int = NOW) -> str:
        """The state digest at a position."""
        ...

    def head(self) -> Head:
        """Where the ledger ends."""
        ...

    def seen(self) -> Head | None:
        """The last event that the index has folded, as far as it can be asked."""
        ...


class Searchable(Readable, Protocol):
    """A space for those who also search it by meaning."""

    def vectors(self, name: str, dimensions: int) -> Vectors:
        """The vectors of an embedder; cheap, and nothing is made by looking."""
        ...


class Ledger(Readable, Protocol):
    """A space for those who carry its ledger elsewhere, or another's to it."""

    def pieces(self) -> Iterator[bytes]:
        """The ledger's bytes, in pieces, as they lie there when no writer is at work.

        What is written while they are read may follow.
        """
        ...

    def size_bytes(self) -> int:
        """How many bytes ``pieces`` gives, about."""
        ...

    def begun(self) -> Head:
        """Where the ledger ends, without opening one: before the first event if there is none."""
        ...

    def admit(self, line: Line) -> None:
        """Refuses an event of another store that whoever opened this one may not bring."""
        ...

    def receive(self, pieces: Iterable[bytes], tick: Tick | None = None) -> Head:
        """Appends what a whole ledger of another store holds beyond this one, as it is.

        Goes on after this ledger's head, which must be an event of the other one. Stopped at any
        moment, whole appends are kept and the next call goes on after them. ``tick`` hears how many
        of the other ledger's bytes are done with.
        """
        ...

    def purge(self) -> tuple[str, ...]:
        """Finishes every erasure that is on record; names the places it cleaned."""
        ...


class Upkeep(Protocol):
    """A space for the person who looks after it."""

    def index_problem(self, progress: Progress | None = None) -> str | None:
        """How the index differs from a fresh fold of the ledger; None if it does not."""
        ...

    def rebuild(self, progress: Progress | None = None) -> Rebuilt:
        """Throws the index away and folds the whole ledger again."""
        ...

    def backup(self, target: str | None, progress: Progress | None = None) -> Backup:
        """Copies the ledger to a new folder; two in one second get two folders."""
        ...

    def seal(self) -> Sealed:
        """Closes the active file into a segment; the one line of the next says what it came to."""
        ...

    def examine(self, progress: Progress | None = None) -> list[Finding]:
        """What a doctor sees, without changing anything; the index is compared with the ledger."""
        ...

    def accept_loss(self, reason: str | None) -> None:
        """Goes on from what the ledger still holds, and leaves an event that says so."""
        ...


class Space(Searchable, Ledger, Upkeep, Protocol):
    """One space: its ledger and its index; an engine has all of this.

    - A submitted command is durable when the call returns.
    - A refused command leaves nothing behind.
    - A command happens once for each id.
    """

    @property
    def widest(self) -> Actor | None:
        """The most that a handle may do here; None if whoever opens it is its owner."""
        ...

    def submit(self, command: Command, answer: Answer[T]) -> T:
        """Decides, appends, folds; returns what ``answer`` reads in the same transaction."""
        ...

    def later(self, command: Command) -> bool:
        """Lets a command ride on this process's next append, or on ``flush`` or ``close``.

        It costs no append of its own, and a crash before one loses it. False, and nothing left, if
        whoever opened the space may not write it.
        """
        ...

    def flush(self) -> None:
        """Writes what still waits to ride."""
        ...

    def close(self) -> None:
        """Writes what waits to ride, lets go of files and connections; twice is fine."""
        ...


class Backend(Protocol):
    """Many spaces in one place."""

    @property
    def where(self) -> str:
        """A place a person can look at."""
        ...

    def space(self, name: str, *, create: bool) -> Space:
        """A space by name; no I/O happens before it is used."""
        ...

    def spaces(self) -> list[str]:
        """The names of the spaces that exist."""
        ...

    def close(self) -> None:
        """Closes every space."""
        ...
