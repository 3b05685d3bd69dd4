"""What a request brings, and what it counts as.

Responsible for reading the body of a form and for the class of its rate. Leaves what is done to
``app``. Invariant: a body is limited in size and time.
"""

from __future__ import annotations

import asyncio
from typing import Final

from recollect.interfaces.web.asked import AWAY
from recollect.interfaces.web.guard import Turned
from recollect.interfaces.web.reply import Visit
from recollect.serving.guard import Receive

SETTINGS: Final = (("theme",), ("keys",))  # of a browser
BODY_MAX_S: Final = 30.0
SHORT_BYTES: Final = 65_536
SHORT_MAX_S: Final = 5.0  # nobody is known yet who sends such a form


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
