"""The port of tokens: who may open which spaces of a store, and for how long.

Responsible for the contract, each sentence of which has a test of the same name in
``recollect.testing``; for the rules that every engine shares; and for the text of a token. Leaves
keeping tokens to the engines and what one allows to ``store.grants``. Invariant: a token is shown
once and stored as a hash; neither can be read back.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Iterable
from hashlib import sha256
from typing import Final, Protocol

import msgspec

from recollect.errors import Forbidden, InvalidInput, NotFound
from recollect.model import validate
from recollect.model.events import Trust
from recollect.model.values import MadeToken, Token
from recollect.store.grants import VERBS
from recollect.store.seam import Seam

PREFIX: Final = "rct_"  # so that secret scanners recognise it
_RANDOM_BYTES: Final = 32
_LIST: Final = "`recollect admin token list` lists all of them"


class Tokens(Protocol):
    """The tokens of one store."""

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
        ...

    def list(self) -> list[Token]:
        """Every token ever created, except those of processes that ended."""
        ...

    def revoke(self, which: str) -> int:
        """Revokes every token with this label, or the one with this id; returns how many."""
        ...


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What a new token is to allow, checked."""

    label: str
    space: str | None
    verbs: tuple[str, ...]
    origin: Trust
    user: str | None
    agent: str | None
    expires: str | None

    def made(self, id: int, at: str, token: str) -> MadeToken:
        """The answer to who created it."""
        return MadeToken(
            **msgspec.structs.asdict(self), id=id, made=at, revoked=None, live=True, token=token
        )


def wanted(
    label: str,
    *,
    space: str | None,
    verbs: Iterable[str],
    origin: Trust,
    user: str | None,
    agent: str | None,
    expires: str | None,
    now: str,
) -> Wanted:
    """What was asked for, if a token can have it."""
    label = validate.name(label, "label")
    if label.isdecimal():
        raise InvalidInput("a label of digits alone could be mistaken for a token's id")
    allowed = _checked(verbs, every_space=space is None)
    if expires is not None and expires <= now:
        raise InvalidInput(f"expires: {expires} is past")
    user, agent = validate.optional_name(user, "user"), validate.optional_name(agent, "agent")
    if "drop" in allowed and (origin != "person" or user is not None or agent is not None):
        raise InvalidInput("the verb drop needs the origin person, without a user or an agent")
    return Wanted(
        label=label,
        space=None if space is None else validate.space_name(space),
        verbs=allowed,
        origin=origin,
        user=user,
        agent=agent,
        expires=expires,
    )


def new_token(seam: Seam) -> str:
    """A token: 256 random bits."""
    secret = urlsafe_b64encode(seam.random(_RANDOM_BYTES)).decode().rstrip("=")
    return f"{PREFIX}{secret}"


def hash_of(token: str) -> bytes:
    """The hash under which a token is stored."""
    return sha256(token.encode()).digest()


def not_found(which: str) -> NotFound:
    """The error for a label or an id that no valid token has."""
    return NotFound(f"no valid token {which!r} was found", hint=_LIST)


def ended(state: str, since: str | None, store: str) -> Forbidden:
    """The error for a token that is unknown, or was revoked or has expired at an instant."""
    day = "" if since is None else f" on {since[:10]}"
    what = {"revoked": f"was revoked{day}", "expired": f"expired{day}"}
    return Forbidden(
        f"this token {what.get(state, f'is not one of this {store}')}",
        hint=f"set RECOLLECT_TOKEN to a valid one; the owner of the {store} creates it with "
        "`recollect admin token create`",
    )


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
