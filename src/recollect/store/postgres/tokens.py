"""Tokens of a database, as its owner creates, lists and revokes them.

Responsible for storing them on the server. Leaves the rules to ``store.tokens``. Invariants: a
token is shown once and stored as a hash; neither can be read back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import cast

import msgspec

from recollect.index.rows import Row
from recollect.model import instants, validate
from recollect.model.events import Trust
from recollect.model.values import MadeToken, Token
from recollect.store.postgres import schema
from recollect.store.postgres.db import Connection, run
from recollect.store.seam import REAL, Seam
from recollect.store.tokens import (
    OVERLAP_S,
    checked_overlap,
    checked_which,
    ended,
    hash_of,
    new_token,
    not_found,
    only_one,
    wanted,
)


class PostgresTokens:
    """The tokens of one database."""

    def __init__(self, url: str, seam: Seam = REAL) -> None:
        self._url = url
        self._seam = seam

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
        """Creates a token for one space, or with None for every space.

        ``login`` names a login of the server that may use the database from then on.
        """
        now = self._seam.now()
        asked = wanted(
            label,
            space=space,
            verbs=verbs,
            origin=origin,
            user=user,
            agent=agent,
            expires=expires,
            now=now,
        )
        login, token = validate.optional_name(login, "login"), new_token(self._seam)
        schema.prepare(self._url)
        id, made = make_token(
            self._url,
            token,
            label=asked.label,
            space=asked.space,
            verbs=asked.verbs,
            origin=origin,
            user=asked.user,
            agent=asked.agent,
            expires=asked.expires,
            login=login,
        )
        return asked.made(id, made, token)

    def list(self) -> list[Token]:
        """Every token ever created, except those of processes that ended."""
        with schema.owner(self._url) as connection:
            schema.check(connection)
            return [token_in(row) for row in run(connection, "list_tokens", {})]

    def get(self, which: str) -> Token:
        """The token with this id, or the only one with this label."""
        which = checked_which(which)
        return only_one(which, [t for t in self.list() if which in (t.label, str(t.id))])

    def rotate(self, which: str, *, overlap_s: int = OVERLAP_S) -> MadeToken:
        """Creates a token that allows the same; the old one ends so many seconds later."""
        which, overlap_s = checked_which(which), checked_overlap(overlap_s)
        token = new_token(self._seam)
        with schema.owner(self._url) as connection, connection.transaction():
            schema.check(connection)
            run(connection, "lock_tokens", {})
            found = [token_in(row) for row in run(connection, "list_tokens", {})]
            live = [each for each in found if each.live and which in (each.label, str(each.id))]
            old = only_one(which, live)
            params = {"id": old.id, "hash": hash_of(token), "overlap": overlap_s}
            run(connection, "rotate_token", params)
            (made,) = run(connection, "token_with_hash", {"hash": hash_of(token)})
        return MadeToken(**msgspec.structs.asdict(token_in(made)), token=token)

    def find(self, hash: bytes) -> Token | None:
        """The token with this hash, valid or not."""
        with schema.owner(self._url) as connection:
            schema.check(connection)
            found = run(connection, "token_with_hash", {"hash": hash})
        return token_in(found[0]) if found else None

    def revoke(self, which: str) -> int:
        """Revokes every token with this label, or the one with this id; returns how many."""
        which = checked_which(which)
        with schema.owner(self._url) as connection:
            schema.check(connection)
        count = revoke_token(self._url, which)
        if count == 0:
            raise not_found(which)
        return count


def make_token(
    url: str,
    token: str,
    *,
    label: str,
    space: str | None,
    verbs: Sequence[str] = ("read", "write"),
    origin: Trust = "agent",
    user: str | None = None,
    agent: str | None = None,
    expires: str | None = None,
    login: str | None = None,
) -> tuple[int, str]:
    """Stores a token for one space, or with None for every space; returns its id and time."""
    with schema.owner(url) as connection, connection.transaction():
        if login is not None:
            schema.admit(connection, login)
        if space is not None:
            run(connection, "add_space", {"name": space})
        params = {
            "hash": hash_of(token),
            "label": label,
            "space": space,
            "verbs": list(verbs),
            "origin": origin,
            "user": user,
            "agent": agent,
            "expires": expires,
        }
        ((id, made),) = run(connection, "add_token", params)
    return cast(int, id), instants.instant(cast(datetime, made))


def revoke_token(url: str, which: str) -> int:
    """Revokes every token with this label, or the one with this id; returns how many."""
    with schema.owner(url) as connection:
        return len(run(connection, "revoke_token", {"which": which}))


def check_token(connection: Connection, token: str) -> None:
    """Refuses a token that the server does not know, or that was revoked or has expired."""
    ((state, since),) = run(connection, "token_state", {"token": token})
    if state != "live":
        at = None if since is None else instants.instant(cast(datetime, since))
        raise ended(str(state), at, "database")


def token_in(row: Row) -> Token:
    """A row of the list of tokens."""
    id, label, space, verbs, origin, user, agent, *times, live = cast(Sequence[object], row)
    made, expires, revoked = (
        None if time is None else instants.instant(cast(datetime, time)) for time in times
    )
    return Token(
        id=cast(int, id),
        label=str(label),
        space=cast("str | None", space),
        verbs=tuple(cast(list[str], verbs)),
        origin=cast(Trust, origin),
        user=cast("str | None", user),
        agent=cast("str | None", agent),
        made=str(made),
        expires=expires,
        revoked=revoked,
        live=bool(live),
    )
