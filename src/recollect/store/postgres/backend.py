"""A database with many spaces.

Responsible for the token that opens them. Leaves the spaces to ``store.postgres.space`` and the
connections to ``store.postgres.pool``. Invariant: without a token nothing is read or written.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import cast

import msgspec
import psycopg

from recollect.errors import Unavailable
from recollect.model import instants
from recollect.model.values import Drop, Dropped, Token
from recollect.store.port import Opened
from recollect.store.postgres import schema
from recollect.store.postgres.administering import PostgresAdminTokens
from recollect.store.postgres.db import as_ours, run
from recollect.store.postgres.jobs import PostgresJobs
from recollect.store.postgres.pool import Pool
from recollect.store.postgres.space import PostgresSpace
from recollect.store.postgres.subjects import Keeping
from recollect.store.postgres.tokens import PostgresTokens, check_token
from recollect.store.seam import REAL, Seam
from recollect.store.tokens import Tokens, given_token


class PostgresBackend:
    """Spaces on a server. Without a token, the owner's login creates one for this process."""

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        seam: Seam = REAL,
        keeping: Keeping | None = None,
        pool: Pool | None = None,
    ) -> None:
        self._url = url
        self._seam = seam
        self._given = None if token is None else given_token(token)
        self._keeping = keeping
        self._made: str | None = None
        self._since_us = 0  # when it was created or renewed, by this machine's clock
        self._lock = threading.Lock()
        self._pool = pool or Pool(url)
        self._is_shared = pool is not None  # the connections belong to the store that was entered

    @property
    def where(self) -> str:
        """The database, without its password."""
        return self._pool.where

    def space(self, name: str, *, create: bool) -> PostgresSpace:
        """A space by name."""
        self._token()  # this creates the schema of an empty database, before anything connects
        return PostgresSpace(
            self._pool,
            name,
            self._token,
            create=create,
            owned=self._given is None,
            seam=self._seam,
            keeping=self._keeping,
        )

    def spaces(self) -> list[str]:
        """The names of the spaces that the token opens."""
        token = self._token()
        try:
            with self._pool.connection() as connection:
                rows = run(connection, "spaces_of", {"token": token})
                if not rows:
                    check_token(connection, token)
                return [str(name) for (name,) in rows]
        except psycopg.Error as error:
            raise as_ours(error) from error

    def heads(self, names: Iterable[str]) -> dict[str, int]:
        """The last event of each of these spaces, in one statement.

        If one of them is missing, the server refuses all; then the others are asked for.
        """
        wanted = [*dict.fromkeys(names)]
        try:
            return self._heads(wanted)
        except psycopg.errors.InsufficientPrivilege:
            there = set(self.spaces()).intersection(wanted)
        except psycopg.Error as error:
            raise as_ours(error) from error
        try:
            return self._heads([name for name in wanted if name in there])
        except psycopg.Error as error:
            raise as_ours(error) from error

    def _heads(self, names: list[str]) -> dict[str, int]:
        with self._pool.connection() as connection:
            run(connection, "begin_read", {})
            try:
                rows = run(connection, "heads", {"names": names, "token": self._token()})
            finally:
                connection.rollback()
        return {str(name): cast(int, seq) for name, seq in rows}

    def drop(self, name: str, reason: str | None) -> Drop:
        """Drops a space in one transaction, for a token that may."""
        return self.space(name, create=False).drop(reason)

    def would_drop(self, name: str) -> Drop:
        """What dropping a space would remove, and what would remain."""
        return self.space(name, create=False).would_drop()

    def dropped(self) -> list[Dropped]:
        """The notes about the spaces that were dropped, for a token that opens every space."""
        try:
            token = self._token()
            with self._pool.connection() as connection:
                rows = run(connection, "dropped_of", {"token": token})
                if not rows:
                    check_token(connection, token)
        except psycopg.Error as error:
            raise as_ours(error) from error
        names = ("space", "at", "by", "seq", "head", "first", "reason")
        return [msgspec.convert(dict(zip(names, row, strict=True)), Dropped) for row in rows]

    def token(self) -> Token | None:
        """What the given token allows; None for the database's owner, who needs none."""
        return None if self._given is None else self._administering(self._given).mine()

    def entered(self, token: str, opened: Opened) -> PostgresBackend:
        """The same database for the holder of a token: the server knows what it opens."""
        return PostgresBackend(
            self._url, token=token, seam=self._seam, keeping=self._keeping, pool=self._pool
        )

    def tokens(self) -> Tokens:
        """What opens the spaces of this database, for its owner or for the given token."""
        if self._given is None:
            return PostgresTokens(self._url, self._seam)
        return self._administering(self._given)

    def jobs(self) -> PostgresJobs:
        """The work that was asked for in the spaces that the token opens."""
        return PostgresJobs(self._pool, self._token)

    def _administering(self, token: str) -> PostgresAdminTokens:
        return PostgresAdminTokens(self._pool, token, self._seam)

    def close(self) -> None:
        """Closes the connections, and removes a token that was created for this process."""
        if not self._is_shared:
            self._pool.close()
        if self._made is not None:
            with suppress(Unavailable):  # if the server is down, the token expires by itself
                schema.drop_session_token(self._url, self._made)
            self._made = None

    def _token(self) -> str:
        """The given token, or this process's own, which is renewed before it expires."""
        if self._given is not None:
            return self._given
        now_us = instants.to_microseconds(REAL.now())
        with self._lock:
            if self._made is None:
                self._made = schema.session_token(self._url, REAL.random(32).hex())
                self._since_us = now_us
            elif not 0 <= now_us - self._since_us < schema.SESSION_S * 500_000:  # half its life
                schema.renew_session_token(self._url, self._made)
                self._since_us = now_us
            return self._made
