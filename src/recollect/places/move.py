"""Moving a project's memory out of git's way, into the git folder of its repository.

Git silently overwrites ignored files, and ``git clean`` deletes them. So a memory that an earlier
release created in a work tree is moved when it is next opened. Responsible for when and how.
Leaves finding both places to ``config``. Invariants: only a known memory is moved, or one that a
person adopts; it is moved whole, by one rename under the locks of all its spaces, so that exactly
one ledger takes writes at any moment; a memory that cannot be moved now stays in place and is used
there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from msgspec import structs

from recollect.config import FOLDER, Settings
from recollect.errors import RecollectError
from recollect.places import known
from recollect.store import posix
from recollect.store.disk.disk import replace_file, sync_folder
from recollect.store.disk.layout import LEDGER, LOCK, MOVED, SPACES, is_empty
from recollect.store.disk.repository import tracks
from recollect.store.files.backend import make_workspace
from recollect.store.seam import REAL, Seam


def move_if_needed(settings: Settings, seam: Seam = REAL, *, adopted: bool = False) -> Settings:
    """Moves the memory if it should and can be moved, and returns its settings afterwards.

    A memory that git tracks is shared on purpose: it is moved only if it was just ``adopted``.
    """
    if settings.moves_to is not None and not os.path.lexists(settings.moves_to):
        with suppress(OSError, RecollectError):  # held by another process, read-only, another disk
            _move(settings, Path(settings.moves_to), seam, adopted=adopted)
    return current(settings)


def current(settings: Settings) -> Settings:
    """The settings of a memory, updated if any process has moved it."""
    if settings.moves_to is None or not os.path.lexists(settings.moves_to):
        return settings
    return structs.replace(settings, where=settings.moves_to, moves_to=None)


def _move(settings: Settings, new: Path, seam: Seam, *, adopted: bool) -> None:
    old, is_tracked = Path(settings.where), tracks(new.parent, FOLDER)
    if (is_tracked and not adopted) or not known.has_listed(settings):
        return
    with known.lock(settings, seam), _held(old, seam):
        if os.path.lexists(new) or not old.is_dir():
            return  # another process was faster
        # Listed under both places first, so that it stays known if we are stopped in between.
        for name in known.LISTS:
            known.list_as(settings, str(new), seam, name)
        seam.replace(old, new)
        sync_folder(seam, new.parent)
        sync_folder(seam, old.parent)
        if not is_tracked:
            _leave_notice(old, seam)
        for name in known.LISTS:
            known.unlist(settings, seam, name)


@contextmanager
def _held(workspace: Path, seam: Seam) -> Iterator[None]:
    """Holds the locks of all spaces; raises ``OSError`` if one is already held."""
    with ExitStack() as stack:
        for folder in (workspace, *sorted((workspace / SPACES).glob("*"))):
            if not is_empty(folder):
                fd = seam.open(folder / LOCK, os.O_RDWR | os.O_CREAT | posix.NO_LINK)
                stack.callback(seam.close, fd)
                posix.lock(fd, wait=False)
        yield


def _leave_notice(old: Path, seam: Seam) -> None:
    """Keeps a process that still uses the old place from starting another ledger there."""
    make_workspace(old, seam)
    replace_file(seam, old / LEDGER, [MOVED])  # atomic, because an empty ledger would take writes
