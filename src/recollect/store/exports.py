"""Exports that were written inside a workspace, which an erasure removes.

    exports.json    in a space's folder: where each one is, and what it shows at most

Responsible for this list, and for removing what it names. Leaves writing an export to
``memory.exporting``. Invariants: an export is listed before its first byte is written; nothing
outside of the workspace, no file of a memory and nothing behind a link is removed.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from recollect.errors import InvalidInput
from recollect.store.disk import alone, replace_file, sync_folder
from recollect.store.layout import EXPORTS, LEDGER, half_made, is_own, workspace_of
from recollect.store.regular_files import read_regular
from recollect.store.seam import Seam

_NOTES_MAX_BYTES: Final = 1 << 24


class Noted(msgspec.Struct, frozen=True):
    """An export: where it is in the workspace, and the last event that it may show."""

    path: str
    seq: int


def note_export(seam: Seam, folder: Path, space: str, target: Path, seq: int) -> None:
    """Lists an export that is about to be written, if that is inside the workspace.

    A store that is not in files has no folder, and so no workspace.
    """
    if not (folder / LEDGER).exists():
        return
    top = workspace_of(folder, space).resolve()
    path = target.parent.resolve() / target.name
    if not path.is_relative_to(top):
        return
    with alone(seam, folder):
        known = _listed(folder)
        if known is None:
            raise InvalidInput(
                f"{folder / EXPORTS} cannot be read",
                hint="it lists the exports in this folder, which an erasure removes; correct or "
                "delete it, or export to another folder",
            )
        listed = [one for one in known if _is_there(top / one.path)]
        listed.append(Noted(str(path.relative_to(top)), seq))
        replace_file(seam, folder / EXPORTS, [msgspec.json.encode(listed)])


def remove_exports(seam: Seam, folder: Path, space: str, first: int = 0) -> list[str]:
    """Removes the exports that may show this event or a later one; reports what was done."""
    if not os.path.lexists(folder / EXPORTS):
        return []
    top, told = workspace_of(folder, space).resolve(), list[str]()
    with alone(seam, folder):
        listed = _listed(folder)
        if listed is None:
            return [f"NOT removed, the list of exports cannot be read: {folder / EXPORTS}"]
        left = [one for one in listed if one.seq < first]
        for one in listed:
            if one not in left and not _removed(seam, top, one.path, told):
                left.append(one)
        if left:
            replace_file(seam, folder / EXPORTS, [msgspec.json.encode(left)])
        else:
            seam.unlink(folder / EXPORTS)
            sync_folder(seam, folder)
    return told


def _removed(seam: Seam, top: Path, name: str, told: list[str]) -> bool:
    path = top / name
    if not _may_go(top, path):
        told.append(f"NOT removed, not an export: {path}")
        return True  # it is not looked at again
    was_there = os.path.lexists(path)
    try:
        for each in (half_made(path), path):
            _remove(seam, each)
        if path.parent.is_dir():
            sync_folder(seam, path.parent)
    except OSError:
        told.append(f"NOT removed, could not be written: {path}")
        return False
    told += [f"{name}: removed; export it again"] if was_there else []
    return True


def _may_go(top: Path, path: Path) -> bool:
    """True for a place that an export can have: the list may come from elsewhere."""
    inside = path.parent.resolve() / path.name
    return path.name != ".." and top in inside.parents and not is_own(top, inside)


def _remove(seam: Seam, path: Path) -> None:
    """Removes a file, a link, or a folder with all that is in it."""
    if path.is_symlink() or not path.is_dir():
        seam.unlink(path)
        return
    for below, folders, names in os.walk(path, topdown=False):
        for name in (*names, *(one for one in folders if (Path(below) / one).is_symlink())):
            seam.unlink(Path(below) / name)
        seam.rmdir(Path(below))


def _listed(folder: Path) -> list[Noted] | None:
    """What is listed; None if it cannot be read."""
    try:
        found = read_regular(folder / EXPORTS, _NOTES_MAX_BYTES)
        return msgspec.json.decode(found, type=list[Noted])
    except FileNotFoundError:
        return []
    except (OSError, ValueError):
        return None


def _is_there(path: Path) -> bool:
    with suppress(OSError):
        return os.path.lexists(path) or os.path.lexists(half_made(path))
    return True
