"""The state digest: one SHA-256 over everything the fold derived, at any position.

Responsible for the order of tables, rows and values. Leaves out everything that is not state: full
text, vectors, caches, what the list of events adds, and the position of an event in a file.
Invariant: two indexes have the same digest exactly if they hold the same rows; all named reads
except the full-text ranking and the list of events depend on those rows alone.
"""

from __future__ import annotations

import struct
from hashlib import sha256
from typing import Final

import msgspec

from recollect.index.statements import STILL
from recollect.index.tables import Db

# Each table with the column number of its `until`, if it has one, and of its floats (from 0).
_TABLES: Final[tuple[tuple[str, int | None, tuple[int, ...]], ...]] = (
    ("commands", None, ()),
    ("versions", 2, (18, 31)),
    ("tags", 3, ()),
    ("evidence", None, ()),
    ("episodes", None, ()),
    ("hidden", 3, ()),
    ("links", 4, (5,)),
    ("frames", 2, (12,)),
    ("receipts", None, ()),
    ("erased", None, ()),
)
_bits: Final = struct.Struct(">d").pack


def log_digest(db: Db) -> str:
    """A digest over what only the list of events is read from, and no state."""
    digest = sha256()
    encode = msgspec.json.Encoder().encode
    for name in ("log_notes", "log_commands"):
        for row in db.stream(name, {}):
            digest.update(encode(list(row)) + b"\n")
    return digest.hexdigest()


def state_digest(db: Db, at: int) -> str:
    """The digest of the state at a position; rows that ended later count as current."""
    digest = sha256()
    encode = msgspec.json.Encoder().encode
    for table, until, floats in _TABLES:
        digest.update(f"{table}\n".encode())
        for row in db.stream(f"digest_{table}", {"at": at}):
            cells = list(row)
            for place in floats:
                cells[place] = _bits(cells[place]).hex()
            if until is not None and cells[until] > at:  # type: ignore[operator]  # an integer
                cells[until] = STILL
            digest.update(encode(cells) + b"\n")
    return digest.hexdigest()
