"""Tokens of a database.

Responsible for storing them on the server, whose clock says when one ends. Leaves the rules to
``store.tokens``, and what a token may do to others to ``store.tokens.admins``. Invariant:
the server gets hashes, never a token.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, cast

import msgspec

from recollect.index.rows import Row
from recollect.model import instants, limits
from recollect.model.events import Trust
from recollect.model.values import MadeToken, Token
from recollect.store.postgres.db import run
from recollect.store.postgres.pool import Pool
from recollect.store.seam import REAL, Seam
from recollect.store.tokens.tokens import (
    checked_overlap,
    checked_which,
    hash_of,
    new_token,
    not_found,
    only_one,
    wanted,
)

_ID: Final = re.compile(r"[1-9][0-9]{0,17}")


class PostgresTokens:
    """The tokens of one database, for its owner."""

    def __init__(self, pool: Pool, seam: Seam = REAL) -> None:
        self._pool = pool
        self._seam = seam

    def create(
        self,
        label: str,
        *,
        space: str | None,
        verbs: Iterable[str] = ("read", "write"),
        trust: Trust = "agent",
        user: str | None = None,
        agent: str | None = None,
        expires: str | None = None,
        by: Token | None = None,
    ) -> MadeToken:
        """Creates a token for one space, which is created too, or with None for every space."""
        asked = wanted(
            label,
            space=space,
            verbs=verbs,
            trust=trust,
            user=user,
            agent=agent,
            expires=expires,
            now=self._seam.now(),
        )
        token, held = new_token(self._seam), {"name": asked.space}
        row = {**msgspec.structs.asdict(asked), "verbs": [*asked.verbs], "hash": hash_of(token)}
        row["by"] = None if by is None else by.id
        with self._pool.transaction() as connection:
            while asked.space is not None and not run(connection, "hold_space", held):
                run(connection, "make_space", held)
            (made,) = run(connection, "add_token", row)
        return _shown_once(made, token)

    def list(self) -> list[Token]:
        """Every token, the oldest first."""
        return [token_in(row) for row in self._pool.ask("list_tokens", {})]

    def named(self, which: str) -> Sequence[Token]:
        """The tokens with this label, or the one with this id, the oldest first."""
        found = self._pool.ask("named_tokens", _named(checked_which(which)))
        return [token_in(row) for row in found]

    def get(self, which: str) -> Token:
        """The token with this id, or the only one with this label."""
        return only_one(which, self.named(which))

    def rotate(
        self, which: str, *, overlap_s: int = limits.TOKEN_OVERLAP_S, by: Token | None = None
    ) -> MadeToken:
        """Creates a token that allows the same; the old one ends so many seconds later."""
        which, overlap_s = checked_which(which), checked_overlap(overlap_s)
        token, named = new_token(self._seam), _named(which)
        with self._pool.transaction() as connection:
            run(connection, "lock_tokens", named)
            found = [token_in(row) for row in run(connection, "named_tokens", named)]
            old = only_one(which, [each for each in found if each.live])
            after = {"id": old.id, "hash": hash_of(token)}
            after |= (
                {"by": None, "until": None} if by is None else {"by": by.id, "until": by.expires}
            )
            (made,) = run(connection, "follow_token", after)
            run(connection, "end_token", {"id": old.id, "overlap_s": overlap_s})
        return _shown_once(made, token)

    def revoke(self, which: str) -> int:
        """Revokes every token with this label, or the one with this id; returns how many."""
        which = checked_which(which)
        count = len(self._pool.ask("revoke_token", _named(which)))
        if count == 0:
            raise not_found(which)
        return count

    def find(self, hash: bytes) -> Token | None:
        """The token with this hash, valid or not."""
        found = self._pool.ask("token_with_hash", {"hash": hash})
        return token_in(found[0]) if found else None


def _named(which: str) -> dict[str, object]:
    """A label or an id, as parameters; a label is never of digits alone."""
    return {"which": which, "id": int(which) if _ID.fullmatch(which) else None}


def token_in(row: Row) -> Token:
    """A row of tokens: what it allows, when it was made, expires and was revoked, if it is live."""
    id, label, space, verbs, trust, user, agent, by, *times, live = cast(Sequence[object], row)
    made, expires, revoked = (
        None if time is None else instants.instant(cast(datetime, time)) for time in times
    )
    return Token(
        id=cast(int, id),
        label=str(label),
        space=cast("str | None", space),
        verbs=tuple(cast(list[str], verbs)),
        trust=cast(Trust, trust),
        user=cast("str | None", user),
        agent=cast("str | None", agent),
        made=str(made),
        expires=expires,
        revoked=revoked,
        live=bool(live),
        by=cast("int | None", by),
    )


def _shown_once(row: Row, token: str) -> MadeToken:
    return MadeToken(**msgspec.structs.asdict(token_in(row)), token=token)
