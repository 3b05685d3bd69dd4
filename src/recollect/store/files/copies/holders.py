"""Processes that have the old files of a space open after an erasure.

An erasure replaces the files of the ledger and the index. A process that had the old ones open
keeps them readable, also through /proc, until its next call or its end; nothing can force it to
close them. Responsible for finding such processes. Leaves erasing to ``store.files.erased_bodies``.
Invariant: the search changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from recollect.store.disk.layout import INDEX, LEDGER, SEALED, projections_of
from recollect.store.sqlite import FileId

_PROCESSES: Final = Path("/proc")
_UNKNOWN: Final = (
    "NOT known: whether other processes have the old files open; one that has keeps them until its "
    "next call or its end"
)


class OldFiles(NamedTuple):
    """The files of a space as they were before an erasure replaced them."""

    folders: tuple[str, ...]
    ids: frozenset[FileId]


def files_of(folder: Path) -> OldFiles:
    """The files of a space that an erasure replaces, as they are before it."""
    found = {*folder.glob(f"{LEDGER}*"), *folder.glob(f"{INDEX}*"), *folder.glob(f"{SEALED}/*")}
    found.update(projections_of(folder))
    folders = {os.path.realpath(path.parent) for path in found}
    return OldFiles(tuple(sorted(folders)), frozenset(_ids(found)))


def told(old: OldFiles) -> list[str]:
    """Sentences about processes that still have one of these deleted files open."""
    if not (_PROCESSES / "self" / "fd").exists():
        return [_UNKNOWN]
    found = [number for number in _numbers() if _holds(number, old)]
    if not found:
        return ["other processes: none of yours has an old file open"]
    return [
        f"NOT cleaned: process {number} ({_name(number)}) has an old file open, and keeps it until "
        "its next call or its end"
        for number in found
    ]


def _numbers() -> list[int]:
    return sorted(int(name) for name in os.listdir(_PROCESSES) if name.isdecimal())


def _holds(number: int, old: OldFiles) -> bool:
    """True if a process has one of these files open; processes of other users cannot be seen."""
    try:
        open_files = list((_PROCESSES / str(number) / "fd").iterdir())
    except OSError:
        return False
    for path in open_files:
        with suppress(OSError):
            status = os.stat(path)
            is_old = status.st_nlink == 0 and (status.st_dev, status.st_ino) in old.ids
            if is_old and _was_here(number, os.readlink(path), old):
                return True
    return False


def _was_here(number: int, last_name: str, old: OldFiles) -> bool:
    """False for a deleted file of another folder: the system gave it the number of an old one.

    A process with other mounts may see these folders elsewhere.
    """
    mounts = [os.readlink(_PROCESSES / str(one) / "ns" / "mnt") for one in ("self", number)]
    return mounts[0] != mounts[1] or os.path.dirname(last_name) in old.folders


def _name(number: int) -> str:
    with suppress(OSError):
        return (_PROCESSES / str(number) / "comm").read_text("utf-8", "replace").strip()
    return "ended"


def _ids(paths: Collection[Path]) -> Iterator[FileId]:
    for path in paths:
        with suppress(OSError):
            status = os.stat(path)
            yield status.st_dev, status.st_ino
