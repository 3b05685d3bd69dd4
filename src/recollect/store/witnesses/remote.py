"""A witness behind HTTP: the client of C2SP ``tlog-witness``.

Responsible for what is sent and for reading the answer. Leaves TLS and limits to ``endpoint``, and
whether a cosignature is good to ``store.witnesses.requests``. Invariants: only names and hashes are
sent, never a text of a memory; an answer of another form is an error, never a cosignature.
"""

from __future__ import annotations

import http.client
import re
from hashlib import sha256
from typing import Final

from recollect.endpoint import Reply, Server
from recollect.errors import Unavailable
from recollect.proof.keys import PublicKey
from recollect.proof.notes import BadNote, parse_lines
from recollect.proof.witness import Answer, Behind, Cosigned, Refusal, Request, Why, render_request

SIZE_TYPE: Final = "text/x.tlog.size"
_ANSWER_MAX_BYTES: Final = 1 << 16
_SIZE: Final = re.compile(rb"(0|[1-9][0-9]{0,15})\n")
_TIMEOUT_S: Final = 10.0
_WHY: Final[dict[int, Why]] = {
    400: "malformed",
    403: "unsigned",
    404: "unknown",
    422: "inconsistent",
}
_TOLD: Final[dict[Why, str]] = {
    "malformed": "it could not read the request",
    "unsigned": "it knows the ledger, and not the key that signed",
    "unknown": "it does not know this ledger",
    "inconsistent": "it has seen other events at the beginning of this ledger",
}


class RemoteWitness:
    """A witness at an address, with the key that is expected of it."""

    def __init__(self, url: str, key: PublicKey, *, timeout_s: float = _TIMEOUT_S) -> None:
        self._key = key
        self._server = Server(
            url,
            what="witness",
            hint="check its address; try again with `recollect proof checkpoint`",
            answer_max_bytes=_ANSWER_MAX_BYTES,
            timeout_s=timeout_s,
        )

    @property
    def key(self) -> PublicKey:
        """The key with which it cosigns."""
        return self._key

    def add(self, request: Request) -> Answer:
        """Cosigns the checkpoint of a request, or says why not."""
        reply = self._send("POST", "add-checkpoint", render_request(request))
        if reply.status == http.client.OK:
            return self._cosigned(reply.body)
        if reply.status == http.client.CONFLICT:
            return self._behind(reply)
        why = _WHY.get(reply.status)
        if why is None:
            raise self._server.strange(f"has the status {reply.status}")
        return Refusal(why, _TOLD[why])

    def latest(self, origin: str) -> bytes | None:
        """The last checkpoint of a log that it cosigned."""
        reply = self._send("GET", f"{sha256(origin.encode()).hexdigest()}/checkpoint", None)
        if reply.status == http.client.NOT_FOUND:
            return None
        if reply.status != http.client.OK:
            raise self._server.strange(f"has the status {reply.status}")
        return reply.body

    def _cosigned(self, body: bytes) -> Cosigned:
        try:
            found = parse_lines(body.decode())
        except (BadNote, UnicodeDecodeError) as error:
            raise self._server.strange("is not a line of signature") from error
        return Cosigned(tuple(each for each in found if self._key.made(each)))

    def _behind(self, reply: Reply) -> Behind:
        size = _SIZE.fullmatch(reply.body)
        if size is None or reply.kind != SIZE_TYPE:
            raise self._server.strange("names no size")
        return Behind(int(size[1]))

    def _send(self, method: str, path: str, body: bytes | None) -> Reply:
        headers = {} if body is None else {"Content-Type": "text/plain; charset=utf-8"}
        try:
            return self._server.send(method, path, body, headers)
        except (OSError, http.client.HTTPException) as error:
            raise Unavailable(
                f"the witness at {self._server.host} did not answer: {type(error).__name__}",
                hint="try again with `recollect proof checkpoint`",
            ) from error
