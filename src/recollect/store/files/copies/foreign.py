"""An ``index.db`` or an ``events.wal`` that another program made.

Responsible for telling them from an index and a ledger, for refusing a folder that has nothing
else, and for moving a database out of the way of an index. Leaves damaged indexes to
``store.files.build``, and taking a log over to ``contracts.chrono``. Invariant: a file of another
program is never deleted, and no byte of it is changed.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from recollect.errors import ConfigError, Conflict
from recollect.index.rows import Undecodable
from recollect.store.disk.disk import sync_folder
from recollect.store.disk.layout import INDEX, LEDGER, OTHERS_SUFFIX
from recollect.store.files.ledger import segments
from recollect.store.seam import Seam
from recollect.store.sqlite import look_into

# Tables of every release's index. Other programs have some of these names, but hardly several.
_OURS: Final = frozenset({"position", "versions", "evidence", "hidden", "recallable", "rest"})
_ENOUGH_COUNT: Final = 3
_OWN_START: Final = b'{"v":'
_OWN_LENGTH: Final = len(_OWN_START)
_HEAD_BYTES: Final = 4_000
_LOG_KEYS: Final = (b'"record_id"', b'"prev_hash"')  # the first record, between them, may be long
_SQLITE_FILES: Final = ("", "-wal", "-shm", "-journal")


def refuse_foreign(folder: Path) -> None:
    """Raises an error if a folder has no ledger, but an ``index.db`` that no memory made.

    Or if its ``events.wal`` is the log of chronomemory, which would be taken for a torn write.
    """
    if is_foreign_log(folder / LEDGER):
        raise ConfigError(
            f"{LEDGER} belongs to another program: {folder / LEDGER}",
            hint="if it is a log of chronomemory, `recollect --store FOLDER import FOLDER` or "
            "`ChronoStore(project)` takes it over; else name another folder for the memory",
        )
    index = folder / INDEX
    if _size(folder / LEDGER) or not _size(index) or segments.all_segments(folder):
        return
    found = _tables(index)
    if found is None or not _are_ours(found):
        raise ConfigError(
            f"{INDEX} belongs to another program: {index}",
            hint="name another folder for the memory. If this is the damaged index of a memory, "
            f"put its {LEDGER} back, or move {INDEX} away to begin without it",
        )


def is_foreign_log(ledger: Path) -> bool:
    """True for a log of chronomemory: JSON that no ledger begins with, and its keys."""
    try:
        with ledger.open("rb") as file:
            head = file.read(_OWN_LENGTH)
            if head == _OWN_START or not head.startswith(b"{"):
                return False
            head += file.read(_HEAD_BYTES)
    except OSError:
        return False
    return any(key in head for key in _LOG_KEYS)


def is_foreign(index: Path) -> bool:
    """True for a database that is plainly another program's; a damaged index is not."""
    found = _tables(index) if _size(index) else None
    return bool(found) and not _are_ours(found or frozenset())


def set_aside(seam: Seam, index: Path) -> None:
    """Moves another program's database aside, with the files that SQLite adds."""
    import logging  # slow to load

    aside = _free_name(index)
    for end in reversed(_SQLITE_FILES):  # its log goes first: a new index must not find it
        if os.path.lexists(f"{index}{end}"):
            seam.replace(Path(f"{index}{end}"), Path(f"{aside}{end}"))
    sync_folder(seam, index.parent)
    told = "%s was a database of another program; it was kept as %s"
    logging.getLogger(__name__).warning(told, index, aside.name)


def _free_name(index: Path) -> Path:
    for number in range(1, 10_000):
        aside = index.with_name(f"{index.name}.{number}{OTHERS_SUFFIX}")
        taken = [end for end in _SQLITE_FILES if os.path.lexists(f"{aside}{end}")]
        # A log may be there already, if a process was stopped between two files.
        if not any(end == "" or os.path.lexists(f"{index}{end}") for end in taken):
            return aside
    raise Conflict(f"there are too many databases in {index.parent}", hint="move them away")


def _are_ours(tables: frozenset[str]) -> bool:
    return len(tables & _OURS) >= _ENOUGH_COUNT


def _tables(index: Path) -> frozenset[str] | None:
    """The names of the tables in a database; None if it cannot be read."""
    with suppress(sqlite3.Error, Undecodable, OSError), closing(look_into(index)) as db:
        return frozenset(str(name) for (name,) in db.rows("get_tables"))
    return None


def _size(path: Path) -> int:
    """The size of a file; 0 if there is none, or if it may not be looked at."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
