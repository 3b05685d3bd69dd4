"""Files that a stopped process leaves beside a ledger, and the names of torn copies.

Responsible for removing temporary files and for naming the copies of bytes that were cut off.
Leaves locking to ``store.files.open_files`` and cutting to ``store.files.ledger.active``.
Invariant: the files of a ledger itself are not changed here.
"""

from __future__ import annotations

from pathlib import Path

from recollect.errors import Conflict
from recollect.store.disk.layout import INDEX, LEDGER, NEW_SUFFIX, SEALED, TORN_SUFFIX, half_made
from recollect.store.files.copies.own_files import is_index, is_segment
from recollect.store.seam import Seam


def torn_name(folder: Path, seq: int) -> Path:
    """The path for the bytes that were cut off after event ``seq``."""
    for number in range(1, 10_000):
        path = folder / f"{LEDGER}.{seq}-{number}{TORN_SUFFIX}"
        if not path.exists():
            return path
    raise Conflict(f"there are too many torn copies in {folder}", hint="check and delete them")


def remove_leftovers(seam: Seam, folder: Path) -> None:
    """Removes temporary files of a stopped process; under the lock, so that none is in use."""
    for path in (*_found(folder), half_made(folder / LEDGER)):
        if _is_own(path) and path.exists():
            seam.unlink(path)


def others(folder: Path) -> list[Path]:
    """The files that are named like temporary ones, but were not made by a memory."""
    return sorted(path for path in _found(folder) if not _is_own(path))


def _found(folder: Path) -> list[Path]:
    indexes = folder.glob(f"{half_made(Path(INDEX))}*")  # with the files that SQLite adds
    return [*indexes, *(folder / SEALED).glob(f"*{NEW_SUFFIX}")]


def _is_own(path: Path) -> bool:
    return is_index(path) or is_segment(path) or path.name == half_made(Path(LEDGER)).name
