"""An answer as it goes over the wire.

Responsible for its bytes, its headers and whether it is compressed. Leaves what is answered to
``work`` and ``app``. Invariants: an answer is never stored by a cache; a problem names its request;
what holds a token or has an ETag is never compressed.

Compressing tells the length of what repeats. Who sees the lengths of encrypted answers and can
write into a memory could guess at its other texts (BREACH). So it is done only for who asks for it,
every such answer is longer by a random number of bytes, and our own clients do not ask.
"""

from __future__ import annotations

import asyncio
import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import msgspec
from msgspec import structs

from recollect.interfaces.http.call import File
from recollect.interfaces.http.problems import KIND, Refused
from recollect.interfaces.http.seen import Seen
from recollect.interfaces.http.spool import spooled
from recollect.model import wire
from recollect.serving.guard import Send
from recollect.store.seam import REAL

JSON: Final = b"application/json"
_PIECE_BYTES: Final = 262_144
_PIECE_MAX_S: Final = 30.0
_PACKED_MIN_BYTES: Final = 1_024
_LEVEL: Final = 1  # three times as fast as the usual one, for answers a tenth longer
_GZIP: Final = b"\x1f\x8b\x08\x04" + bytes(4) + b"\x04\xff"  # with a field of our own, no time
_PADDING_MAX_BYTES: Final = 64


class Reply(NamedTuple):
    """An answer's bytes; a long one is in a file, which is closed when it was sent."""

    status: int
    body: bytes = b""
    kind: bytes = JSON
    headers: Mapping[str, str] = {}
    file: File | None = None
    code: str | None = None  # of the problem


def json_reply(status: int, value: object) -> Reply:
    """A value as an answer."""
    return Reply(status, msgspec.json.encode(value))


def refused(error: Refused, seen: Seen, root_path: str = "") -> Reply:
    """The answer for a refusal; it names the request, so that a log can be asked about it."""
    problem = structs.replace(
        error.problem, type=root_path + error.problem.type, instance=request_id(seen)
    )
    return Reply(error.status, msgspec.json.encode(problem), KIND, error.headers, code=problem.code)


def request_id(seen: Seen) -> str:
    """The name of a request; made when it is first asked for."""
    if seen.request_id is None:
        seen.request_id = new_request_id(REAL.random(9))
    return seen.request_id


def new_request_id(chance: bytes) -> str:
    """The name of a request from nine random bytes."""
    return "req_" + wire.encoded(chance)


# --- compressing ----------------------------------------------------------------------------------


def is_asked(accepted: str) -> bool:
    """True if Accept-Encoding takes gzip."""
    for each in accepted.lower().split(","):
        name, _, weight = (part.strip() for part in each.partition(";"))
        if name in ("gzip", "x-gzip"):
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def packed(reply: Reply) -> Reply:
    """The answer, compressed if it is long and nothing speaks against it."""
    size = len(reply.body) if reply.file is None else reply.file.size
    if size < _PACKED_MIN_BYTES or "ETag" in reply.headers or reply.status >= 300:
        return reply
    headers = {**reply.headers, "Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    if reply.file is None:
        return reply._replace(body=b"".join(_gzip([reply.body])), headers=headers)
    return reply._replace(file=_packed_file(reply.file), headers=headers)


def _packed_file(file: File) -> File:
    """A long answer, compressed into another file, so that its length is known."""
    with file.data:
        return spooled(_gzip(iter(lambda: file.data.read(_PIECE_BYTES), b"")))


def _gzip(pieces: Iterator[bytes] | list[bytes]) -> Iterator[bytes]:
    """The pieces as one member of gzip (RFC 1952), with a random number of bytes in its header."""
    chance = REAL.random(1 + _PADDING_MAX_BYTES)
    padding = chance[1 : 1 + chance[0] % _PADDING_MAX_BYTES]
    yield _GZIP + struct.pack("<H2sH", 4 + len(padding), b"RC", len(padding)) + padding
    making = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    check, size = 0, 0
    for piece in pieces:
        check, size = zlib.crc32(piece, check), size + len(piece)
        yield making.compress(piece)
    yield making.flush() + struct.pack("<LL", check, size & 0xFFFFFFFF)


# --- sending --------------------------------------------------------------------------------------


async def send_reply(send: Send, reply: Reply, *, with_body: bool) -> None:
    """Sends an answer; TimeoutError if the reader takes nothing for too long."""
    headers = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]
    if reply.status not in (204, 304):
        size = len(reply.body) if reply.file is None else reply.file.size
        headers.append((b"content-length", str(size).encode()))
    if reply.body or reply.file is not None:
        headers.append((b"content-type", reply.kind))
    headers += [
        (name.lower().encode(), value.encode("latin-1", "replace"))
        for name, value in reply.headers.items()
    ]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    if reply.file is not None and with_body:
        await _send_file(send, reply.file)
    await send({"type": "http.response.body", "body": reply.body if with_body else b""})


async def _send_file(send: Send, file: File) -> None:
    while piece := await asyncio.to_thread(file.data.read, _PIECE_BYTES):
        async with asyncio.timeout(_PIECE_MAX_S):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
