"""The whole ledger of an entered space: its bytes in pieces, and its index folded from them.

Responsible for reading and folding every event. Leaves the transaction, and who may begin one, to
``store.postgres.index``. Invariant: memory stays bounded for a ledger of any length.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Final, cast

from recollect.errors import IntegrityError
from recollect.index.reads import Reads
from recollect.index.rows import PositionRow
from recollect.index.statements import INDEX_VERSION
from recollect.ledger.cipher import Ciphers
from recollect.model.events import GENESIS, Head
from recollect.store.fold_ledger import PIECE_BYTES, fold_whole
from recollect.store.port import Progress
from recollect.store.postgres.db import PostgresDb

INDEX_TABLES: Final = (
    "position",
    "commands",
    "authors",
    "notes",
    "versions",
    "tags",
    "evidence",
    "resting",
    "replaced",
    "ineffective",
    "episodes",
    "hidden",
    "links",
    "frames",
    "documents",
    "passes",
    "sessions",
    "proposals",
    "concerns",
    "branches",
    "receipts",
    "erased",
    "postings",
    "shelves",
)


def page(db: PostgresDb, after: int) -> tuple[bytes, int]:
    """The lines after an event, up to the size of one piece, and the seq of the last."""
    held: list[bytes] = []
    size = 0
    with closing(db.stream("events", {"after": after})) as rows:
        for seq, line in rows:
            held.append(bytes(cast(bytes, line)) + b"\n")
            size += len(held[-1])
            after = cast(int, seq)
            if size >= PIECE_BYTES:
                break
    return b"".join(held), after


def pieces(db: PostgresDb) -> Iterator[bytes]:
    """The entered space's lines, within one transaction."""
    piece, after = page(db, 0)
    while piece:
        yield piece
        piece, after = page(db, after)


def refold(
    db: PostgresDb, name: str, head: Head, progress: Progress | None, ciphers: Ciphers
) -> PositionRow:
    """Rebuilds every row of the index from the events, under the space's lock."""
    old = Reads(db).position()
    for table in INDEX_TABLES:
        db.run(f"empty_{table}")
    row = (INDEX_VERSION, name, GENESIS.seq, GENESIS.hash, GENESIS.at, 0, 0, 0)
    db.many("put_position", [row])
    folded = fold_whole(db, pieces(db), progress, old.offset if old else 0, ciphers=ciphers)
    seen = folded.head
    if (seen.seq, seen.hash) != (head.seq, head.hash):
        raise IntegrityError(
            f"the ledger ends at event {seen.seq}, but its head says {head.seq}",
            hint="restore the database from a backup",
        )
    position = PositionRow(
        INDEX_VERSION,
        name,
        seen.seq,
        seen.hash,
        seen.at,
        folded.active_us,
        folded.size_bytes,
        folded.erasures.purged,
    )
    db.many("move_position", [(*position[2:7],)])
    db.many("set_purged", [(position.purged,)])
    return position


def head_of(position: PositionRow | None) -> Head:
    """The end of the ledger, from the index, which is committed together with it."""
    if position is None:
        raise IntegrityError("the index lost its position", hint="rebuild it")
    return Head(position.seq, position.hash, position.at)
