"""Checkpoints of a ledger on PostgreSQL, in a table of the entered space.

Responsible for the same contract as the files. Leaves who may write a note, and that it speaks of
this ledger, to the server (``sql/checkpoints.sql``). Invariant: a note is written under the space's
lock, so it never outlives a space that is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import cast

from psycopg.errors import IntegrityConstraintViolation

from recollect.errors import NotFound
from recollect.index.rows import PositionRow
from recollect.proof.notes import BadNote
from recollect.store.grants import Grant
from recollect.store.postgres.db import PostgresDb

Reading = Callable[[], AbstractContextManager[PostgresDb]]
Writing = Callable[[], AbstractContextManager[tuple[PostgresDb, PositionRow]]]


class PostgresCheckpoints:
    """The notes of one space."""

    def __init__(self, reading: Reading, writing: Writing, granted: Callable[[], Grant]) -> None:
        self._reading = reading
        self._writing = writing
        self._granted = granted

    @property
    def keeps(self) -> bool:
        """True for a person's token that writes in the whole space."""
        return self._granted().keeps_checkpoints

    def sizes(self) -> list[int]:
        """The numbers of events for which there is a note, the smallest first."""
        with self._reading() as db:
            return [cast(int, size) for (size,) in db.rows("checkpoint_sizes")]

    def note(self, size: int) -> bytes:
        """The note for so many events."""
        with self._reading() as db:
            row = db.one("get_checkpoint", {"size": size})
        if row is None:
            raise NotFound(f"no checkpoint was signed at {size} events")
        return cast(bytes, row[0])

    def keep(self, size: int, note: bytes) -> None:
        """Keeps a note, in place of another one of the same size."""
        self._granted().check_keeps()
        with self._writing() as (db, _):
            try:
                db.ask("keep_checkpoint", {"size": size, "note": note})
            except IntegrityConstraintViolation as error:
                raise BadNote(f"this is not a checkpoint of this ledger at event {size}") from error

    def frontier(self) -> bytes | None:
        """What ``keep_frontier`` was given last."""
        with self._reading() as db:
            row = db.one("get_frontier")
        return None if row is None else cast(bytes, row[0])

    def keep_frontier(self, data: bytes) -> None:
        """Keeps where the next checkpoint continues."""
        self._granted().check_keeps()
        with self._writing() as (db, _):
            db.ask("keep_frontier", {"data": data})
