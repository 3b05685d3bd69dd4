"""A witness for others on this machine, over HTTP (C2SP ``tlog-witness``).

    POST /add-checkpoint        cosigns a checkpoint of a pinned log
    GET  /HASH/checkpoint       the last one of a log; HASH is the SHA-256 of its name

Responsible for the protocol. Leaves the witness to ``store.witnesses``, access to ``serving.guard``
and slow clients to ``serving.connections``. Invariants: a request is limited in size and time;
nothing but a checkpoint that a pinned key signed changes anything, so no token is asked for.
"""

from __future__ import annotations

import asyncio
import logging
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

from recollect.errors import RecollectError
from recollect.proof.notes import BadNote
from recollect.proof.witness import (
    REQUEST_MAX_BYTES,
    Behind,
    Cosigned,
    Refusal,
    Why,
    parse_request,
)
from recollect.serving.guard import Receive, Scope, Send
from recollect.store.witnesses.folder import FolderWitness
from recollect.store.witnesses.remote import SIZE_TYPE

_BODY_MAX_S: Final = 10.0
_THREADS_COUNT: Final = 4
_PLAIN: Final = "text/plain; charset=utf-8"
_STATUS: Final[dict[Why, int]] = {
    "malformed": 400,
    "unsigned": 403,
    "unknown": 404,
    "inconsistent": 422,
}
_CHECKPOINT: Final = re.compile("/([0-9a-f]{64})/checkpoint")
_log: Final = logging.getLogger(__name__)


class _Reply(NamedTuple):
    status: int
    body: bytes
    kind: str = _PLAIN


class WitnessApp:
    """The application behind the guard."""

    def __init__(self, witness: FolderWitness, *, body_max_s: float = _BODY_MAX_S) -> None:
        self._witness = witness
        self._body_max_s = body_max_s
        self._threads = ThreadPoolExecutor(_THREADS_COUNT)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request, or the startup and the shutdown."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        try:
            reply = await self._reply(scope, receive)
        except RecollectError as error:
            _log.error("the witness could not answer: %s", error)
            reply = _Reply(503, b"the witness cannot answer now\n")
        headers = [
            (b"content-type", reply.kind.encode()),
            (b"content-length", str(len(reply.body)).encode()),
        ]
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": reply.body})

    async def _reply(self, scope: Scope, receive: Receive) -> _Reply:
        method, path = scope["method"], scope["path"]
        wanted = _CHECKPOINT.fullmatch(path)
        if path == "/add-checkpoint":
            if method != "POST":
                return _Reply(405, b"use POST\n")
            return await self._added(receive)
        if wanted is None:
            return _Reply(404, b"not found\n")
        if method not in ("GET", "HEAD"):
            return _Reply(405, b"use GET\n")
        return await self._in_thread(self._kept, wanted[1])

    async def _added(self, receive: Receive) -> _Reply:
        try:
            async with asyncio.timeout(self._body_max_s):
                body = await _body(receive)
        except TimeoutError:
            return _Reply(408, b"the request took too long\n")
        if body is None:
            return _Reply(413, b"the request is too long\n")
        return await self._in_thread(self._add, body)

    def _add(self, body: bytes) -> _Reply:
        try:
            request = parse_request(body)
        except BadNote as error:
            return _Reply(400, f"{error.message}\n".encode())
        match self._witness.add(request):
            case Cosigned(signatures=made):
                return _Reply(200, "".join(each.line for each in made).encode())
            case Behind(size=size):
                return _Reply(409, f"{size}\n".encode(), SIZE_TYPE)
            case Refusal(why=why, text=text):
                return _Reply(_STATUS[why], f"{text}\n".encode())

    def _kept(self, digest: str) -> _Reply:
        note = self._witness.latest_by_hash(digest)
        return _Reply(404, b"not found\n") if note is None else _Reply(200, note)

    async def _in_thread(self, work: object, given: object) -> _Reply:
        """Runs blocking work, a few at a time."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, work, given)  # type: ignore[arg-type]

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                self._threads.shutdown()
                return


async def _body(receive: Receive) -> bytes | None:
    """The body of a request; None if it is too long or its sender left."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if len(body) > REQUEST_MAX_BYTES:
            return None
        if not message.get("more_body", False):
            return bytes(body)
