"""One event, byte for byte, and its proof.

Responsible for the exact bytes, for their parts with the one that the hash covers, and for the
proof as a file. Leaves who may see an event to the memory. Invariants: joined, the parts are the
line; what the hash and the commitment should be is computed here again, not taken from the line; no
checkpoint is signed by looking: a proof is handed out only if a signed one covers the event
already.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final, Literal

import msgspec

from recollect.errors import NotFound, Unsupported
from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.draw.rows import Row, rows
from recollect.interfaces.web.pages.erasure import seq_of
from recollect.interfaces.web.signed import Signatures, Signed, signatures
from recollect.interfaces.web.view import Download, View
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of
from recollect.memory.one_event import exact_line
from recollect.model.values import EventView

Role = Literal["hashed", "hash", "salt", "body", "end"]
_HASH: Final = b',"hash":"'
_HASH_CHARS: Final = 64
_SALT: Final = b'"salt":"'
_SALT_CHARS: Final = 32
_DATA: Final = b'","data":'
_COMMITMENT: Final = b'"body":"'


class Main(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows."""

    event: EventView
    row: Row | None
    line: Parts | None  # None if a service has it
    before: int | None
    after: int | None
    keys: Signatures
    covered: Signed | None


def page(asked: Asked, memory: Memory) -> View:
    """Reads one event."""
    event = memory.events.get(seq_of(asked))
    keys = signatures(memory)
    near = memory.events.list(after=event.seq - 1, limit=2)
    earlier = memory.events.list(before=event.seq, limit=1)
    main = Main(
        event=event,
        row=next((row for row in rows(near[:1]) if row.change.seq == event.seq), None),
        line=_line(memory, event.seq),
        before=earlier[0].seq if earlier else None,
        after=near[1].seq if len(near) > 1 and near[1].seq <= asked.position else None,
        keys=keys,
        covered=keys.covering(max(event.seq, event.erased_by or 0)),
    )
    line = asked.cli("log", "--after", event.seq - 1, "--limit", 1, "--json", past=False)
    call = asked.call(asked.python("events.get", event.seq), line)
    return View(title=f"Event {event.seq}", main=main, answer=event, calls=(call,))


def proof(asked: Asked, memory: Memory) -> View:
    """The proof of one event, as a file."""
    event = memory.events.get(seq_of(asked))
    if signatures(memory).covering(max(event.seq, event.erased_by or 0)) is None:
        raise NotFound(
            f"no signed checkpoint covers event {event.seq} yet",
            hint="sign one on the page of the ledger",
        )
    made = memory.proof.prove(event=event.seq)
    file = Download(name=f"event-{event.seq}.proof", body=made.document.encode())
    return View(title=f"Proof {event.seq}", main=None, answer=made, download=file)


def _line(memory: Memory, seq: int) -> Parts | None:
    try:
        return parts(exact_line(handle_of(memory), seq))
    except Unsupported:
        return None


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Some bytes of a line."""

    role: Role
    text: str


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """A line, and whether its two digests are right."""

    parts: tuple[Part, ...]
    size: int
    hash: str  # computed over the hashed part
    is_hash_right: bool
    is_body_right: bool | None  # None if the body was erased


def parts(raw: bytes) -> Parts:
    """The parts of a line without its newline."""
    header, mark, rest = raw.partition(_HASH)
    digest, tail = rest[:_HASH_CHARS], rest[_HASH_CHARS:]
    hashed = sha256(header).hexdigest()
    found: list[tuple[Role, bytes]] = [("hashed", header), ("hash", mark + digest + tail[:2])]
    tail, is_right = tail[2:], None
    if tail.startswith(_SALT):
        salt_end = len(_SALT) + _SALT_CHARS + len(_DATA)
        salt, data = tail[len(_SALT) : len(_SALT) + _SALT_CHARS], tail[salt_end:-1]
        found += [("salt", tail[:salt_end]), ("body", data), ("end", tail[-1:])]
        is_right = _commitment(salt, data) == _committed(header)
    else:
        found.append(("end", tail))
    return Parts(
        parts=tuple(Part(role=role, text=each.decode("utf-8", "replace")) for role, each in found),
        size=len(raw),
        hash=hashed,
        is_hash_right=hashed.encode() == digest,
        is_body_right=is_right,
    )


def _commitment(salt: bytes, data: bytes) -> bytes:
    try:
        return sha256(bytes.fromhex(salt.decode("ascii")) + data).hexdigest().encode()
    except ValueError:
        return b""


def _committed(header: bytes) -> bytes:
    return header.partition(_COMMITMENT)[2][:_HASH_CHARS]
