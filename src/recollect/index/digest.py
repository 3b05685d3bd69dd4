"""The state digest: one SHA-256 over everything the fold derived, at any position.

Responsible for the order of tables, rows and values. Leaves out everything that is not state: full
text, vectors, caches, what the list of events adds, and the position of an event in a file.
Invariant: two indexes have the same digest exactly if they hold the same rows; all named reads
except the full-text ranking and the list of events depend on those rows alone.
"""

from __future__ import annotations

import struct
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec

from recollect.index.branches import BranchRow
from recollect.index.proposals import ProposalRow
from recollect.index.rows import (
    DocumentRow,
    EpisodeRow,
    LinkRow,
    PassRow,
    PresetRow,
    ReceiptRow,
    SessionRow,
    VersionRow,
)
from recollect.index.statements import STILL
from recollect.index.tables import Db


class _Table(NamedTuple):
    """A table, its columns in the order of its statement, and which of them hold floats."""

    name: str
    columns: tuple[str, ...]
    floats: tuple[str, ...] = ()


TABLES: Final = (
    _Table("commands", ("seq", "first", "id", "marks", "at", "active_us")),
    _Table("versions", VersionRow._fields[:-1], ("confidence", "last_reinforced_at")),
    _Table("tags", ("tag", "record", "seq", "until")),
    _Table("evidence", ("episode", "record", "seq", "text_seq")),
    _Table("episodes", EpisodeRow._fields[:-2]),  # `hidden` is not a column
    _Table("hidden", ("episode", "why", "seq", "until")),
    _Table("links", LinkRow._fields, ("weight",)),
    _Table("presets", PresetRow._fields, ("floor",)),
    _Table("receipts", ReceiptRow._fields),
    _Table("erased", ("seq", "by")),
    _Table("documents", DocumentRow._fields),
    _Table("passes", PassRow._fields),
    _Table("sessions", SessionRow._fields, ("hours",)),
    _Table("proposals", ProposalRow._fields, ("confidence",)),
    _Table("concerns", ("subject", "proposal", "seq")),
    _Table("branches", BranchRow._fields),
)
# Tables of a later release: a state without their rows keeps the digest that it always had. The
# same holds for later columns: ``said_at`` and ``reinforced_at`` of a version, ``name`` of a link
# and ``branch`` of a proposal. ``tz_minutes`` of a version and ``transient`` of an episode are in
# ``log_digest``: earlier ledgers have them in events, or they follow from those, and seals have a
# digest without them. So are authors and their names.
_LATER: Final = frozenset({"documents", "passes", "sessions", "proposals", "concerns", "branches"})
_NAMED: Final = {"presets": "frames"}  # as the digest names a table: by the code of its events
_LOGS: Final = (
    "log_notes",
    "log_hidden",
    "log_commands",
    "log_offsets",
    "log_transient",
    "log_authors",
    "log_ineffective",
)
_bits: Final = struct.Struct(">d").pack


def log_digest(db: Db) -> str:
    """A digest over what lists of events and pages are read from, and no state."""
    digest = sha256()
    encode = msgspec.json.Encoder().encode
    for name in _LOGS:
        for row in db.stream(name, {}):
            digest.update(encode(list(row)) + b"\n")
    return digest.hexdigest()


def state_digest(db: Db, at: int) -> str:
    """The digest of the state at a position; rows that ended later count as current."""
    digest = sha256()
    encode = msgspec.json.Encoder().encode
    for table, columns, names in TABLES:
        until = columns.index("until") if "until" in columns else None
        floats = [columns.index(name) for name in names]
        header = f"{_NAMED.get(table, table)}\n".encode()
        if table not in _LATER:
            digest.update(header)
            header = b""
        for row in db.stream(f"digest_{table}", {"at": at}):
            cells = list(row)
            for place in floats:
                cells[place] = None if cells[place] is None else _bits(cells[place]).hex()
            while table == "versions" and cells[-1] is None:
                del cells[-1]  # a column of a later release
            if table in ("links", "proposals") and cells[-1] is None:
                del cells[-1]
            if until is not None and cells[until] > at:  # type: ignore[operator]  # an integer
                cells[until] = STILL
            digest.update(header + encode(cells) + b"\n")
            header = b""
    return digest.hexdigest()
