"""Exports that were written inside a workspace, which an erasure removes.

    exports.json    in a space's folder: where each one is, what it shows at most, and its digests

Responsible for this list, and for removing what it names. Leaves writing an export to
``memory.exchange.exports``. Invariants: an export is listed before its first byte is written, and
with its digests before it has its name; only a file that still has its digest is removed; nothing
outside of the workspace, no file of a memory and nothing behind a link is removed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from recollect.errors import InvalidInput
from recollect.store.disk.disk import alone, file_pieces, replace_file, sync_folder
from recollect.store.disk.layout import EXPORTS, LEDGER, half_made_apart, is_own, workspace_of
from recollect.store.disk.regular_files import read_regular
from recollect.store.seam import Seam

_NOTES_MAX_BYTES: Final = 1 << 30
_TOKEN: Final = re.compile(r"[0-9a-f]{16}")
_ITSELF: Final = ""  # the name of an export that is one file


class Noted(msgspec.Struct, frozen=True, omit_defaults=True):
    """An export: where it is in the workspace, and the last event that it may show.

    While it is written it has another name, with this token. The digests are those of its files,
    by their names in it; without them it has not got its name yet.
    """

    path: str
    seq: int
    token: str = ""
    files: dict[str, str] = {}


class Digests:
    """The digests of an export's files, while they are written."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}

    def over(self, pieces: Iterable[bytes], name: str = _ITSELF) -> Iterator[bytes]:
        """The same pieces of a file; its digest is there after the last."""
        digest = sha256()
        for piece in pieces:
            digest.update(piece)
            yield piece
        self.files[name] = digest.hexdigest()


def note_export(
    seam: Seam,
    folder: Path,
    space: str,
    target: Path,
    seq: int,
    token: str,
    files: dict[str, str] | None = None,
) -> None:
    """Lists an export that is about to be written, if that is inside the workspace.

    Once it is written, and before it has its name, it is listed again with its digests. A store
    that is not in files has no folder, and so no workspace.
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
        made = Noted(str(path.relative_to(top)), seq, token, files or {})
        listed = [one for one in known if one.token != token and _is_there(top / one.path, one)]
        listed.append(made)
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
            if one not in left and not _removed(seam, top, one, told):
                left.append(one)
        if left:
            replace_file(seam, folder / EXPORTS, [msgspec.json.encode(left)])
        else:
            seam.unlink(folder / EXPORTS)
            sync_folder(seam, folder)
    return told


def _removed(seam: Seam, top: Path, one: Noted, told: list[str]) -> bool:
    """Removes an export; False if something is left that may show what it showed."""
    path = top / one.path
    if not _may_go(top, path):
        told.append(f"NOT removed, not an export: {path}")
        return True  # it is not looked at again
    try:
        if _TOKEN.fullmatch(one.token):
            _remove(seam, half_made_apart(path, one.token))
        was_there = os.path.lexists(path)
        left = _remove_known(seam, path, one.files) if was_there else []
        if path.parent.is_dir():
            sync_folder(seam, path.parent)
    except OSError:
        told.append(f"NOT removed, could not be written: {path}")
        return False
    why = "changed since it was exported" if one.files else "listed without its digests"
    told += [f"NOT removed, {why}: {each}" for each in left]
    told += [f"{one.path}: removed; export it again"] if was_there and not left else []
    return not left


def _remove_known(seam: Seam, path: Path, files: dict[str, str]) -> list[Path]:
    """Removes the files of an export that are as they were written; returns what is left."""
    for name, digest in files.items():
        file = path / name if name else path
        if _is_inside(path, file) and _digest(file) == digest:
            seam.unlink(file)
    if path.is_symlink() or not path.is_dir():
        return [path] if os.path.lexists(path) else []
    left = list[Path]()
    for below, folders, names in os.walk(path, topdown=False):
        here = Path(below)
        left += [here / name for name in (*names, *(n for n in folders if (here / n).is_symlink()))]
        if not any(here.iterdir()):
            seam.rmdir(here)
    return sorted(left)


def _is_inside(path: Path, file: Path) -> bool:
    """True for a file of an export, and not for one behind a link: the list may be another's."""
    real = file.parent.resolve() / file.name
    return file.name != ".." and (file == path or path.parent.resolve() / path.name in real.parents)


def _digest(file: Path) -> str | None:
    """The digest of a regular file; None if it is none, or not there."""
    if file.is_symlink() or not file.is_file():
        return None
    digest = sha256()
    for piece in file_pieces(file):
        digest.update(piece)
    return digest.hexdigest()


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


def _is_there(path: Path, one: Noted) -> bool:
    with suppress(OSError):
        return os.path.lexists(path) or os.path.lexists(half_made_apart(path, one.token))
    return True
