"""Vectors, checkpoints and subjects of a space that was entered with a token.

Responsible for refusing to add to them. Leaves reading them to the engine. Invariant: who may add
is the same on every engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from recollect.errors import Forbidden
from recollect.store.keys.subjects import Subjects
from recollect.store.port import Accept, Checkpoints, Vectors
from recollect.store.tokens.grants import Grant

if TYPE_CHECKING:  # numpy is loaded only if there are vectors
    from recollect.store.port import Matrix, Vector


class GuardedVectors:
    """The vectors of an embedder: adding them needs the texts of all users."""

    def __init__(self, vectors: Vectors, *, keeps: bool) -> None:
        self._vectors = vectors
        self._keeps = keeps

    @property
    def keeps(self) -> bool:
        """True if rows can be added here."""
        return self._keeps and self._vectors.keeps

    def through(self) -> int:
        """The position up to which every text has its rows."""
        return self._vectors.through()

    def add(self, after: int, through: int, texts: Sequence[tuple[int, Matrix]]) -> None:
        """Adds the rows of all texts after one position, up to another."""
        if not self._keeps:
            raise Forbidden("this token may not add vectors")
        self._vectors.add(after, through, texts)

    def expect(self, queries: Matrix) -> None:
        """Announces the next queries."""
        self._vectors.expect(queries)

    def best(self, query: Vector, n: int, accept: Accept) -> list[tuple[int, float]]:
        """The accepted texts that are nearest to a row, best first."""
        return self._vectors.best(query, n, accept)

    def scores(self, query: Vector, seqs: Iterable[int]) -> dict[int, float]:
        """The scores of those of these texts that have rows."""
        return self._vectors.scores(query, seqs)


class GuardedSubjects(Subjects):
    """The subjects of a space, for a token that only reads."""

    def __init__(self, subjects: Subjects) -> None:
        self.__dict__ = subjects.__dict__  # the same keys: a copy would forget which are retired

    def declare(self, user: str) -> None:
        """Refused: a key would be made."""
        raise Forbidden("this token may only read, and naming a subject makes a key")


class GuardedCheckpoints:
    """The notes of one space: a person's token for the whole space adds some."""

    def __init__(
        self,
        notes: Callable[[], Checkpoints],
        granted: Callable[[], AbstractContextManager[Grant]],
    ) -> None:
        self._notes = notes
        self._granted = granted

    @property
    def keeps(self) -> bool:
        """True for a person's token that writes in the whole space."""
        with self._granted() as grant:
            return grant.keeps_checkpoints

    def sizes(self) -> list[int]:
        """The numbers of events for which there is a note, the smallest first."""
        return self._notes().sizes()

    def note(self, size: int) -> bytes:
        """The note for so many events."""
        return self._notes().note(size)

    def keep(self, size: int, note: bytes) -> None:
        """Keeps a note, in place of another one of the same size."""
        with self._granted() as grant:
            grant.check_keeps()
        self._notes().keep(size, note)

    def frontier(self) -> bytes | None:
        """What ``keep_frontier`` was given last, if it is still there."""
        return self._notes().frontier()

    def keep_frontier(self, data: bytes) -> None:
        """Keeps where the next checkpoint continues."""
        with self._granted() as grant:
            grant.check_keeps()
        self._notes().keep_frontier(data)
