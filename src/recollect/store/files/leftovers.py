"""Files that a stopped process leaves beside a ledger, and the names of those kept for a person.

Responsible for removing half-made files and for naming what was cut off. Leaves locking to
``store.files.open_files`` and cutting to ``store.files.active``. Invariant: nothing here touches a
ledger's own files.
"""

from __future__ import annotations

from pathlib import Path

from recollect.errors import Conflict
from recollect.store.layout import INDEX, LEDGER, NEW_SUFFIX, SEALED, TORN_SUFFIX, half_made
from recollect.store.seam import Seam


def torn_name(folder: Path, seq: int) -> Path:
    """Where what stood after event ``seq`` is kept."""
    for number in range(1, 10_000):
        path = folder / f"{LEDGER}.{seq}-{number}{TORN_SUFFIX}"
        if not path.exists():
            return path
    raise Conflict(f"there are too many torn copies in {folder}", hint="check and delete them")


def remove_leftovers(seam: Seam, folder: Path) -> None:
    """Half-made files of a process that was stopped; the lock says that nobody needs them."""
    indexes = folder.glob(f"{half_made(Path(INDEX))}*")  # with the files that SQLite adds to one
    for path in (*indexes, half_made(folder / LEDGER), *(folder / SEALED).glob(f"*{NEW_SUFFIX}")):
        if path.exists():
            seam.unlink(path)
