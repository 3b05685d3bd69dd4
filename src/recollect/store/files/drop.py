"""Dropping a space: its files and its copies in the workspace go, and a note of it stays.

    1. the index is removed, so that readers look at what is there
    2. ``dropping.json`` is written into the space's folder: from here on the space is dropped
    3. its copies in the workspace, its vectors, checkpoints, segments and ledger are removed
    4. its tokens are revoked, its jobs are removed, and the note is added to ``dropped.json`` of
       the workspace
    5. ``dropping.json`` takes the name of the lock, and both are removed, then the folder

Responsible for this order, each step durable before the next. Leaves finding copies to
``store.files.copies``, and the lock, which the caller holds, to ``store.files.open_files``.
Invariants: after a crash the space is whole or has ``dropping.json``, and the next process to open
or drop it finishes; no file goes before the lock is held, and the lock's own file goes last.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

import msgspec

from recollect.errors import InvalidInput
from recollect.model.values import Dropped
from recollect.store import posix
from recollect.store.disk.disk import alone, replace_file, sync_folder
from recollect.store.disk.layout import (
    BACKUP,
    BACKUPS,
    CHECKPOINTS,
    DROPPED,
    DROPPING,
    EXPORTS,
    INDEX,
    JOBS,
    LEDGER,
    LOCK,
    SEALED,
    SNAPSHOT,
    VECTORS,
    WRITTEN,
    half_made,
    workspace_of,
)
from recollect.store.disk.regular_files import read_regular
from recollect.store.exports import remove_exports
from recollect.store.files import vector_file
from recollect.store.files.build import drop_index
from recollect.store.files.copies import copies, holders, own_files
from recollect.store.files.copies.foreign import is_foreign, set_aside
from recollect.store.files.copies.projections import remove_projections
from recollect.store.files.ledger.segments import OpenedLedger
from recollect.store.files.tokens import FileTokens
from recollect.store.pages.pages import own_folders
from recollect.store.seam import Seam

_NOTES_MAX_BYTES: Final = 1 << 26
_TRIES: Final = 10  # how often a process that adds vectors may come in between


def order(seam: Seam, folder: Path, note: Dropped) -> None:
    """Decides that the space is dropped: this is the commit point."""
    workspace = workspace_of(folder, note.space)
    dropped(workspace)  # a list that cannot be read is found here
    with closing(_tokens(seam, workspace)) as tokens:
        tokens.read()
    # Before the order: a reader that finds its index checks nothing else. It can be built again.
    if is_foreign(folder / INDEX):
        set_aside(seam, folder / INDEX)
    drop_index(seam, folder / INDEX)
    replace_file(seam, folder / DROPPING, [msgspec.json.encode(note)])


def finish(seam: Seam, folder: Path, space: str) -> tuple[Dropped, tuple[str, ...]]:
    """Removes everything of a space that was ordered to go, under its lock; says what remains."""
    note, old = _ordered(folder), holders.files_of(folder)
    told = (*copies.remove_copies(seam, folder, space), *remove_projections(seam, folder))
    told = (*told, *remove_exports(seam, folder, space))
    _remove(seam, *filter(own_files.is_index, folder.glob(f"{INDEX}*")))
    # After the index: a process that adds vectors looks for it under the lock of their file.
    if not (folder / VECTORS).is_symlink():
        vector_file.clear_all(seam, folder)
    left = _empty(seam, folder / VECTORS, lambda path: path in vector_file.files(folder))
    left += _empty(seam, folder / CHECKPOINTS, own_files.is_checkpoint)
    for pages in own_folders(folder):
        _empty(seam, pages, own_files.page_in(pages))
        left += _empty(seam, pages, own_files.is_page_note)  # after the pages that they name
    _remove_snapshot(seam, folder)
    left += _empty(seam, folder / SEALED, own_files.is_segment)
    # The ledger last: with it, copies that are still there can be recognised.
    _remove(seam, *filter(own_files.is_torn, folder.glob(f"{LEDGER}.*")))
    _remove(seam, half_made(folder / LEDGER), folder / LEDGER)
    sync_folder(seam, folder)
    with closing(_tokens(seam, workspace_of(folder, space))) as tokens:
        tokens.revoke_space(space)
    _drop_jobs(seam, workspace_of(folder, space) / JOBS, space)
    _note(seam, workspace_of(folder, space), note)
    notes = (folder / BACKUPS, folder / EXPORTS, folder / WRITTEN)
    _remove(seam, *notes, *map(half_made, notes), half_made(folder / DROPPING))
    _end(seam, folder)
    return note, (*told, *_strays(seam, folder, space, left), *holders.told(old))


def _drop_jobs(seam: Seam, path: Path, space: str) -> None:
    if os.path.lexists(path):
        from recollect.store.jobs.job_file import JobFile

        with closing(JobFile(path, seam)) as jobs:
            jobs.drop_space(space)


def dropped(workspace: Path) -> list[Dropped]:
    """The notes about the spaces that were dropped, oldest first."""
    path = workspace / DROPPED
    try:
        return msgspec.json.decode(read_regular(path, _NOTES_MAX_BYTES), type=list[Dropped])
    except FileNotFoundError:
        return []
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"{path} cannot be read: {error}",
            hint="it lists the spaces that were dropped; correct it or move it away",
        ) from error


def _tokens(seam: Seam, workspace: Path) -> FileTokens:
    return FileTokens(workspace, seam, lambda: None)


def size_bytes(folder: Path) -> int:
    """How many bytes the files of a space take, without its copies."""
    own = (*folder.glob(f"{LEDGER}*"), *folder.glob(f"{INDEX}*"))
    count = 0
    inside = (path for name in (SEALED, VECTORS, CHECKPOINTS) for path in folder.glob(f"{name}/*"))
    for path in (*own, *inside):
        with suppress(OSError):
            count += os.lstat(path).st_size
    return count


def _ordered(folder: Path) -> Dropped:
    """What was ordered; it was complete before it got its name."""
    path = folder / DROPPING
    try:
        return msgspec.json.decode(read_regular(path, _NOTES_MAX_BYTES), type=Dropped)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"{path} cannot be read: {error}",
            hint="it was written by another program; delete it to keep the memory",
        ) from error


def _note(seam: Seam, workspace: Path, note: Dropped) -> None:
    """Adds a note to the workspace's list, once."""
    with alone(seam, workspace):
        notes = dropped(workspace)
        if note not in notes:
            data = msgspec.json.format(msgspec.json.encode([*notes, note]), indent=1)
            replace_file(seam, workspace / DROPPED, [data, b"\n"])


def _end(seam: Seam, folder: Path) -> None:
    """Removes the order and the lock in one step, under the locks of both.

    If the order went first, a crash would leave the lock that other processes have open, and they
    would go on. If the lock went first, another process could make a new one and finish too.
    """
    order_file = seam.open(folder / DROPPING, os.O_RDONLY)
    try:
        posix.lock(order_file)
        seam.replace(folder / DROPPING, folder / LOCK)
        seam.unlink(folder / LOCK)
        sync_folder(seam, folder)
    finally:
        seam.close(order_file)


def _empty(seam: Seam, folder: Path, is_own: Callable[[Path], bool]) -> list[Path]:
    """Removes the own files in a folder, and a folder without others; returns the others.

    Of a link to a folder the link is removed, not what is there.
    """
    _remove(seam, *([folder] if folder.is_symlink() else []))
    for _ in range(_TRIES):
        if not folder.is_dir():
            return []
        own = [path for path in folder.iterdir() if is_own(path)]
        _remove(seam, *own)
        sync_folder(seam, folder)
        with suppress(OSError):  # not empty: somebody added a file
            seam.rmdir(folder)
        if not own:
            break
    return _files_below(folder)


def _files_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())


def _remove_snapshot(seam: Seam, folder: Path) -> None:
    """Removes a snapshot of the ledger, which is still there."""
    for path in (folder / SNAPSHOT, half_made(folder / SNAPSHOT)):
        with suppress(FileNotFoundError), closing(OpenedLedger(folder / LEDGER)) as opened:
            if path.is_symlink() or own_files.is_snapshot(path, opened.pieces()):
                _remove(seam, path)


def _remove(seam: Seam, *paths: Path) -> None:
    for path in paths:
        if path.is_symlink() or path.is_file():
            seam.unlink(path)


def _strays(seam: Seam, folder: Path, space: str, left: Iterable[Path]) -> Iterable[str]:
    """Removes the folder; names what in it is not of Recollect. The root of a workspace stays."""
    for empty in (folder / BACKUP, *([folder] if space != "main" else [])):
        with suppress(OSError):  # not there, or not empty
            seam.rmdir(empty)
            sync_folder(seam, empty.parent)
    if not folder.is_dir():
        return []
    named = {*left, *(_files_below(folder / BACKUP) if space != "main" else [])}
    seen = {parent for path in named for parent in path.parents}
    for path in folder.iterdir():
        is_like_own = path.name.startswith((LEDGER, INDEX, SNAPSHOT))
        if (
            path not in seen
            and path.name not in (BACKUP, LOCK)
            and (space != "main" or is_like_own)
        ):
            named.add(path)
    return [f"NOT removed, not a file of Recollect: {path}" for path in sorted(named)]
