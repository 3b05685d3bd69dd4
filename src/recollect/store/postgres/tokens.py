"""Tokens, as the owner of the database creates, lists and revokes them.

Responsible for checking and storing tokens. Leaves what one allows to the server and to
``store.postgres.grants``. Invariants: a token is shown once and stored as a hash; neither can be
read back.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, cast

from recollect.errors import InvalidInput, NotFound
from recollect.index.rows import Row
from recollect.model import instants, validate
from recollect.model.events import Trust
from recollect.model.values import MadeToken, Token
from recollect.store.postgres import schema
from recollect.store.postgres.db import run
from recollect.store.postgres.grants import VERBS
from recollect.store.seam import REAL, Seam

_PREFIX: Final = "rct_"  # so that secret scanners recognise it
_RANDOM_BYTES: Final = 32


class Tokens:
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
        label = validate.name(label, "label")
        if label.isdecimal():
            raise InvalidInput("a label of digits alone could be mistaken for a token's id")
        allowed = _checked(verbs, every_space=space is None)
        if expires is not None and expires <= self._seam.now():
            raise InvalidInput(f"expires: {expires} is past")
        user, agent = validate.optional_name(user, "user"), validate.optional_name(agent, "agent")
        if "drop" in allowed and (origin != "person" or user is not None or agent is not None):
            raise InvalidInput("the verb drop needs the origin person, without a user or an agent")
        space = None if space is None else validate.space_name(space)
        secret = urlsafe_b64encode(self._seam.random(_RANDOM_BYTES)).decode().rstrip("=")
        token = f"{_PREFIX}{secret}"
        schema.prepare(self._url)
        id, made = make_token(
            self._url,
            token,
            label=label,
            space=space,
            verbs=allowed,
            origin=origin,
            user=user,
            agent=agent,
            expires=expires,
            login=validate.optional_name(login, "login"),
        )
        return MadeToken(
            id=id,
            label=label,
            space=space,
            verbs=allowed,
            origin=origin,
            user=user,
            agent=agent,
            made=made,
            expires=expires,
            revoked=None,
            live=True,
            token=token,
        )

    def list(self) -> list[Token]:
        """Every token ever created, except those of processes that ended."""
        with schema.owner(self._url) as connection:
            schema.check(connection)
            return [_token(row) for row in run(connection, "list_tokens", {})]

    def revoke(self, which: str) -> int:
        """Revokes every token with this label, or the one with this id; returns how many."""
        with schema.owner(self._url) as connection:
            schema.check(connection)
        count = revoke_token(self._url, which)
        if count == 0:
            raise NotFound(
                f"no valid token {which!r} was found",
                hint="`recollect admin token list` lists all of them",
            )
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
            "hash": schema.hash_of(token),
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


def _checked(verbs: Iterable[str], *, every_space: bool) -> tuple[str, ...]:
    """The verbs in their order; every token may read, because writing needs to read."""
    asked = {"read", *verbs}
    unknown = sorted(asked - set(VERBS))
    if unknown:
        raise InvalidInput(
            f"unknown verbs {', '.join(unknown)}", hint=f"choose from {', '.join(VERBS)}"
        )
    if "create" in asked and not every_space:
        raise InvalidInput("the verb create needs a token for every space")
    if asked & {"erase", "create"} and "write" not in asked:
        raise InvalidInput("the verbs erase and create need write as well")
    if "drop" in asked and "erase" not in asked:
        raise InvalidInput("the verb drop needs erase as well")
    return tuple(verb for verb in VERBS if verb in asked)


def _token(row: Row) -> Token:
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
