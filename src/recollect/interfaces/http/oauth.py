"""OAuth on the port of the service: ``/authorize``, ``/register``, ``/token`` and who answers them.

Responsible for the HTTP of it (RFC 6749, 7591, 8414, 8707, 9207, with the rules of OAuth 2.1).
Leaves the rules to ``serving.oauth``, and the page on which a person decides to the inspector.
Invariants: no browser is led to another website from here; an answer with a token is stored
nowhere; a refusal says the same about a code that never was and one that has ended.
"""

from __future__ import annotations

from html import escape
from typing import Final
from urllib.parse import parse_qs, parse_qsl, urlencode

import msgspec

from recollect.errors import InvalidInput
from recollect.interfaces.http.entries import Entries
from recollect.interfaces.http.limits.gate import Headers
from recollect.interfaces.http.problems import Refused
from recollect.interfaces.http.replies import Reply, json_reply
from recollect.model import instants
from recollect.serving.guard import Scope
from recollect.serving.oauth import access_request, clients
from recollect.serving.oauth.addresses import base
from recollect.serving.oauth.desk import NOT_ANY_MORE, Desk, Refusal
from recollect.store.seam import REAL, Seam

BODY_MAX_BYTES: Final = 16_384
_QUERY_MAX_BYTES: Final = 8_192
_FORM: Final = "application/x-www-form-urlencoded"
_JSON: Final = "application/json"
_HTML: Final = b"text/html; charset=utf-8"
_SERVER: Final = "/.well-known/oauth-authorization-server"
_OPENID: Final = "/.well-known/openid-configuration"  # where clients look under a prefix
_METHODS: Final = {"/authorize": "GET", "/token": "POST", "/register": "POST"}
_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Recollect</title></head>
<body><p>An assistant asks to be let in. <a href="{0}">Look at what it asks for</a></p></body>
</html>
"""
_PAGE_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}


class _Registration(msgspec.Struct, frozen=True):
    """What a client says about itself; all else it may say is ignored."""

    redirect_uris: tuple[str, ...]
    client_name: str = ""


class OAuth:
    """What is answered to assistants that have no token yet."""

    def __init__(self, desk: Desk, page: str, root: str = "", seam: Seam = REAL) -> None:
        self._desk = desk
        self._page = page  # of the inspector, on which a person decides
        self._root = root
        self._seam = seam

    def document(self, path: str, scope: Scope) -> dict[str, object] | None:
        """What this authorization server can do (RFC 8414)."""
        known = (_SERVER, _SERVER + self._root, _OPENID if self._root else _SERVER)
        if path not in known:
            return None
        issuer = base(scope, self._root)
        return {
            "issuer": issuer,
            "authorization_endpoint": f"{issuer}/authorize",
            "token_endpoint": f"{issuer}/token",
            "registration_endpoint": f"{issuer}/register",
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code"],
            "token_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            "client_id_metadata_document_supported": True,
        }

    def is_asked(self, method: str, path: str) -> bool:
        """True if a request is one of these; another method is refused."""
        wanted = _METHODS.get(path)
        if wanted is None:
            return False
        if method != wanted:
            raise Refused(405, "method_not_allowed", f"use {wanted}", headers={"Allow": wanted})
        return True

    def answer(
        self, path: str, query: bytes, headers: Headers, body: bytes, entries: Entries
    ) -> Reply:
        """Answers one of them."""
        if path == "/authorize":
            return self._forwarded(query)
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        try:
            if path == "/register":
                return self._registered(body, kind)
            return self._exchanged(body, kind, entries)
        except Refusal as error:
            status = 503 if error.error == "temporarily_unavailable" else 400
            return json_reply(status, {"error": error.error, "error_description": error.said})

    def _forwarded(self, query: bytes) -> Reply:
        """A page that leads to the inspector's.

        It cannot be a redirect: the browser comes from another website, so it would bring neither
        the cookie nor the right to be let in. From a page of ours it brings both.
        """
        if len(query) > _QUERY_MAX_BYTES:
            raise Refused(413, "body_too_long", "the request of the assistant is too long")
        try:
            given = parse_qs(query.decode("ascii"), keep_blank_values=True, max_num_fields=50)
        except ValueError as error:
            raise Refused(400, "malformed", "the query cannot be parsed") from error
        known = [(name, value) for name in access_request.NAMES for value in given.get(name, ())]
        place = f"{self._page}?{urlencode(known)}"
        page = _PAGE.format(escape(place)).encode()
        return Reply(200, page, _HTML, {**_PAGE_HEADERS, "Refresh": f"0; url={place}"})

    def _registered(self, body: bytes, kind: str) -> Reply:
        try:
            if kind != _JSON:
                raise InvalidInput("the body must be JSON")
            asked = msgspec.json.decode(body, type=_Registration)
            client = clients.registered(asked.client_name, asked.redirect_uris)
        except InvalidInput as error:
            raise Refusal("invalid_redirect_uri", error.message) from error
        except (ValueError, RecursionError, msgspec.MsgspecError) as error:  # deeply nested too
            raise Refusal("invalid_client_metadata", "redirect_uris are needed") from error
        now = instants.to_microseconds(self._seam.now()) // 1_000_000
        told = {
            "client_id": client.id, "client_id_issued_at": now, "client_name": client.name,
            "redirect_uris": client.redirect_uris, "token_endpoint_auth_method": "none",
            "grant_types": ["authorization_code"], "response_types": ["code"],
        }  # fmt: skip
        return json_reply(201, told)

    def _exchanged(self, body: bytes, kind: str, entries: Entries) -> Reply:
        given = _fields(body, kind)
        if given.get("grant_type") != "authorization_code":
            raise Refusal("unsupported_grant_type", "only authorization_code is supported")
        try:
            made = self._desk.redeem(given, entries.using)
        except Refused as error:  # the token of the person who approved has ended
            raise Refusal("invalid_grant", NOT_ANY_MORE) from error
        left = 0
        if made.expires is not None:
            ends, now = map(instants.to_microseconds, (made.expires, self._seam.now()))
            left = max(0, (ends - now) // 1_000_000)
        told = {
            "access_token": made.token, "token_type": "Bearer", "expires_in": left,
            "scope": " ".join(made.verbs),
        }  # fmt: skip
        return json_reply(200, told)


def _fields(body: bytes, kind: str) -> dict[str, str]:
    """The fields of a form; one that stands twice is refused."""
    try:
        if kind != _FORM:
            raise ValueError(kind)
        pairs = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=50
        )
    except ValueError as error:
        raise Refusal("invalid_request", f"the body must be {_FORM}") from error
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise Refusal("invalid_request", "a field is in it twice")
    return fields
