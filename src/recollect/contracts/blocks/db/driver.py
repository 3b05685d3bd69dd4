"""One SQLite connection under SQLAlchemy, for code that runs inside its events.

Responsible for statements that SQLAlchemy does not see, and for work in a thread. Leaves what is
asked to its callers. Invariant: it is used in the greenlet of an asynchronous connection alone.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from sqlalchemy.engine.interfaces import DBAPIConnection

from recollect.errors import Unavailable

T = TypeVar("T")


class Driver:
    """The connection of the driver, used like a plain one."""

    def __init__(self, connection: DBAPIConnection) -> None:
        self._connection: Any = connection  # AsyncAdapt_aiosqlite_connection

    @property
    def in_transaction(self) -> bool:
        """True after the first write, until its end."""
        return bool(self._connection.driver_connection.in_transaction)

    def run(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Runs one statement and returns its rows."""
        cursor = self._connection.cursor()
        try:
            cursor.execute(statement, tuple(values))
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []
        finally:
            cursor.close()

    def many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Runs one statement for each row."""
        cursor = self._connection.cursor()
        try:
            cursor.executemany(statement, [tuple(row) for row in rows])
        finally:
            cursor.close()

    def begin(self) -> None:
        """Begins a transaction that may write; waits for another one's end."""
        try:
            self.run("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            raise Unavailable(
                f"the database could not be locked: {error}",
                hint="another transaction is writing; end it, then try again",
            ) from error

    def end(self) -> None:
        """Makes what was written durable."""
        self._connection.commit()

    def undo(self) -> None:
        """Takes back what was written."""
        self._connection.rollback()

    def in_thread(self, work: Callable[[], T]) -> T:
        """Runs ``work`` in a thread, while other tasks go on."""
        found: T = self._connection.run_async(lambda _: asyncio.to_thread(work))
        return found
