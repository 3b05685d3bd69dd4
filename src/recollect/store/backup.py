"""Backups: a copy of a ledger in a folder, with a manifest that completes it.

Responsible for the folder and its manifest. Leaves restoring a backup to
``store.files.copies.restore``, erasing from copies to ``store.files.copies`` and which checkpoints
are copied to ``store.checkpoints``. Invariant: the manifest is written last, so a copy without one
is incomplete.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from recollect.errors import Conflict, InvalidInput, NotFound, Unavailable
from recollect.model.events import Head
from recollect.model.values import Backup
from recollect.store.disk.disk import make_folder, replace_file, sync_folder, write_file
from recollect.store.disk.layout import BACKUP, LEDGER, MANIFEST
from recollect.store.disk.regular_files import read_regular
from recollect.store.port import Checkpoints, Progress
from recollect.store.seam import Seam

_MANIFEST_MAX_BYTES: Final = 1 << 30
_SEQ_MAX_DIGITS: Final = 16


class Manifest(msgspec.Struct):
    """The manifest of a backup; written last, so a copy without it is incomplete."""

    space: str
    seq: int
    head: str
    at: str
    erased: dict[str, int] = {}  # event -> the event that erased it, perhaps after this copy

    def __post_init__(self) -> None:
        for seq in self.erased:
            if not (seq.isascii() and seq.isdigit() and len(seq) <= _SEQ_MAX_DIGITS):
                raise ValueError("a key of `erased` is not an event number")


def backup_folder(seam: Seam, folder: Path, target: str | None) -> Path:
    """A new folder for a backup."""
    if target is not None:
        path = Path(target).expanduser()
        if path.exists():
            raise Conflict(f"{path} already exists", hint="name a folder that does not exist yet")
        make_folder(seam, path)
        return path
    stamp = seam.now()[:19].replace("-", "").replace(":", "")
    for number in range(1, 10_000):
        path = folder / BACKUP / (stamp if number == 1 else f"{stamp}-{number}")
        if not path.exists():
            make_folder(seam, path)
            return path
    raise Conflict(f"too many backups in {folder}", hint="name a target folder")


def write_backup(
    seam: Seam,
    folder: Path,
    space: str,
    head: Head,
    pieces: Iterator[bytes],
    checkpoints: Checkpoints,
) -> Backup:
    """Writes the copy of the ledger and its checkpoints, then the manifest."""
    write_file(seam, folder / LEDGER, pieces)
    if checkpoints.sizes():
        from recollect.store.checkpoints.checkpoint_files import (
            FileCheckpoints,  # loaded only if there are any
        )

        copy_checkpoints(checkpoints, FileCheckpoints(folder, seam), head.seq)
    manifest = Manifest(space, head.seq, head.hash, head.at)
    replace_file(seam, folder / MANIFEST, [msgspec.json.encode(manifest)])  # complete or absent
    sync_folder(seam, folder.parent)
    return Backup(path=str(folder), space=space, seq=head.seq, head=head.hash)


def copy_checkpoints(
    source: Checkpoints, target: Checkpoints, through: int, first: str | None = None
) -> int:
    """Copies the checkpoints of a ledger up to an event that the other one lacks; says how many."""
    if not source.sizes() or not target.keeps:
        return 0
    from recollect.store.checkpoints.checkpoints import copied  # only if there are any

    return copied(source, target, through, first)


def counted(pieces: Iterator[bytes], total: int, progress: Progress | None) -> Iterator[bytes]:
    """The same pieces; reports progress."""
    done = 0
    for piece in pieces:
        yield piece
        done += len(piece)
        if progress is not None:
            progress(done, total)


def read_manifest(backup: Path) -> Manifest:
    """The manifest of a backup."""
    try:
        return msgspec.json.decode(
            read_regular(backup / MANIFEST, _MANIFEST_MAX_BYTES), type=Manifest
        )
    except FileNotFoundError as error:
        raise NotFound(f"{backup} does not contain a complete backup") from error
    except ValueError as error:  # also for bytes that are not UTF-8
        raise InvalidInput(f"{backup / MANIFEST} could not be parsed: {error}") from error
    except OSError as error:
        raise Unavailable(f"{backup / MANIFEST} could not be read: {error}") from error
