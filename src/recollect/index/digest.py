"""The state digest: one SHA-256 over everything the fold derived, at any position.

Responsible for the stated order of tables, rows and values. Leaves out what is no state: full
text, vectors, caches, and where in which file an event lies. Invariant: two indexes have the
same digest exactly if they hold the same rows, which all named reads but the ranking of full text
are answered from.
"""

from __future__ import annotations

import struct
from hashlib import sha256
from typing import Final

import msgspec

from recollect.index.statements import STILL
from recollect.index.tables import Db

# Each table with the place of its `until`, if it has one, and of its floats (counted from 0).
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


def state_digest(db: Db, at: int) -> str:
    """The digest of the state at a position; what ended later counts as still so."""
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
