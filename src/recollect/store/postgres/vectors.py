"""Vectors in a table of the server, searched exactly by pgvector inside the entered space.

Responsible for the same contract as the files. Leaves entering a space to ``store.postgres.entry``.
Invariant: rows are added under the space's lock, so an erasure is either recorded or waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, cast

import msgspec

from recollect.errors import Forbidden
from recollect.index.reads import Reads
from recollect.index.rows import PositionRow
from recollect.store.nearest import ScoredText, check_row, widening
from recollect.store.postgres.db import PostgresDb

if TYPE_CHECKING:
    from recollect.store.port import Accept, Matrix, Vector

Params = dict[str, object]
Reading = Callable[[], AbstractContextManager[PostgresDb]]
Writing = Callable[[], AbstractContextManager[tuple[PostgresDb, PositionRow]]]


class PostgresVectors:
    """The vectors of one embedder in one space."""

    def __init__(
        self, reading: Reading, writing: Writing, name: str, dimensions: int, *, keeps: bool
    ) -> None:
        self._reading = reading
        self._writing = writing
        self._name = name
        self._dimensions = dimensions
        self.keeps = keeps

    def through(self) -> int:
        """The position up to which every text has its rows."""
        with self._reading() as db:
            return self._through(db)

    def add(self, after: int, through: int, texts: Sequence[tuple[int, Matrix]]) -> None:
        """Adds the rows of all texts after one position, up to another."""
        if not self.keeps:
            raise Forbidden("this token may only read, so vectors are not stored")
        with self._writing() as (db, _):
            known = self._through(db)
            if not after <= known < through:
                return
            if not known:  # no rows, or rows with other dimensions
                db.ask("empty_vectors", {"embedder": self._name})
            gone = Reads(db).erased_between(known, through)
            for seq, rows in texts:
                if seq > known and seq not in gone:
                    self._put(db, seq, rows)
            db.many("put_embedder", [(self._name, self._dimensions, through)])

    def expect(self, queries: Matrix) -> None:
        """Does nothing: the server handles each query separately."""

    def best(self, query: Vector, n: int, accept: Accept) -> list[ScoredText]:
        """The accepted texts that are nearest to a row, best first."""
        check_row(query, self._dimensions)
        params = {"row": _text(query), "embedder": self._name}
        with self._reading() as db:
            return widening(
                lambda look: _found(db, "nearest", {**params, "limit": look}), n, accept
            )

    def scores(self, query: Vector, seqs: Iterable[int]) -> dict[int, float]:
        """The scores of those of these texts that have rows."""
        check_row(query, self._dimensions)
        params: Params = {"row": _text(query), "embedder": self._name, "seqs": list(seqs)}
        with self._reading() as db:
            return dict(_found(db, "nearness_of", params))

    def _through(self, db: PostgresDb) -> int:
        row = db.one("get_embedder", {"name": self._name, "dimensions": self._dimensions})
        return cast(int, row[0]) if row else 0

    def _put(self, db: PostgresDb, seq: int, rows: Matrix) -> None:
        more = [
            {
                "space": db.space,
                "embedder": self._name,
                "seq": seq,
                "piece": piece,
                "row": _text(row),
            }
            for piece, row in enumerate(rows)
        ]
        db.ask_many("add_vector", more)


def _text(row: Vector) -> str:
    """A vector as text, in the syntax that JSON and pgvector share."""
    return msgspec.json.encode(row.tolist()).decode()


def _found(db: PostgresDb, name: str, params: Params) -> list[ScoredText]:
    return [(seq, float(score)) for seq, score in db.ask(name, params).fetchall()]
