"""The index of one ledger, in this process.

Responsible for making one, from nothing, from a snapshot or from a whole ledger, and for folding
what is new. Leaves the ledger to ``store.indexed.ledger`` and the rows to ``index``. Invariant: an
index stands at the end of an append; what fails leaves it where it stood.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from recollect.errors import IntegrityError
from recollect.index.fold import Clock, Fold
from recollect.index.reads import Reads
from recollect.index.rows import PositionRow, Undecodable
from recollect.index.statements import INDEX_VERSION
from recollect.index.tables import Tables
from recollect.index.words.text import made_with
from recollect.ledger.cipher import Ciphers
from recollect.ledger.codec import decode
from recollect.ledger.scan import Scanner
from recollect.model.events import EventsErased, Head
from recollect.store.fold_ledger import fold_whole
from recollect.store.port import Progress
from recollect.store.sqlite import (
    CACHE_BYTES,
    SqliteDb,
    in_memory,
    is_of_this_release,
    memory_index,
)

_FAST: Final = 1  # of zlib: a snapshot is read more often than its bytes matter
_MEMORY_MAX_BYTES: Final = 32 << 20  # of one index; a larger one is in a file


def version() -> str:
    """What must be equal for a snapshot to be read: the index's version and its tokens'."""
    return f"{INDEX_VERSION} {made_with()}"


class Index:
    """SQLite in memory; used by one thread at a time."""

    def __init__(self, db: SqliteDb) -> None:
        self.db = db
        self._position: PositionRow | None = None  # as it was read last
        self.size_bytes = db.size_bytes()  # in memory, as of the last write
        self._is_aside = False
        self.is_clean = True  # nothing is left of what was erased

    @classmethod
    def empty(cls, space: str) -> Index:
        """The index of a ledger without events."""
        return cls(memory_index(space))

    @classmethod
    def woken(cls, image: bytes, space: str) -> Index | None:
        """The index of a snapshot; None if it cannot be used."""
        with suppress(zlib.error, sqlite3.Error, UnicodeDecodeError, Undecodable, IntegrityError):
            pages = zlib.decompress(image)
            if not pages:  # which SQLite takes for a lack of memory
                return None
            db = SqliteDb.of_image(pages)
            found = Reads(db).position() if is_of_this_release(db) else None
            if found is not None and found.space == space and db.one("is_position_whole") == (1,):
                return cls(db)
            db.close()
        return None

    @classmethod
    def folded(
        cls,
        space: str,
        pieces: Iterable[bytes],
        ciphers: Ciphers,
        progress: Progress | None = None,
        total: int = 0,
    ) -> Index:
        """The index of a whole ledger."""
        db = SqliteDb(":memory:", pragmas=in_memory(total))
        try:
            db.create(space)
            db.run("begin_write")
            folded = fold_whole(db, pieces, progress, total, ciphers=ciphers)
            head = folded.head
            moved = (head.seq, head.hash, head.at, folded.active_us, folded.size_bytes)
            db.many("move_position", [moved])
            db.many("set_purged", [(folded.erasures.purged,)])
            db.run("commit")
            db.complete()
        except BaseException:
            db.close()
            raise
        return cls(db)

    def put_aside(self) -> None:
        """Moves a large index to a temporary file without a name.

        The system removes it when it is closed, also for a process that was killed.
        """
        if self.size_bytes > _MEMORY_MAX_BYTES:
            large, self.db = self.db, self.db.aside()
            large.close()
            self.size_bytes, self._is_aside = CACHE_BYTES, True

    @property
    def position(self) -> PositionRow:
        """The last event that was folded, and the size of the ledger up to it."""
        if self._position is None:
            self._position = Reads(self.db).position()
        if self._position is None:
            raise IntegrityError("the index lost its position", hint="open the memory again")
        return self._position

    @property
    def head(self) -> Head:
        """The last event that was folded."""
        position = self.position
        return Head(position.seq, position.hash, position.at)

    def follow(self, pieces: Iterable[bytes], ciphers: Ciphers) -> list[EventsErased]:
        """Folds the appends that follow; returns the erasures among them."""
        position, db, erased = self.position, self.db, list[EventsErased]()
        scanner = Scanner(Head(position.seq, position.hash, position.at))
        tables = Tables(db)
        fold = Fold(tables, Clock(position.at, position.active_us))
        db.run("begin_write")
        try:
            for piece in pieces:
                for append in scanner.feed(piece):
                    events = [decode(line, ciphers) for line in append.lines]
                    erased += (e.body for e in events if isinstance(e.body, EventsErased))
                    fold.append(events)
                tables.flush()
            self.move(scanner.head, fold.clock.active_us, position.offset + scanner.end)
            self.commit()
        finally:
            self.roll_back()
        self.is_clean &= not erased
        return erased

    def move(self, head: Head, active_us: int, size: int) -> None:
        """Notes the last event, in an open transaction."""
        self.db.many("move_position", [(head.seq, head.hash, head.at, active_us, size)])

    def commit(self) -> None:
        """Ends a transaction."""
        self.db.run("commit")
        self._position = None
        if not self._is_aside:
            self.size_bytes = self.db.size_bytes()

    def roll_back(self) -> None:
        """Undoes what was not committed."""
        if self.db.in_transaction:
            self.db.run("rollback")
            self._position = None

    def finish(self, purged: int, size: int) -> None:
        """Notes that erasures up to an event are finished, and removes what is left of the words.

        A removed row leaves its bytes in free pages, and full text leaves its words in pieces that
        are merged later.
        """
        self.db.many("set_purged", [(purged,)])
        self.db.many("move_offset", [(size,)])
        self._position = None
        self.clean()

    def clean(self) -> None:
        """Writes every page again, without what was removed."""
        for name in ("merge_recallable", "merge_rest", "vacuum"):
            self.db.run(name)
        self.is_clean = True

    def copy(self) -> Index:
        """Another index with the same rows, for one reader."""
        return Index(SqliteDb.of_image(self.db.image()))

    def image(self) -> bytes:
        """This index as a snapshot."""
        return zlib.compress(self.db.image(), _FAST)

    def close(self) -> None:
        """Releases its memory."""
        self.db.close()
