"""Appending events to a head: sequence numbers, instants and hashes.

Responsible for making one append out of the events of one or more commands. Leaves randomness and
the clock to its caller. Invariant: ``ledger.scan`` accepts the lines it returns after that head.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from recollect.ledger.line import encode
from recollect.model.events import VERSION, Head, Origin

SALT_BYTES: Final = 16


class Draft(msgspec.Struct, frozen=True, gc=False):
    """An event before it has a place in the chain; ``data`` is its encoded body."""

    id: str
    kind: str
    origin: Origin
    data: bytes
    subject: str | None = None  # whose key encrypted it
    cipher: int | None = None  # the version of that key


def event_id(command_id: str, ordinal: int) -> str:
    """The id of a command's n-th event, counted from 1."""
    return f"{command_id}.{ordinal}"


def chain(head: Head, at: str, drafts: Sequence[Draft], salts: bytes) -> tuple[bytes, Head]:
    """The bytes of one append after ``head``, and the head they lead to.

    ``salts`` holds ``SALT_BYTES`` random bytes for each draft. ``at`` must not be earlier than
    the head's.
    """
    first, last = head.seq + 1, head.seq + len(drafts)
    lines: list[bytes] = []
    prev = head.hash
    for index, draft in enumerate(drafts):
        raw, prev = encode(
            v=VERSION,
            seq=first + index,
            first=first,
            last=last,
            id=draft.id,
            kind=draft.kind,
            at=at,
            origin=draft.origin,
            prev=prev,
            salt=salts[index * SALT_BYTES : (index + 1) * SALT_BYTES],
            data=draft.data,
            subject=draft.subject,
            cipher=draft.cipher,
        )
        lines.append(raw)
    return b"".join(lines), Head(last, prev, at)
