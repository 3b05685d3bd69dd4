"""The ledgers of one database, and the backend over them.

Responsible for what concerns a whole database: which spaces there are, tokens, jobs, and joining
its ledgers with indexes in this process. Leaves one ledger to ``store.postgres.ledger``, the
indexes to ``store.indexed`` and the rules of jobs to ``store.jobs.kept_jobs``. Invariants: the
schema of an empty database is made by the first use without a token, never changed by a later one;
a change of jobs that another one came before is made again, from what that one left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar, cast

import msgspec
import psycopg
from psycopg.errors import DeadlockDetected, UniqueViolation

from recollect.errors import Unavailable
from recollect.model.values import Dropped, Token
from recollect.store.indexed.backend import IndexedBackend
from recollect.store.postgres.db import as_ours, run
from recollect.store.postgres.holders import Process
from recollect.store.postgres.ledger import PostgresLedger
from recollect.store.postgres.pool import Pool
from recollect.store.postgres.subjects import Keeping
from recollect.store.postgres.tokens import PostgresTokens
from recollect.store.seam import REAL, Seam

if TYPE_CHECKING:  # loaded only if there is work
    from recollect.store.jobs.jobs import Jobs
    from recollect.store.jobs.kept_jobs import Run

_DROPPED = ("space", "at", "by", "seq", "head", "first", "reason")
T = TypeVar("T")
_TRIES: Final = 5


class PostgresLedgers:
    """All ledgers of one database."""

    def __init__(self, url: str, seam: Seam, keeping: Keeping | None, *, may_make: bool) -> None:
        self._url = url
        self._seam = seam
        self._keeping = keeping
        self._pool = Pool(url, may_make=may_make)
        self._process = Process(self._pool)

    @property
    def where(self) -> str:
        """The database, without its password."""
        return self._pool.where

    def ledger(self, name: str) -> PostgresLedger:
        """The ledger of a space; nothing is looked at before it is used."""
        return PostgresLedger(self._process, name, self._seam, self._keeping)

    def names(self) -> list[str]:
        """The spaces that exist."""
        return [str(name) for (name,) in self._pool.ask("spaces", {})]

    def has(self, name: str) -> bool:
        """True if there is a space of this name."""
        return bool(self._pool.ask("has_space", {"name": name}))

    def heads(self, names: Sequence[str]) -> dict[str, int]:
        """The last event of each of these spaces that has one, in one look."""
        return {
            str(name): cast(int, seq) for name, seq in self._pool.ask("heads", {"names": [*names]})
        }

    def dropped(self) -> list[Dropped]:
        """The notes about dropped spaces, oldest first."""
        rows = self._pool.ask("dropped", {})
        return [msgspec.convert(dict(zip(_DROPPED, row, strict=True)), Dropped) for row in rows]

    def tokens(self) -> PostgresTokens:
        """What opens the spaces here."""
        return PostgresTokens(self._pool, self._seam)

    def jobs(self, token: Callable[[], Token | None]) -> Jobs:
        """The work that was asked for here."""
        from recollect.store.jobs.kept_jobs import KeptJobs

        return KeptJobs(PostgresJobs(self._pool), self.has, token)

    def end(self) -> None:
        """Notes that no index is here any more, in one trip."""
        self._process.end()

    def give_up(self) -> None:
        """Ends every wait for the server."""
        self._pool.give_up()

    def close(self) -> None:
        """Closes every connection."""
        self._pool.close()


class PostgresBackend(IndexedBackend):
    """Spaces on a server, for who has its login."""

    def __init__(
        self,
        url: str,
        *,
        seam: Seam = REAL,
        keeping: Keeping | None = None,
        may_make: bool = True,
    ) -> None:
        super().__init__(PostgresLedgers(url, seam, keeping, may_make=may_make), seam)


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
