"""Projections of a memory: databases made from it by another part, which hold its texts.

Responsible for removing them when texts are erased or the space is dropped. Leaves making them to
``contracts.blocks.db``. Invariant: only a file goes that says of itself that it can be made again.
"""

from __future__ import annotations

from pathlib import Path

from recollect.store.disk.disk import sync_folder
from recollect.store.disk.layout import projections_of
from recollect.store.seam import Seam


def remove_projections(seam: Seam, folder: Path) -> list[str]:
    """Removes the projections of a space, with their logs; their next reader makes them again."""
    found = projections_of(folder)
    for path in found:
        for end in ("-wal", "-shm", "-journal", ""):  # the file last: without it nothing is found
            seam.unlink(path.with_name(path.name + end))
        sync_folder(seam, path.parent)
    return [f"{path.name}: removed; its next reader makes it again" for path in found]
