"""``store.tokens`` of a service: who may open which of its memories.

Responsible for the calls of ``recollect.Store.tokens``. Leaves what they allow to the service.
Invariant: a request that creates a token is sent once: an answer that was lost cannot be given
again, because no token is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

import msgspec

from recollect.client.plain import encoded, plain
from recollect.client.transport import Transport
from recollect.errors import Ambiguous, InvalidInput, NotFound
from recollect.model import limits
from recollect.model.events import Trust
from recollect.model.instants import Moment
from recollect.model.values import MadeToken, Token

_PATH = "/v1/tokens"
List = list  # ``list`` is also the name of a call


class _Tokens(msgspec.Struct, frozen=True):
    items: list[Token]


class _Revoked(msgspec.Struct, frozen=True):
    count: int


class Tokens:
    """The tokens of a service, for a token with the verb ``admin``."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self,
        label: str,
        *,
        space: str | None,
        verbs: Iterable[str] = ("read", "write"),
        trust: Trust = "agent",
        user: str | None = None,
        agent: str | None = None,
        expires: Moment | timedelta | None = None,
    ) -> MadeToken:
        """Create a token. The answer is the only one that ever holds it.

        The arguments are those of ``recollect.Store.tokens.create``.
        """
        if isinstance(verbs, str):
            raise InvalidInput("verbs is a list of words, not one word", hint=f"use [{verbs!r}]")
        fields = {"user": user, "agent": agent, "expires": expires}
        given = {name: value for name, value in fields.items() if value is not None}
        body = {"label": label, "space": space, "verbs": verbs, "trust": trust, **given}
        return self._once(_PATH, body)

    def list(self) -> list[Token]:
        """Every token, the oldest first, also those that have ended."""
        return self._transport.ask("GET", _PATH).read(_Tokens).items

    def get(self, which: str | int) -> Token:
        """One token.

        The arguments are those of ``recollect.Store.tokens.get``.
        """
        (found,) = self._one(which)
        return found

    def rotate(
        self, which: str | int, *, overlap: timedelta = timedelta(seconds=limits.TOKEN_OVERLAP_S)
    ) -> MadeToken:
        """Create a token that allows the same as another, which ends after an overlap.

        The arguments are those of ``recollect.Store.tokens.rotate``.
        """
        if not isinstance(overlap, timedelta):
            raise InvalidInput("overlap must be a timedelta", hint="use timedelta(hours=1)")
        (found,) = self._one(which, is_live=True)
        seconds = overlap // timedelta(seconds=1)
        return self._once(f"{_PATH}/{found.id}/rotate", {"overlap_s": seconds})

    def revoke(self, which: str | int) -> int:
        """End a token at once; returns how many were ended.

        The arguments are those of ``recollect.Store.tokens.revoke``.
        """
        found = [one for one in self._named(which) if one.revoked is None]
        if not found:
            raise _none(which)
        answers = [self._transport.ask("DELETE", f"{_PATH}/{one.id}") for one in found]
        return sum(each.read(_Revoked).count for each in answers)

    def _once(self, path: str, body: Mapping[str, Any]) -> MadeToken:
        return self._transport.ask("POST", path, encoded(plain(body)), is_once=True).read(MadeToken)

    def _named(self, which: str | int) -> List[Token]:
        name = str(which)
        found = self.list()
        return [one for one in found if str(one.id) == name] or [
            one for one in found if one.label == name
        ]

    def _one(self, which: str | int, *, is_live: bool = False) -> List[Token]:
        found = [one for one in self._named(which) if one.live or not is_live]
        if not found:
            raise _none(which)
        if len(found) > 1:
            raise Ambiguous(f"several tokens have the label {which!r}", hint="use an id")
        return found


def _none(which: str | int) -> NotFound:
    return NotFound(f"no token has the id or the label {which!r}", hint="list them first")
