"""Building an index from a whole ledger, aside, then moving it into place.

Responsible for the one way an index comes to be. Leaves when that is needed to
``store.files.index``. Invariants: memory stays bounded whatever the ledger's length; other
processes see the old index or the new one, never half of it; an index that had seen more than the
ledger holds is not replaced.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from recollect.errors import IntegrityError, RecollectError
from recollect.index.fold import Clock, Fold
from recollect.index.reads import Reads
from recollect.index.rows import Row, Undecodable
from recollect.index.statements import INDEX_VERSION
from recollect.index.tables import Tables
from recollect.index.text import made_with
from recollect.ledger.codec import decode
from recollect.ledger.erasure import Erasures
from recollect.ledger.scan import Append, Scanner
from recollect.model.events import GENESIS, Event, Head, SpaceOpened
from recollect.store.disk import sync_file, sync_folder
from recollect.store.files import segments
from recollect.store.files.active import ActiveFile
from recollect.store.files.stamp import stamp_of
from recollect.store.layout import half_made
from recollect.store.port import Progress
from recollect.store.seam import Seam
from recollect.store.sqlite import SqliteDb, look_into, new_index, open_index


class Ahead(Exception):
    """The old index had folded an event that the ledger does not hold."""

    def __init__(self, seen: Head) -> None:
        super().__init__(f"event {seen.seq}")
        self.seen = seen


def known_head(index: Path) -> Head | None:
    """What an index, of whatever release, says it has folded; None if it cannot be asked.

    A position with a changed byte proves nothing, least of all that an event was lost.
    """
    with suppress(sqlite3.Error, Undecodable), closing(look_into(index)) as db:
        row = db.one("known_head")
        with suppress(sqlite3.OperationalError):  # releases before 6 kept no mark
            if db.one("is_position_whole") != (1,):
                return None
        return None if row is None else Head(*row)  # type: ignore[arg-type]  # its columns
    return None


def known_version(index: Path) -> int | None:
    """Which release's schema an index has, as far as it can be asked."""
    row = _asked(index, "get_position")
    return row[0] if row is not None and isinstance(row[0], int) else None


def known_tokens(index: Path) -> str | None:
    """What made an index's tokens, as far as it can be asked."""
    row = _asked(index, "get_made_with")
    return None if row is None else str(row[0])


def _asked(index: Path, name: str) -> Row | None:
    """A row of an index that may be of any release, or damaged."""
    with suppress(sqlite3.Error, Undecodable), closing(look_into(index)) as db:
        return db.one(name)
    return None


def is_of_this_release(db: SqliteDb) -> bool:
    """True if the index can be read, has the present schema and holds tokens as they are made here.

    Anything else is built again. Tokens count because full text takes out what it is told to take
    out: told other tokens than were put in, it would keep the words of what was erased.
    """
    with suppress(sqlite3.Error, Undecodable):
        position = Reads(db).position()
        if position is None or position.version != INDEX_VERSION:
            return False
        return db.one("get_made_with") == (made_with(),)
    return False


def build_index(
    seam: Seam,
    path: Path,
    space: str,
    active: ActiveFile,
    witness: Head | None,
    progress: Progress | None,
) -> None:
    """Folds the whole ledger into a new index under ``path``."""
    fresh = _fresh(seam, path)
    # Without an index there is no watermark: any of these bytes may be unsynced. Segments are not.
    active.settle(0)
    db = new_index(fresh, space)
    try:
        with closing(db):
            _fill(db, space, active, witness, progress)
    except (RecollectError, Ahead):
        seam.unlink(fresh)
        raise
    move_into_place(seam, fresh, path)


def clean_index(seam: Seam, path: Path, db: SqliteDb, purged: int) -> None:
    """Puts a copy in the index's place that holds no byte of what was deleted from it.

    A copy, because an index cannot be cleaned where it lies while somebody reads it. Whoever has
    the old one open keeps it until it looks again; the workspace does not.
    """
    fresh = _fresh(seam, path)
    for name in ("merge_recallable", "merge_rest"):  # full text drops deleted words when it merges
        db.run(name)
    db.many("copy_to", [(str(fresh),)])
    copy = open_index(fresh)
    try:
        copy.many("set_purged", [(purged,)])
    finally:
        copy.close()
    db.close()
    move_into_place(seam, fresh, path)


def _fresh(seam: Seam, path: Path) -> Path:
    """An empty file beside the index, for its owner alone, in which the next one is made."""
    fresh = half_made(path)
    seam.unlink(fresh)
    seam.close(seam.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL))
    return fresh


def _fill(
    db: SqliteDb, space: str, active: ActiveFile, witness: Head | None, progress: Progress | None
) -> None:
    total = segments.size_bytes(active)
    scanner = Scanner()
    tables = Tables(db)
    fold = Fold(tables, Clock(GENESIS.at, 0))
    seen = _Seen(space, witness)
    db.run("begin_write")
    for piece in segments.pieces(active):
        for append in scanner.feed(piece):
            events = [decode(line) for line in append.lines]
            seen.append(append, events)
            fold.append(events)
        tables.flush()
        if progress is not None:
            progress(scanner.end, total)
    # Damage is named here; a torn tail is cut when the index catches up.
    offset = active.size - len(segments.torn_in(active, scanner))
    seen.check(scanner.head)
    head = scanner.head
    db.many("move_position", [(head.seq, head.hash, head.at, fold.clock.active_us, offset)])
    db.many("set_purged", [(seen.erasures.purged,)])
    db.many("leave_stamp", [stamp_of(active.path)])
    db.run("commit")
    db.complete()
    db.run("use_wal")  # so that whoever opens it first need not change the file


class _Seen:
    """What building an index notes in passing."""

    def __init__(self, space: str, witness: Head | None) -> None:
        self._space = space
        self._witness = witness if witness is not None and witness.seq > 0 else None
        self.erasures = Erasures()

    def append(self, append: Append, events: list[Event]) -> None:
        witness = self._witness
        for line, event in zip(append.lines, events, strict=True):
            if witness is not None and line.seq == witness.seq:
                if line.hash != witness.hash:
                    raise Ahead(witness)
                self._witness = None
            self.erasures.note(event)
            if isinstance(event.body, SpaceOpened) and event.body.space != self._space:
                raise IntegrityError(
                    f"this is the ledger of {event.body.space!r}, not of {self._space!r}",
                    hint="put the folder back where it was",
                )

    def check(self, head: Head) -> None:
        """The old index must not have seen more than there is."""
        if self._witness is not None and self._witness.seq > head.seq:
            raise Ahead(self._witness)


def move_into_place(seam: Seam, fresh: Path, path: Path) -> None:
    """Gives a finished index its name; the old one goes with its log.

    Each step is durable before the next. An index without the log that belongs to it may be half
    of a checkpoint, and a log beside an index that it does not belong to is played into it: so
    the old index goes first, and its log is gone before the new one has the name.
    """
    sync_file(seam, fresh)
    drop_index(seam, path)
    seam.replace(fresh, path)
    sync_folder(seam, path.parent)


def drop_index(seam: Seam, path: Path) -> None:
    """Takes an index away, then its log."""
    for names in ((path.name,), (f"{path.name}-wal", f"{path.name}-shm")):
        for name in names:
            seam.unlink(path.with_name(name))
        sync_folder(seam, path.parent)
