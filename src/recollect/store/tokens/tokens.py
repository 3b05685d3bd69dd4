"""The port of tokens: who may open which spaces of a store, and for how long.

Responsible for the contract, each sentence of which has a test of the same name in
``recollect.testing``; for the rules that every engine shares; and for the text of a token. Leaves
keeping tokens to the engines and what one allows to ``store.tokens.grants``. Invariant: a token is
shown once and stored as a hash; neither can be read back.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final, Protocol

import msgspec

from recollect.errors import Ambiguous, Forbidden, InvalidInput, NotFound
from recollect.model import instants, limits, validate
from recollect.model.events import TRUST_RANK, Trust
from recollect.model.values import MadeToken, Token
from recollect.store.seam import Seam
from recollect.store.tokens.grants import VERBS

PREFIX: Final = "rct_"  # so that secret scanners recognise it
_RANDOM_BYTES: Final = 32
_LABEL_LIKE_CHARS: Final = 24  # a label may begin like a token; one of 47 characters is one
_LIST: Final = "`recollect admin token list` lists all of them"


class Tokens(Protocol):
    """The tokens of one store.

    - A token is shown once and stored as a hash.
    - A rotated token and the one in its place both work until the old one ends.
    - A revoked or expired token opens nothing from the next call on.
    - What belongs to others and what is not there look the same.
    - A dropped space takes its tokens along.
    - Tokens travel with no copy of a space.
    """

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
        """Creates a token for one space, which is created too, or with None for every space.

        ``by`` is the token that asks for it, and None is the owner.
        """
        ...

    def list(self) -> list[Token]:
        """Every token ever created, the oldest first."""
        ...

    def named(self, which: str) -> Sequence[Token]:
        """The tokens with this label, or the one with this id, the oldest first."""
        ...

    def get(self, which: str) -> Token:
        """The token with this id, or the only one with this label."""
        ...

    def rotate(
        self, which: str, *, overlap_s: int = limits.TOKEN_OVERLAP_S, by: Token | None = None
    ) -> MadeToken:
        """Creates a token that allows the same; the old one ends so many seconds later.

        The new one is valid for as long as the old one was when it was created, and not for longer
        than the token that asks for it.
        """
        ...

    def revoke(self, which: str) -> int:
        """Revokes every token with this label, or the one with this id; returns how many."""
        ...

    def find(self, hash: bytes) -> Token | None:
        """The token with this hash, valid or not."""
        ...


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What a new token is to allow, checked."""

    label: str
    space: str | None
    verbs: tuple[str, ...]
    trust: Trust
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
    trust: Trust,
    user: str | None,
    agent: str | None,
    expires: str | None,
    now: str,
) -> Wanted:
    """What was asked for, if a token can have it."""
    label = validate.name(label, "label")
    if is_token(label):
        raise InvalidInput(
            "a label must not be a token: it is shown to everybody who lists tokens",
            hint="name the program or person that uses it",
        )
    if label.isdecimal():
        raise InvalidInput("a label of digits alone could be mistaken for a token's id")
    allowed = _checked(verbs, every_space=space is None)
    expires = None if expires is None else instants.dated(expires)
    if expires is not None and expires <= now:
        raise InvalidInput(f"expires: {expires} is past")
    if trust not in TRUST_RANK:
        raise InvalidInput(f"trust must be person, agent or unverified, not {trust!r}")
    user, agent = validate.optional_name(user, "user"), validate.optional_name(agent, "agent")
    for verb in ("drop", "review", "admin"):
        if verb in allowed and trust != "person":
            raise InvalidInput(f"the verb {verb} needs the trust person")
    for verb in ("drop", "admin"):
        if verb in allowed and (user is not None or agent is not None):
            raise InvalidInput(f"the verb {verb} needs a token without a user or an agent")
    return Wanted(
        label=label,
        space=None if space is None else validate.space_name(space),
        verbs=allowed,
        trust=trust,
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


def given_token(text: str) -> str:
    """A token as a person pasted it, without the space around it."""
    token = text.strip().strip("\"'").strip()
    if not token or (token.startswith(PREFIX) and any(letter.isspace() for letter in token)):
        raise InvalidInput(
            "this token is empty, or has a space or a line break in it",
            hint=f"paste it as one word: {PREFIX} and 43 letters",
        )
    return token


def is_token(text: str) -> bool:
    """True if a text looks like a token."""
    return text.strip().strip("\"'").startswith(PREFIX) and len(text) > _LABEL_LIKE_CHARS


def checked_which(which: str) -> str:
    """A label or an id; a token itself is neither."""
    if is_token(which):
        raise InvalidInput(
            "this is a token, and it is named by its label or id; other programs of this machine "
            "and the shell's history may have seen it now",
            hint=f"{_LIST}; revoke it by its id, and create another",
        )
    return validate.name(which, "token")


def checked_overlap(overlap_s: int) -> int:
    """For how many seconds a rotated token still works."""
    most = limits.TOKEN_OVERLAP_MAX_S
    if type(overlap_s) is not int or not 0 <= overlap_s <= most:
        raise InvalidInput(
            f"overlap: {overlap_s!r} is not a number of seconds from 0 to {most:,}",
            hint="30 days are the most; to keep a token, do not rotate it",
        )
    return overlap_s


def only_one(which: str, found: Sequence[Token]) -> Token:
    """The one token of this name; refuses none and several."""
    if not found:
        raise not_found(which)
    if len(found) > 1:
        ids = ", ".join(str(token.id) for token in found)
        raise Ambiguous(
            f"{len(found)} tokens have the label {which!r}", hint=f"name one by its id: {ids}"
        )
    return found[0]


def next_expiry(made: str, expires: str | None, now: str, by: Token | None) -> str | None:
    """When the token in the place of another expires: after as long a life, within its maker's."""
    ends = [] if by is None or by.expires is None else [by.expires]
    if expires is not None:
        made_us, ends_us = instants.to_microseconds(made), instants.to_microseconds(expires)
        ends.append(instants.from_microseconds(instants.to_microseconds(now) + ends_us - made_us))
    return min(ends, default=None)


def not_found(which: str) -> NotFound:
    """The error for a label or an id that no valid token has."""
    return NotFound(f"no valid token {which!r} was found", hint=_LIST)


def opens_none(name: str, opens: str | None) -> NotFound:
    """The error for a space that is not there, or not for a token that ``opens`` one or all.

    It names no other space: with a million of them, a list would be the most expensive answer.
    """
    step = "see which spaces there are" if opens is None else f"name the one that it opens: {opens}"
    return NotFound(f"this token opens no space named {name!r}", hint=step)


def not_admin() -> Forbidden:
    """The error for a token that may not look after others."""
    return Forbidden(
        "this token may not look after tokens",
        hint="use one with the verb admin, or the owner's folder or login",
    )


def too_much(why: str) -> Forbidden:
    """The error for a token that another one may not create or rotate."""
    return Forbidden(
        f"this token gives no rights that it does not have: {why}",
        hint="ask for less, or use the owner's folder or login",
    )


class Ended(Forbidden):
    """A token that is unknown, or was revoked or has expired."""

    def __init__(self, state: str, since: str | None) -> None:
        day = "" if since is None else f" on {since[:10]}"
        what = {"revoked": f"was revoked{day}", "expired": f"expired{day}"}
        super().__init__(
            f"this token {what.get(state, 'is not one of this store')}",
            hint="set RECOLLECT_TOKEN to a valid one; the owner of the store creates it with "
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
    if asked & {"erase", "create", "review"} and "write" not in asked:
        raise InvalidInput("the verbs erase, create and review need write as well")
    if "drop" in asked and "erase" not in asked:
        raise InvalidInput("the verb drop needs erase as well")
    return tuple(verb for verb in VERBS if verb in asked)
