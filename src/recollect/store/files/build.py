"""Building an index from a whole ledger in a new file, then moving it into place.

Responsible for building every index. Leaves when that is needed to ``store.files.index``.
Invariants: memory stays bounded for a ledger of any length; other processes see the old index or
the new one, never a part; an index that has seen events missing from the ledger is not replaced.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from recollect.errors import IntegrityError, RecollectError
from recollect.index.rows import Row, Undecodable
from recollect.ledger.batches import Batch
from recollect.ledger.scan import Scanner
from recollect.model.events import Event, Head, SpaceOpened
from recollect.store.disk.disk import sync_file, sync_folder
from recollect.store.disk.layout import half_made
from recollect.store.files.copies.foreign import is_foreign, refuse_foreign, set_aside
from recollect.store.files.ledger import segments
from recollect.store.files.ledger.active import ActiveFile
from recollect.store.files.ledger.stamp import stamp_of
from recollect.store.fold_ledger import fold_appends
from recollect.store.keys.subjects import Subjects
from recollect.store.port import Progress
from recollect.store.seam import Seam
from recollect.store.sqlite import SqliteDb, look_into, new_index, open_index


class Ahead(Exception):
    """The old index had folded an event that is missing from the ledger."""

    def __init__(self, seen: Head) -> None:
        super().__init__(f"event {seen.seq}")
        self.seen = seen


def known_head(index: Path) -> Head | None:
    """The last event that an index, of any release, has folded; None if it cannot be read.

    A position with a wrong checksum is ignored: it does not prove that an event was lost.
    """
    with suppress(sqlite3.Error, Undecodable), closing(look_into(index)) as db:
        row = db.one("known_head")
        with suppress(sqlite3.OperationalError):  # versions before 6 have no checksum
            if db.one("is_position_whole") != (1,):
                return None
        return None if row is None else Head(*row)  # type: ignore[arg-type]  # its columns
    return None


def known_version(index: Path) -> int | None:
    """The version of an index; None if it cannot be read."""
    row = _asked(index, "get_position")
    return row[0] if row is not None and isinstance(row[0], int) else None


def known_tokens(index: Path) -> str | None:
    """The tokenizer version of an index; None if it cannot be read."""
    row = _asked(index, "get_made_with")
    return None if row is None else str(row[0])


def _asked(index: Path, name: str) -> Row | None:
    """A row of an index that may be from any release, or damaged."""
    with suppress(sqlite3.Error, Undecodable), closing(look_into(index)) as db:
        return db.one(name)
    return None


def build_index(
    seam: Seam,
    path: Path,
    space: str,
    active: ActiveFile,
    witness: Head | None,
    progress: Progress | None,
    subjects: Subjects | None = None,
) -> None:
    """Folds the whole ledger into a new index under ``path``.

    The keys of subjects that an event ordered destroyed are destroyed, if they still are there.
    """
    refuse_foreign(path.parent)
    fresh = _fresh(seam, path)
    # Without an index it is unknown which bytes of the active file are synced. Segments are.
    active.settle(0)
    db = new_index(fresh, space)
    try:
        with closing(db):
            ordered = _fill(db, space, active, witness, progress, subjects)
    except (RecollectError, Ahead):
        seam.unlink(fresh)
        raise
    if subjects is not None and ordered:
        subjects.destroy(ordered, max(ordered.values()))
    if is_foreign(path):
        set_aside(seam, path)
    move_into_place(seam, fresh, path)


def clean_index(seam: Seam, path: Path, db: SqliteDb, purged: int) -> None:
    """Replaces the index with a copy that contains no byte of deleted rows.

    A copy, because an index cannot be cleaned in place while it is being read. A process that has
    the old file open keeps it until its next call; it is no longer in the workspace.
    """
    fresh = _fresh(seam, path)
    for name in ("merge_recallable", "merge_rest"):  # merging removes deleted words from full text
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
    """An empty file beside the index, accessible to its owner only, for the next index."""
    fresh = half_made(path)
    seam.unlink(fresh)
    seam.close(seam.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL))
    return fresh


def _fill(
    db: SqliteDb,
    space: str,
    active: ActiveFile,
    witness: Head | None,
    progress: Progress | None,
    subjects: Subjects | None,
) -> dict[str, int]:
    total = segments.size_bytes(active)
    scanner = Scanner()
    seen = _Seen(space, witness)
    db.run("begin_write")
    pieces = segments.pieces(active)
    folded = fold_appends(db, scanner, pieces, progress, total, look=seen.look, ciphers=subjects)
    # Damage is reported here; a torn tail is cut when the index catches up.
    offset = active.size - len(segments.torn_in(active, scanner))
    seen.check(scanner.head)
    head = folded.head
    db.many("move_position", [(head.seq, head.hash, head.at, folded.active_us, offset)])
    db.many("set_purged", [(folded.erasures.purged,)])
    db.many("leave_stamp", [stamp_of(active.path)])
    db.run("commit")
    db.complete()
    db.run("use_wal")  # so that the first process to open it need not change the file
    return folded.erasures.subjects if folded.erasures.purged else {}


class _Seen:
    """What building an index keeps track of."""

    def __init__(self, space: str, witness: Head | None) -> None:
        self._space = space
        self._witness = witness if witness is not None and witness.seq > 0 else None

    def look(self, batch: Batch, events: list[Event]) -> None:
        """Looks at the next events."""
        for event in events:
            if isinstance(event.body, SpaceOpened) and event.body.space != self._space:
                raise IntegrityError(
                    f"this is the ledger of {event.body.space!r}, not of {self._space!r}",
                    hint="put the folder back where it was",
                )
        witness = self._witness
        if witness is not None and witness.seq <= batch.head.seq:
            if batch.hash_of(witness.seq) != witness.hash:
                raise Ahead(witness)
            self._witness = None

    def check(self, head: Head) -> None:
        """Raises an error if the old index has seen events that are missing."""
        if self._witness is not None and self._witness.seq > head.seq:
            raise Ahead(self._witness)


def move_into_place(seam: Seam, fresh: Path, path: Path) -> None:
    """Moves a finished index into place; the old one and its log are removed.

    Each step is durable before the next. An index without its log may be a partial checkpoint, and
    SQLite would replay a log into an index that it does not belong to. So the old index is removed
    first, then its log, and only then is the new index renamed.
    """
    sync_file(seam, fresh)
    drop_index(seam, path)
    seam.replace(fresh, path)
    sync_folder(seam, path.parent)


def drop_index(seam: Seam, path: Path) -> None:
    """Removes an index, then its log."""
    for names in ((path.name,), (f"{path.name}-wal", f"{path.name}-shm")):
        for name in names:
            seam.unlink(path.with_name(name))
        sync_folder(seam, path.parent)
