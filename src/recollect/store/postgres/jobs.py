"""Jobs of a database, in two of its tables.

Responsible for one change at a time and for the clock that all workers share. Leaves the rules to
``store.jobs.kept_jobs`` and the statements to ``sql/jobs.sql``. Invariant: a change that another
one came before is made again, from what that one left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import psycopg
from psycopg.errors import DeadlockDetected, UniqueViolation

from recollect.errors import Unavailable
from recollect.store.jobs.kept_jobs import Run
from recollect.store.postgres.db import as_ours, run
from recollect.store.postgres.pool import Pool

T = TypeVar("T")
_TRIES: Final = 5


class PostgresJobs:
    """Where the jobs of one database are."""

    is_there = True

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def now(self) -> str:
        """The server's clock: workers on several machines compare their leases with it."""
        return str(self._pool.ask("clock", {})[0][0])

    def change(self, how: Callable[[Run], T]) -> T:
        """Calls a function with what runs named statements in one transaction."""
        for _ in range(_TRIES):
            try:
                with self._pool.connection() as connection, connection.transaction():
                    return how(lambda name, params: run(connection, f"job {name}", params))
            except (UniqueViolation, DeadlockDetected):
                continue  # another worker has just begun, or asked for, the same
            except psycopg.Error as error:
                raise as_ours(error) from error
        raise Unavailable("others changed the same jobs at the same time", hint="try again")
