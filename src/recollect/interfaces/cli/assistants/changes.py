"""A change to another program's file: shown as a diff, written atomically, undone exactly.

Responsible for keeping a file's content from before it was changed. Leaves the content of the
change to its callers, and asking to the verbs. Invariants: a file is replaced whole or not at all;
a file that was not changed since is restored to its exact bytes; a link in a project never leads a
change out of that project.
"""

from __future__ import annotations

import difflib
from base64 import b64decode, b64encode
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from recollect.config import config_home
from recollect.errors import ConfigError, Conflict
from recollect.store.disk.disk import make_folder, write_file
from recollect.store.disk.regular_files import read_regular
from recollect.store.disk.repository import repository_of
from recollect.store.seam import REAL, Seam

_OWNERS_ALONE: Final = 0o600  # such files hold other programs' tokens
_FILE_MAX_BYTES: Final = 4_000_000


class Change(msgspec.Struct, frozen=True):
    """A file's content before and after; None means that there is no file."""

    file: Path
    before: bytes | None
    after: bytes | None

    @property
    def is_nothing(self) -> bool:
        """True if the file already has this content."""
        return self.before == self.after

    def diff(self) -> str:
        """The change, for a person."""
        lines = difflib.unified_diff(
            _lines(self.before),
            _lines(self.after),
            str(self.file) if self.before is not None else "nothing",
            str(self.file) if self.after is not None else "nothing",
            n=2,
        )
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


class _Before(msgspec.Struct, frozen=True):
    """What is stored about a changed file."""

    file: str
    before: str | None  # in base64
    after: str  # the digest of what was written


class Kept:
    """The earlier content of changed files, in a folder of this person."""

    def __init__(self, folder: Path, seam: Seam = REAL, *, home: Path | None = None) -> None:
        self._folder = folder
        self._seam = seam
        self._home = home or Path.home()

    def apply(self, change: Change) -> None:
        """Writes the file, after storing its content from before our first change."""
        real_file(change.file, self._home)
        known = self._read(change.file)
        first = known if known and known.after == _digest(change.before) else None
        before = first.before if first else _text(change.before)
        kept = _Before(str(change.file), before, _digest(change.after))
        make_folder(self._seam, self._folder)
        write_file(self._seam, self._place(change.file), [msgspec.json.encode(kept)])
        self._put(change)

    def undoing(self, file: Path) -> Change | None:
        """The change back to the original bytes, if the file was not changed since."""
        known = self._read(file)
        now = content(file)
        if known is None or known.after != _digest(now):
            return None
        return Change(file, now, None if known.before is None else b64decode(known.before))

    def undo(self, change: Change) -> None:
        """Undoes a change, and deletes what was stored for that."""
        self._put(change)
        self._seam.unlink(self._place(change.file))

    def _put(self, change: Change) -> None:
        """Replaces the file atomically, with the permissions it had."""
        if content(change.file) != change.before:
            raise Conflict(
                f"{change.file} was changed in the meantime", hint="check the file and try again"
            )
        file = real_file(change.file, self._home)
        try:
            if change.after is None:
                self._seam.unlink(file)
                return
            make_folder(self._seam, file.parent)
            mode = file.stat().st_mode & 0o777 if file.exists() else _OWNERS_ALONE
            # An unpredictable name, so that no link can be placed there to overwrite another file.
            fresh = file.with_name(f".{file.name}.{self._seam.random(8).hex()}")
            write_file(self._seam, fresh, [change.after])
            self._seam.chmod(fresh, mode)
            self._seam.replace(fresh, file)
        except OSError as error:
            raise ConfigError(f"{file} could not be written: {error.strerror}") from error

    def _place(self, file: Path) -> Path:
        return self._folder / f"{sha256(str(file).encode()).hexdigest()[:32]}.json"

    def _read(self, file: Path) -> _Before | None:
        try:
            return msgspec.json.decode(self._place(file).read_bytes(), type=_Before)
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return None


def real_file(file: Path, home: Path) -> Path:
    """Where a file is that may be a link, or be in a folder that is one.

    People keep their settings in a repository and link to them, so a link among their own settings
    may lead to any file of theirs in the home folder. A project comes from other people: a link in
    it must stay in it.
    """
    within = _bounds(file, home)
    real, root = file.resolve(), within.resolve()
    if real == root / file.relative_to(within):
        return real  # without a link
    if not real.is_relative_to(root):
        raise _refused(file, f"which leads to {real}, outside {within}")
    place = real if real.exists() else real.parent
    if file.is_symlink() and not real.exists():
        raise _refused(file, f"and {real} does not exist")
    if not place.exists() or place.stat().st_uid != home.stat().st_uid:
        raise _refused(file, f"and {place} is not yours")
    return real


def _bounds(file: Path, home: Path) -> Path:
    """The folder that a link may not lead out of."""
    folder = file.parent
    while folder.is_symlink():
        folder = folder.parent
    found = repository_of(folder)
    if found is not None and found.tree != home:
        return found.tree
    is_in_home = file.is_relative_to(home)
    is_hidden = is_in_home and file.relative_to(home).parts[0].startswith(".")
    is_own = is_hidden or (is_in_home and file.is_relative_to(config_home(home=home)))
    return home if is_own else folder


def _refused(file: Path, why: str) -> ConfigError:
    return ConfigError(
        f"{file} is a link or in a linked folder, {why}; nothing was written",
        hint="replace the link by a file, or make the change yourself: --dry-run shows it",
    )


def content(file: Path) -> bytes | None:
    """A file's bytes, or None if the file does not exist.

    A cloned folder can contain a link to a device, which would be read without end.
    """
    try:
        found = read_regular(file, _FILE_MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{file} could not be read: {error.strerror}") from error
    if len(found) > _FILE_MAX_BYTES:
        raise ConfigError(
            f"{file} is longer than {_FILE_MAX_BYTES:,} bytes", hint="check what wrote it"
        )
    return found


def _digest(data: bytes | None) -> str:
    return sha256(data).hexdigest() if data is not None else ""


def _text(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode()


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "replace").splitlines(keepends=True)
