"""Who may come in: the checks of a request before its body is read.

Responsible for the name of the service, doubled headers, the token's form, and the number of
requests in work. Leaves what a token allows to the store. Invariant: a request without exactly one
Host that the service knows, or that repeats a header which is not a list, reaches no memory.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from typing import Final

from recollect.interfaces.http.problems import Refused
from recollect.store.tokens.tokens import PREFIX

# A list, or written by every proxy on the way; any other header that comes twice is refused.
_MANY: Final = frozenset(
    {
        "accept", "accept-encoding", "accept-language", "cache-control", "connection", "cookie",
        "forwarded", "pragma", "te", "tracestate", "via", "x-forwarded-for", "x-forwarded-host",
        "x-forwarded-proto",
    }
)  # fmt: skip
_TOKEN_MAX_CHARS: Final = 200
_CHALLENGE: Final = {"WWW-Authenticate": "Bearer"}

Headers = Mapping[str, str]


class Gate:
    """Checks that need no memory."""

    def __init__(self, hosts: Iterable[str], *, in_work_max_count: int = 64) -> None:
        self._hosts = frozenset(host.lower() for host in hosts)
        self._most = in_work_max_count
        self._writes_most = max(in_work_max_count * 3 // 4, 1)  # so that reads find room
        self.in_work = 0
        self._writes = 0
        self.is_draining = False
        self.is_leaving = False  # not ready any more, but still answering

    def headers(self, raw: Iterable[tuple[bytes, bytes]]) -> Headers:
        """The headers of a request; Refused if one is there twice that may not be."""
        found: dict[str, str] = {}
        for name, value in raw:
            key = name.decode("latin-1").lower()
            if key in found and key not in _MANY:
                raise Refused(400, "malformed", f"the header {key[:80]} was sent twice")
            found[key] = value.decode("latin-1")
        host = found.get("host", "").lower()
        if host not in self._hosts:
            raise Refused(
                421, "unknown_host", "this service is not known under that name",
                hint="start it with --hostname NAME to allow another",
            )  # fmt: skip
        origin = found.get("origin")
        if origin is not None and not _same(origin, host):
            raise Refused(403, "forbidden", "requests of other websites are refused")
        return found

    def token(self, headers: Headers) -> str:
        """The token of a request."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token.startswith(PREFIX):
            raise unauthorized("send a token: Authorization: Bearer rct_…")
        if len(token) > _TOKEN_MAX_CHARS or not token.isascii() or any(map(str.isspace, token)):
            raise unauthorized("this is not a token")
        return token

    def check_open(self) -> None:
        """Refuses what comes while the service stops."""
        if self.is_draining:
            raise _later("draining", "the service is stopping")

    def enter(self, *, is_write: bool = False) -> None:
        """Counts a request in; ``leave`` counts it out."""
        self.check_open()
        if self.in_work >= self._most:
            raise _later("busy", f"{self._most} requests are in work already")
        if is_write and self._writes >= self._writes_most:
            raise _later("busy", f"{self._writes_most} writes are in work already")
        self.in_work += 1
        self._writes += is_write

    def drain(self) -> None:
        """Refuses new requests from now on; those in work go on."""
        self.is_draining = True

    def leave(self, *, is_write: bool = False) -> None:
        """Counts a request out."""
        self.in_work -= 1
        self._writes -= is_write


def unauthorized(detail: str) -> Refused:
    """No token, or one that is not valid."""
    return Refused(401, "unauthorized", detail, headers=_CHALLENGE)


def _later(code: str, detail: str) -> Refused:
    return Refused(503, code, detail, headers={"Retry-After": "1"})


def _same(origin: str, host: str) -> bool:
    return any(
        hmac.compare_digest(origin.encode("latin-1"), f"{scheme}://{host}".encode("latin-1"))
        for scheme in ("http", "https")
    )
