"""The guard in front of a server on loopback: only requests with the token pass.

Responsible for access. Leaves the answer to the application behind it, listening to
``serving.server``, and slow or idle clients to ``serving.connections``. Invariants: no request of
any method passes unless its Host is this server's loopback name, its Origin is absent or the same,
and its token is right. No token is asked for only if the application says so, because it accepts
nothing that is not signed.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final

from recollect.errors import ConfigError

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
TOKEN_MIN_CHARS: Final = 16
LET_IN: Final = "recollect.let_in"  # in a scope: what an application calls for a caller it knows


class Guard:
    """Wraps an application and passes on only permitted requests."""

    def __init__(self, app: App, *, port: int, token: str | None) -> None:
        if token is not None:
            check_token(token)
        self._app = app
        self._hosts = frozenset(f"{name}:{port}" for name in NAMES)
        self._origins = frozenset(f"http://{host}" for host in self._hosts)
        self._token = None if token is None else token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request, or the application's startup and shutdown."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        else:
            refusal = self._refusal(scope["headers"])
            if refusal is None:
                await self._app(scope, receive, send)
            else:
                await _refuse(send, *refusal)

    def _refusal(self, headers: Iterable[tuple[bytes, bytes]]) -> tuple[int, str] | None:
        """Why a request is refused, or None. A header that occurs twice counts as missing."""
        given: dict[bytes, list[bytes]] = {}
        for name, value in headers:
            given.setdefault(name.lower(), []).append(value)
        hosts, origins = given.get(b"host", []), given.get(b"origin", [])
        if len(hosts) != 1 or _text(hosts[0]) not in self._hosts:
            return 403, "unknown Host"
        if len(origins) > 1 or any(_text(origin) not in self._origins for origin in origins):
            return 403, "Origin not allowed"
        if not self._is_right(given.get(b"authorization", [])):
            return 401, "missing or wrong bearer token"
        return None

    def _is_right(self, given: list[bytes]) -> bool:
        if self._token is None:
            return True
        scheme, _, token = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
        is_same = hmac.compare_digest(token.strip(), self._token)
        return is_same and scheme.lower() == b"bearer"


def check_token(token: str) -> None:
    """Refuses a token that could be guessed."""
    if len(token) < TOKEN_MIN_CHARS or not token.isascii() or any(c.isspace() for c in token):
        raise ConfigError(
            f"the token must have at least {TOKEN_MIN_CHARS} ASCII characters and no spaces",
            hint="unset RECOLLECT_MCP_TOKEN to have one generated",
        )


def _text(value: bytes) -> str:
    return value.decode("latin-1")


async def _refuse(send: Send, status: int, why: str) -> None:
    body = f"{why}\n".encode()
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
