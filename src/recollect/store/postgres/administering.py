"""Tokens of a database, as another token looks after them.

Responsible for calling the server's functions and for saying why it refused. Leaves what a token
may do to others to the server (``sql/administering.sql``). Invariant: nothing here needs the rights
of the database's owner, and a new token leaves this process as its hash.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import cast

import msgspec
import psycopg
from psycopg.errors import InsufficientPrivilege, NoDataFound

from recollect.errors import Forbidden, Unsupported
from recollect.index.rows import Row
from recollect.model import instants
from recollect.model.events import Trust
from recollect.model.values import MadeToken, Token
from recollect.store.postgres.db import as_ours, run
from recollect.store.postgres.pool import Pool
from recollect.store.postgres.tokens import check_token, token_in
from recollect.store.seam import REAL, Seam
from recollect.store.tokens import (
    OVERLAP_S,
    checked_overlap,
    checked_which,
    ended,
    hash_of,
    new_token,
    not_admin,
    not_found,
    only_one,
    opens_none,
    too_much,
    wanted,
)

List = list  # ``list`` is also the name of a call


class PostgresAdminTokens:
    """The tokens of a database for the holder of one of them."""

    def __init__(self, pool: Pool, token: str, seam: Seam = REAL) -> None:
        self._pool = pool
        self._token = token
        self._seam = seam

    def mine(self) -> Token:
        """What this token allows; refuses one that has ended."""
        found = self._run("token_of", {})
        if found:
            return token_in(found[0])
        self._check_live()
        raise ended("unknown", None, "database")

    def create(
        self,
        label: str,
        *,
        space: str | None,
        verbs: Iterable[str] = ("read", "write"),
        origin: Trust = "agent",
        user: str | None = None,
        agent: str | None = None,
        expires: str | None = None,
        login: str | None = None,
    ) -> MadeToken:
        """Creates a token that allows no more than this one."""
        if login is not None:
            raise Unsupported(
                "only the owner of the database lets a login in",
                hint="leave the login out, or use the owner's address without a token",
            )
        asked = wanted(
            label,
            space=space,
            verbs=verbs,
            origin=origin,
            user=user,
            agent=agent,
            expires=expires,
            now=self._seam.now(),
        )
        token = new_token(self._seam)
        params = {
            **msgspec.structs.asdict(asked),
            "verbs": [*asked.verbs],
            "hash": hash_of(token),
        }
        try:
            ((id, made),) = self._run("create_token", params)
        except NoDataFound:
            raise opens_none(str(space), []) from None
        return asked.made(cast(int, id), instants.instant(cast(datetime, made)), token)

    def list(self) -> list[Token]:
        """The tokens of the spaces that this one opens."""
        return [token_in(row) for row in self._run("tokens_for", {})]

    def get(self, which: str) -> Token:
        """The token with this id, or the only one with this label."""
        which = checked_which(which)
        return only_one(which, [t for t in self.list() if which in (t.label, str(t.id))])

    def rotate(self, which: str, *, overlap_s: int = OVERLAP_S) -> MadeToken:
        """Creates a token that allows the same; the old one ends so many seconds later."""
        which, overlap_s = checked_which(which), checked_overlap(overlap_s)
        live = [t for t in self.list() if t.live and which in (t.label, str(t.id))]
        old, token = only_one(which, live), new_token(self._seam)
        params = {"id": old.id, "hash": hash_of(token), "overlap": overlap_s}
        try:
            self._run("rotate_token_for", params)
        except NoDataFound:
            raise not_found(which) from None
        made = PostgresAdminTokens(self._pool, token, self._seam).mine()
        return MadeToken(**msgspec.structs.asdict(made), token=token)

    def revoke(self, which: str) -> int:
        """Revokes every token with this label, or the one with this id; returns how many."""
        which = checked_which(which)
        ids = [t.id for t in self.list() if which in (t.label, str(t.id)) and t.revoked is None]
        ((count,),) = self._run("revoke_tokens", {"ids": ids})
        if count == 0:
            raise not_found(which)
        return cast(int, count)

    def find(self, hash: bytes) -> Token | None:
        """Refused: a token finds no other by its hash."""
        raise Forbidden("a token finds no other by its hash")

    def _run(self, name: str, params: dict[str, object]) -> List[Row]:
        with self._refusals(), self._pool.connection() as connection:
            return run(connection, name, {**params, "token": self._token})

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        """Says why the server refused: the token ended, may not do this, or not so much."""
        try:
            yield
        except NoDataFound:
            raise
        except InsufficientPrivilege:
            mine = self.mine()
            if "admin" not in mine.verbs:
                raise not_admin() from None
            raise too_much("see its verbs and its space") from None
        except psycopg.Error as error:
            raise as_ours(error) from error

    def _check_live(self) -> None:
        try:
            with self._pool.connection() as connection:
                check_token(connection, self._token)
        except psycopg.Error as error:
            raise as_ours(error) from error
