"""Who asks: a program that wants a token.

Responsible for registration (RFC 7591) and for finding a client by its id. Leaves descriptions that
must be fetched to ``documents``. Invariants: nothing is kept for a registration, because the id
holds what was registered; everything about a client is what it says about itself, and gives it no
right; an answer goes to an address that the client's id stands for.

An id needs no signature: everybody may register anything, so a forged id is as good as a real one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Final

import msgspec

from recollect.errors import InvalidInput
from recollect.model.visible import shown
from recollect.model.wire import decoded, encoded
from recollect.serving.oauth import addresses
from recollect.serving.oauth.documents import Documents

_PREFIX: Final = "client_"
ID_MAX_CHARS: Final = 3_000
_URIS_MAX_COUNT: Final = 5
_NAME_MAX_CHARS: Final = 60
_PUBLIC: Final = "none"  # clients are public: PKCE protects the code
_UNNAMED: Final = "an assistant without a name"
_SETS_APART: Final = frozenset({"Ps", "Pe", "Pi", "Pf"})  # brackets and quotation marks
_MARKS: Final = frozenset('"`<>\u00b4\u02ba\u02ee\u2033\u2036\uff02')  # others that look so
_NOT_JSON: Final = (ValueError, RecursionError, msgspec.MsgspecError)  # the second: deeply nested


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """A program that asks; its name is its own word."""

    id: str
    name: str
    redirect_uris: tuple[str, ...]
    described_at: str | None = None  # the host of its description


def registered(name: str, redirect_uris: Sequence[str]) -> Client:
    """A client with an id that holds these two."""
    name, uris = _named(name), _redirects(redirect_uris)
    id = _PREFIX + encoded(msgspec.json.encode((name, uris)))
    if len(id) > ID_MAX_CHARS:
        raise InvalidInput("the redirect addresses are too long", hint="register fewer")
    return Client(id=id, name=name, redirect_uris=uris)


def found(id: str, documents: Documents) -> Client:
    """The client of an id; fetches its description if the id is an address."""
    if addresses.document(id) is not None:
        return _described(id, documents.get(id))
    try:
        name, uris = msgspec.json.decode(
            decoded(id.removeprefix(_PREFIX)), type=tuple[str, tuple[str, ...]]
        )
    except _NOT_JSON as error:
        raise _unknown() from error
    client = registered(name, uris)
    if client.id != id:  # another form of the same, or none of ours
        raise _unknown()
    return client


def check_redirect(client: Client, uri: str) -> None:
    """Refuses an address that is not one of the client's own."""
    addresses.redirect(uri)
    if not any(addresses.is_same_redirect(uri, each) for each in client.redirect_uris):
        raise InvalidInput(
            "this assistant did not register the address to which the answer would go",
            hint="begin again in the assistant; if that fails too, do not trust it",
        )


class _Document(msgspec.Struct, frozen=True):
    client_id: str
    redirect_uris: tuple[str, ...]
    client_name: str = ""
    token_endpoint_auth_method: str = _PUBLIC


def _described(id: str, body: bytes) -> Client:
    try:
        told = msgspec.json.decode(body, type=_Document)
    except _NOT_JSON as error:
        raise InvalidInput(
            "the description of this assistant is not in the form of OAuth",
            hint="tell the people who make it",
        ) from error
    if told.client_id != id or told.token_endpoint_auth_method != _PUBLIC:
        raise InvalidInput(
            "the description of this assistant is of another one, or asks for a secret",
            hint="tell the people who make it",
        )
    host = addresses.document(id)
    return Client(
        id=id,
        name=_named(told.client_name),
        redirect_uris=_redirects(told.redirect_uris),
        described_at=None if host is None else host[0],
    )


def _redirects(uris: Sequence[str]) -> tuple[str, ...]:
    if not 1 <= len(uris) <= _URIS_MAX_COUNT:
        raise InvalidInput(
            f"a client has 1 to {_URIS_MAX_COUNT} redirect addresses", hint="register fewer"
        )
    return tuple(addresses.redirect(uri) for uri in uris)


def _named(name: str) -> str:
    """A name on one line, with marks for what cannot be seen.

    It has no quotation marks and no brackets, with which it could seem to end and go on in our
    words. They are taken out twice, because the marks have some too, and a name must stay as it is
    when it is checked again.
    """
    plain = _joined(shown(_joined(name[:1_000])))
    return " ".join(plain.split())[:_NAME_MAX_CHARS].strip() or _UNNAMED


def _joined(name: str) -> str:
    """A name without what sets a part of it apart; apostrophes stay."""
    return "".join(
        " " if char in _MARKS or unicodedata.category(char) in _SETS_APART else char
        for char in name.replace("\u2019", "'")
    )


def _unknown() -> InvalidInput:
    return InvalidInput("this assistant is not registered here", hint="add it again there")
