"""The ledgers of one database, and the backend over them.

Responsible for what concerns a whole database: which spaces there are, tokens, jobs. Leaves one
ledger to ``store.postgres.ledger`` and the indexes to ``store.indexed``. Invariant: the schema of
an empty database is made by the first use without a token, never changed by a later one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

import msgspec

from recollect.model.values import Dropped, Token
from recollect.store.postgres.holders import Process
from recollect.store.postgres.ledger import PostgresLedger
from recollect.store.postgres.pool import Pool
from recollect.store.postgres.subjects import Keeping
from recollect.store.postgres.tokens import PostgresTokens
from recollect.store.seam import Seam

if TYPE_CHECKING:  # loaded only if there is work
    from recollect.store.jobs.jobs import Jobs

_DROPPED = ("space", "at", "by", "seq", "head", "first", "reason")


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
        from recollect.store.postgres.jobs import PostgresJobs

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
