"""A memory behind an engine: what happens when its connections begin, write and commit.

Responsible for bringing the tables up to the ledger, and for handing what a transaction wrote to
the memory as one command. Leaves acts to ``changes`` and rows to ``rows``. Invariants: a commit is
in the ledger before it is in the file, so the file may lag and never leads; a rollback leaves no
event.
"""

from __future__ import annotations

from threading import Lock
from typing import Final

from sqlalchemy import Connection, exc

from recollect.config import Settings
from recollect.contracts.blocks.connection import again
from recollect.contracts.blocks.db import projection, row_changes
from recollect.contracts.blocks.db.changes import command_of
from recollect.contracts.blocks.db.driver import Driver
from recollect.contracts.blocks.db.row_changes import Written
from recollect.contracts.blocks.db.rows import Head, Rows, Touched, changed_rows, every_row, head_of
from recollect.errors import Conflict, Forbidden
from recollect.lifecycle.decide import FORGET_FEWER
from recollect.memory import Memory
from recollect.model.events import Trust

_MAY: Final = (
    "archive fewer in one transaction, or let a program that a person trusts do it, with "
    'create_engine(path, trust="person")'
)
_READY: Final = "recollect_ready"  # in a connection's info: it has its tables and is watched
_OF_BLOCKS: Final = ("blocks", "block_tags")  # a key begins with a block's id
_OF_PAIRS: Final = ("edges", "contradictions")  # a key is two of them
_UNITS: Final = {"sessions": "session", "frames": "document", "system_config": "document"}


class OpenedMemory:
    """A memory that is open while its engine is in use."""

    def __init__(self, settings: Settings, trust: Trust = "agent") -> None:
        self._settings = settings
        self._trust = trust
        self._lock = Lock()
        self._memory: Memory | None = None

    def get(self) -> Memory:
        """The memory, with the trust that the engine was made with."""
        with self._lock:
            if self._memory is None:
                self._memory = Memory.open(settings=self._settings).scoped(trust=self._trust)
            return self._memory

    def close(self) -> None:
        """Closes it; the next transaction opens it again."""
        with self._lock:
            memory, self._memory = self._memory, None
        if memory is not None:
            memory.close()

    # What the engine calls.

    def begin(self, connection: Connection) -> None:
        """Before a transaction reads: what others wrote is there."""
        db = _driver(connection)
        if not connection.info.get(_READY):
            projection.prepare(db)
            row_changes.notice(db)
            connection.info[_READY] = True
        if db.in_thread(lambda: head_of(self.get())) != projection.head_of(db):
            db.begin()
            try:
                self._refresh(db)
            except BaseException:
                db.undo()
                raise
            db.end()

    def writes(self, connection: Connection) -> None:
        """Before a transaction's first write: no other transaction writes until it ends."""
        db = _driver(connection)
        if not db.in_transaction:
            db.begin()
            self._refresh(db)

    def commit(self, connection: Connection) -> None:
        """Before a transaction ends well: what it wrote goes into the ledger."""
        db = _driver(connection)
        written = row_changes.written(db) if db.in_transaction else {}
        head = projection.head_of(db) if written else None
        if head is None:
            return
        rows = db.in_thread(lambda: self._handed_over(written, head))
        projection.write(db, rows)
        row_changes.forget(db)

    def _refresh(self, db: Driver) -> None:
        known = projection.head_of(db)
        rows = db.in_thread(lambda: self._rows_after(known))
        if rows is not None:
            projection.write(db, rows)
            row_changes.forget(db)

    def _rows_after(self, known: Head | None) -> Rows | None:
        memory = self.get()
        if known is None:
            return every_row(memory)
        return None if head_of(memory) == known else changed_rows(memory, known)

    def _handed_over(self, written: Written, head: Head) -> Rows:
        """Writes one command, and returns the rows that it changed, as they are now."""
        memory = self.get()
        try:
            _submit(memory, written)
        except Conflict as error:
            raise exc.IntegrityError(None, None, error) from error
        return changed_rows(memory, head, _touched(written))


def _touched(written: Written) -> Touched:
    return Touched(
        frozenset(str(key[0]) for table in _OF_BLOCKS for key in written.get(table, {})),
        frozenset(str(end) for table in _OF_PAIRS for key in written.get(table, {}) for end in key),
        frozenset(unit for table, unit in _UNITS.items() if table in written),
    )


def _submit(memory: Memory, written: Written) -> None:
    def submit() -> None:
        acts, expect = command_of(memory, written)
        try:
            memory.events.submit(*acts, expect=expect)
        except Forbidden as error:
            if error.hint == FORGET_FEWER:
                raise Forbidden(error.message, hint=_MAY) from error
            raise

    again(submit)


def _driver(connection: Connection) -> Driver:
    found = connection.connection.dbapi_connection
    if found is None:  # a connection that has begun is not detached
        raise exc.InvalidRequestError("the connection is closed")
    return Driver(found)
