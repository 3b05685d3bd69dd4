"""A visit and its reply.

Responsible for what is known about a request while it is answered, for the class of its rate, for
reading the body of a form and for writing the answer. Leaves what is in it to ``app``. Invariants:
a body is limited in size and time; every answer has the headers of ``guard``, and one that shows a
memory is not stored anywhere.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Final

from recollect.interfaces.web.asked import AWAY
from recollect.interfaces.web.guard import HEADERS, SAFE, Headers, Turned
from recollect.interfaces.web.login.session import Session
from recollect.serving.guard import Receive, Scope, Send

HTML: Final = "text/html; charset=utf-8"
_OWN: Final = re.compile(r"(?:/[A-Za-z0-9_.~-]*)+(?:\?[A-Za-z0-9_.~%&=+-]*)?")
SETTINGS: Final = (("theme",), ("keys",))  # of a browser
BODY_MAX_S: Final = 30.0
SHORT_BYTES: Final = 65_536
SHORT_MAX_S: Final = 5.0  # nobody is known yet who sends such a form


class Visit:
    """One request: what it asks for, and who it turned out to be."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope, self.receive, self.send = scope, receive, send
        self.method: str = scope["method"]
        self.path: str = scope["raw_path"].decode("latin-1")
        self.query: bytes = scope["query_string"]
        self.headers: Headers = {}
        self.segments: tuple[str, ...] = ()  # of the path below the root
        self.session: Session | None = None

    @property
    def is_safe(self) -> bool:
        """True if it changes nothing."""
        return self.method in SAFE


class Reply:
    """An answer."""

    def __init__(
        self,
        status: int,
        body: bytes = b"",
        kind: str = HTML,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.status = status
        self.body = body
        self.kind = kind
        self.headers = headers or {}

    async def send(self, send: Send, *, with_body: bool = True) -> None:
        """Writes it."""
        headers = {
            "Content-Type": self.kind,
            "Content-Length": str(len(self.body)),
            "Cache-Control": "no-store",
            **dict(HEADERS),
            **self.headers,
        }
        raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": self.status, "headers": raw})
        await send({"type": "http.response.body", "body": self.body if with_body else b""})


def to_own(root: str, address: str) -> str:
    """An address to go back to, if it is one of ours; else the beginning."""
    path = address.partition("?")[0]
    is_own = (
        address.startswith(f"{root}/")
        and _OWN.fullmatch(address)
        and "//" not in address
        and not {".", ".."} & set(path.split("/"))
    )
    return address if is_own else f"{root}/"


def rate_class(visit: Visit, segments: tuple[str, ...]) -> str:
    """What a request counts as, as the same calls do over HTTP."""
    if segments[0] == AWAY:
        return "admin" if segments[1:] not in SETTINGS else "read"
    if not visit.is_safe:
        return "write"
    return "recall" if segments[1:2] in (("search",), ("context",), ("go",)) else "read"


async def body_of(receive: Receive, most: int) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_MAX_S if most > SHORT_BYTES else SHORT_MAX_S):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise Turned(400, "the connection ended before the form")
                body += message.get("body", b"")
                if len(body) > most:
                    raise Turned(413, "the form is too long")
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError as error:
        raise Turned(408, "the form took too long") from error
