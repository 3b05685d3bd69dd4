"""A line of the ledger in its parts.

Responsible for which bytes the hash covers and what each part is. Leaves reading the line to the
memory. Invariants: joined, the parts are the line; what the hash and the commitment should be is
computed here again, not taken from the line.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final, Literal

import msgspec

Role = Literal["hashed", "hash", "salt", "body", "end"]

_HASH: Final = b',"hash":"'
_HASH_CHARS: Final = 64
_SALT: Final = b'"salt":"'
_SALT_CHARS: Final = 32
_DATA: Final = b'","data":'
_COMMITMENT: Final = b'"body":"'


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
