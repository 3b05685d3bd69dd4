"""What an assistant asks for, as the address says it that a browser is sent to.

Responsible for reading it. Leaves whether the client is known to ``clients``. Invariants: a request
has PKCE with S256; it is about this service; each name stands in it once.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from hmac import compare_digest
from typing import Final

import msgspec

from recollect.errors import InvalidInput
from recollect.serving.oauth import addresses
from recollect.serving.oauth.clients import ID_MAX_CHARS

NAMES: Final = (
    "response_type", "client_id", "redirect_uri", "code_challenge", "code_challenge_method",
    "state", "scope", "resource",
)  # fmt: skip
_STATE_MAX_CHARS: Final = 1_000
_CHALLENGE: Final = re.compile("[A-Za-z0-9_-]{43}")
_VERIFIER: Final = re.compile("[A-Za-z0-9._~-]{43,128}")


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One request for a token."""

    client_id: str
    redirect_uri: str
    challenge: str
    issuer: str  # the address of this service, as the browser has it
    resource: str
    state: str | None
    scope: tuple[str, ...]

    @property
    def space(self) -> str | None:
        """The one memory that it is about."""
        return addresses.space_of(self.resource, self.issuer)


def parsed(query: Mapping[str, tuple[str, ...]], issuer: str) -> Request:
    """A request; InvalidInput says what is wrong with it."""
    given = {name: query.get(name, ()) for name in NAMES}
    if any(len(values) > 1 for values in given.values()):
        raise _wrong("a parameter is in it twice")
    one = {name: values[0] for name, values in given.items() if values}
    if one.get("response_type") != "code":
        raise _wrong("response_type must be code")
    if one.get("code_challenge_method") != "S256" or not _CHALLENGE.fullmatch(
        one.get("code_challenge", "")
    ):
        raise _wrong("PKCE with S256 is needed")
    if len(one.get("state", "")) > _STATE_MAX_CHARS or len(one.get("scope", "")) > _STATE_MAX_CHARS:
        raise _wrong("it is too long")
    resource = one.get("resource", issuer)
    if not addresses.is_resource(resource, issuer):
        raise _wrong("it is about another service")
    client, redirect = one.get("client_id", ""), one.get("redirect_uri", "")
    if not 1 <= len(client) <= ID_MAX_CHARS or not redirect:
        raise _wrong("client_id and redirect_uri are needed")
    return Request(
        client_id=client, redirect_uri=redirect, challenge=one["code_challenge"], issuer=issuer,
        resource=resource, state=one.get("state"), scope=tuple(one.get("scope", "").split()),
    )  # fmt: skip


def is_answer(verifier: str, challenge: str) -> bool:
    """True if a verifier is the secret behind a challenge (RFC 7636, S256)."""
    if not _VERIFIER.fullmatch(verifier):
        return False
    hashed = urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("=")
    return compare_digest(hashed, challenge)


def _wrong(why: str) -> InvalidInput:
    return InvalidInput(
        f"the assistant asked in a form that is not accepted: {why}",
        hint="begin again in the assistant, or tell the people who make it",
    )
