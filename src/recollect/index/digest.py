"""The state digest: one SHA-256 over everything the fold derived, at any position.

Responsible for the stated order of tables, rows and values. Leaves out what is no state: full
text, vectors, caches, and where in which file an event lies. Invariant: two indexes have the
same digest exactly if every named read answers the same on both.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from hashlib import sha256
from typing import Final, Protocol

import msgspec

from recollect.index.rows import Cell, Row
from recollect.index.statements import STILL
from recollect.index.tables import Params

# Table, and which of its columns is `until` (counted from 0), if any.
_TABLES: Final[tuple[tuple[str, int | None], ...]] = (
    ("commands", None),
    ("versions", 2),
    ("tags", 3),
    ("evidence", None),
    ("episodes", None),
    ("hidden", 3),
    ("links", 4),
    ("erased", None),
)


class Streaming(Protocol):
    """An engine that can hand out rows one by one."""

    def stream(self, name: str, params: Params) -> Iterable[Row]:
        """The rows of a read, without holding them all."""
        ...


def state_digest(db: Streaming, at: int) -> str:
    """The digest of the state at a position; what ended later counts as still so."""
    digest = sha256()
    encode = msgspec.json.Encoder().encode
    for table, until in _TABLES:
        digest.update(f"{table}\n".encode())
        for row in db.stream(f"digest_{table}", {"at": at}):
            cells = [_cell(cell) for cell in row]
            if until is not None and int(str(cells[until])) > at:
                cells[until] = STILL
            digest.update(encode(cells) + b"\n")
    return digest.hexdigest()


def _cell(cell: Cell) -> str | int | None:
    """A value in its one form: floats by their bits, bytes by their hex."""
    if isinstance(cell, float):
        return struct.pack(">d", cell).hex()
    return cell.hex() if isinstance(cell, bytes) else cell
