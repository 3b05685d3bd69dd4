"""A visit and its reply.

Responsible for what is known about a request while it is answered, and for writing the answer.
Leaves what is in it to ``app``. Invariant: every answer has the headers of ``guard``, and one that
shows a memory is not stored anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from recollect.interfaces.web.guard import HEADERS, SAFE, Headers
from recollect.interfaces.web.login.session import Session
from recollect.serving.guard import Receive, Scope, Send

HTML: Final = "text/html; charset=utf-8"
_OWN: Final = re.compile(r"(?:/[A-Za-z0-9_.~-]*)+(?:\?[A-Za-z0-9_.~%&=+-]*)?")


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
