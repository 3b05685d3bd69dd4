"""A change to another program's JSON file: shown first, written whole, taken back.

Responsible for reading such a file, the change as a person reads it, and the bytes before it, which
are kept beside the file so that undoing gives them back. Leaves what is changed to its callers.
Invariants: nothing is written that was not planned on the bytes that are there; what a caller does
not touch keeps its value and its place; a file that is no plain JSON object is never written.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any, Final, NamedTuple

from recollect.errors import ConfigError, Conflict, Unavailable
from recollect.store import disk
from recollect.store.seam import REAL, Seam

Settings = dict[str, Any]
Edit = Callable[[Settings], None]  # changes what it is given; the second time it changes nothing

_KEPT: Final = ".before-recollect"  # after a file's name: its bytes before the first change
_INDENT: Final = re.compile(rb'^([ \t]+)"', re.MULTILINE)


class Change(NamedTuple):
    """What would become of one file. None is a file that is not there."""

    path: Path
    before: bytes | None
    after: bytes | None

    @property
    def is_nothing(self) -> bool:
        """True if the file is as it should be."""
        return self.before == self.after


def plan(path: Path, edit: Edit) -> Change:
    """The change that an edit makes."""
    before = _read(path)
    return Change(path, before, _edited(path, before, edit))


def plan_undo(path: Path, edit: Edit, take_out: Edit) -> Change:
    """The change that takes an edit back.

    If nobody changed the file since, the very bytes from before the edit come back; else
    ``take_out`` removes what the edit put in and the rest stays as it is.
    """
    now, kept = _read(path), _kept_beside(path)
    first = _read(kept)
    if now is not None and first is not None:
        before = first or None  # there was no file
        if _edited(path, before, edit) == now:
            return Change(path, now, before)
    return Change(path, now, None if now is None else _edited(path, now, take_out))


def diff(change: Change) -> str:
    """The change as people read it."""
    before, after = (
        [] if side is None else side.decode().splitlines(keepends=True)
        for side in (change.before, change.after)
    )
    lines = difflib.unified_diff(before, after, _name(change, 0), _name(change, 1))
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def write(change: Change, seam: Seam = REAL) -> None:
    """Makes the change, and keeps the bytes before it if none are kept yet."""
    if change.is_nothing:
        return
    kept = _kept_beside(change.path)
    try:
        _check_unchanged(change)
        disk.make_folder(seam, change.path.parent)
        if not kept.exists():
            disk.replace_file(seam, kept, [change.before or b""])
        _put(change, seam)
    except OSError as error:
        raise _unwritable(change, error) from error


def undo(change: Change, seam: Seam = REAL) -> None:
    """Makes a change that takes an edit back; nothing is kept beside the file any more."""
    try:
        _check_unchanged(change)
        if not change.is_nothing:
            _put(change, seam)
        seam.unlink(_kept_beside(change.path))
    except OSError as error:
        raise _unwritable(change, error) from error


def _put(change: Change, seam: Seam) -> None:
    if change.after is None:
        seam.unlink(change.path)
        return
    mode = change.path.stat().st_mode & 0o777 if change.path.exists() else None
    disk.replace_file(seam, change.path, [change.after])
    if mode is not None:
        seam.chmod(change.path, mode)


def _check_unchanged(change: Change) -> None:
    if _read(change.path) != change.before:
        raise Conflict(f"{change.path} was changed meanwhile", hint="look at the change again")


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{path} does not read: {error.strerror}") from error


def _edited(path: Path, before: bytes | None, edit: Edit) -> bytes:
    """The same file after an edit, with its own indentation; if nothing changes, the very bytes."""
    settings = {} if before is None else _parsed(path, before)
    wanted = deepcopy(settings)
    edit(wanted)
    if before is not None and wanted == settings:
        return before
    indent = _INDENT.search(before or b"")
    text = json.dumps(wanted, indent=indent[1].decode() if indent else 2, ensure_ascii=False)
    return text.encode() + (b"\n" if before is None or before.endswith(b"\n") else b"")


def _parsed(path: Path, data: bytes) -> Settings:
    try:
        found = json.loads(data.decode(), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"{path} is no plain JSON: {error}",
            hint="mend it, take out its comments, or make the change by hand",
        ) from error
    if not isinstance(found, dict):
        raise ConfigError(f"{path} holds no JSON object", hint="mend it first")
    return found


def _unique(pairs: list[tuple[str, Any]]) -> Settings:
    """An object; one that names a key twice would lose a value."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _kept_beside(path: Path) -> Path:
    return path.with_name(path.name + _KEPT)


def _name(change: Change, side: int) -> str:
    return str(change.path) if (change.before, change.after)[side] is not None else "/dev/null"


def _unwritable(change: Change, error: OSError) -> Unavailable:
    return Unavailable(f"{change.path} could not be written: {error.strerror or error}")
