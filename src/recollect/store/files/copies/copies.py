"""Copies of a ledger beside it: backups and what was copied by hand.

Responsible for finding them, for removing erased bodies from them, or all of them with their
ledger, and for reporting copies that still contain such data. Leaves the ledger itself to
``store.files.ledger.segments`` and writing backups to ``store.backup``. Invariants: a copy is
recognised by its first line, whose salt makes it unique to a ledger; links are not followed;
everything skipped is listed in the report.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from recollect.errors import InvalidInput, NotFound, RecollectError
from recollect.ledger.erasure import without_bodies
from recollect.model.events import Head
from recollect.store.backup import read_manifest
from recollect.store.disk.disk import file_pieces, replace_file, sync_folder
from recollect.store.disk.layout import (
    BACKUPS,
    CHECKPOINTS,
    INDEX,
    LEDGER,
    LOCK,
    MANIFEST,
    SEALED,
    half_made,
    workspace_of,
)
from recollect.store.disk.regular_files import read_regular
from recollect.store.files.copies.own_files import is_checkpoint, is_torn
from recollect.store.files.ledger import segments
from recollect.store.seam import Seam

_FILES_MAX_COUNT: Final = 100_000  # files that one erasure checks
_NOTES_MAX_BYTES: Final = 1 << 26
_NAMED_MAX_COUNT: Final = 5  # of each kind, in a report
_START_BYTES: Final = 64  # a line begins with the event's number and id
_MANIFEST_START: Final = b'{"space":'


class Noted(msgspec.Struct, frozen=True):
    """Where a backup was written; relative to the workspace if it is inside it."""

    path: str
    seq: int
    at: str


class Place(NamedTuple):
    """The folder of a space and the workspace around it."""

    folder: Path
    workspace: Path


def place_of(folder: Path, space: str) -> Place:
    """The folders of a space, with every link resolved, so that paths can be compared."""
    return Place(folder.resolve(), workspace_of(folder, space).resolve())


# Notes of backups.


def note_backup(seam: Seam, folder: Path, space: str, backup: Path, head: Head) -> None:
    """Records where a backup goes before its first byte is written, so that none is missed."""
    place, path = place_of(folder, space), backup.resolve()
    if path.is_relative_to(place.workspace):
        path = path.relative_to(place.workspace)
    kept = [one for one in noted(place) if _is_out(one) or _is_there(place, one)]
    notes = [*kept, Noted(str(path), head.seq, head.at)]
    replace_file(seam, place.folder / BACKUPS, [msgspec.json.encode(notes)])


def noted(place: Place) -> list[Noted]:
    """Every recorded backup."""
    try:
        found = read_regular(place.folder / BACKUPS, _NOTES_MAX_BYTES)
        return msgspec.json.decode(found, type=list[Noted])
    except FileNotFoundError:
        return []
    except ValueError as error:  # also for bytes that are not UTF-8
        raise InvalidInput(
            f"{place.folder / BACKUPS} cannot be read: {error}",
            hint="it lists where backups were written; correct or delete it",
        ) from error


def _is_out(note: Noted) -> bool:
    return Path(note.path).is_absolute()


def _is_there(place: Place, note: Noted) -> bool:
    return (place.workspace / note.path).exists()


# Erasing.


def erase_copies(
    seam: Seam,
    folder: Path,
    space: str,
    erased: Mapping[int, int],
    locked: Collection[int] = (),
) -> list[str]:
    """Removes the same bodies from every copy in the workspace; reports what was done.

    Torn copies of this ledger are deleted. A copy that cannot be cleaned is reported, not an error.
    ``locked`` are those that are encrypted with keys which this erasure destroys: a backup outside
    that has no others cannot be read any more.
    """
    place = place_of(folder, space)
    plain = min((seq for seq in erased if seq not in locked), default=None)
    work = _Work(
        place, min(erased), lambda copy: _erase_in_copy(seam, copy, erased), _CLEANED, plain
    )
    work.remove_torn(seam)
    return work.report()


def remove_copies(seam: Seam, folder: Path, space: str) -> list[str]:
    """Removes every copy of the ledger in the workspace; reports what was done."""
    return _Work(
        place_of(folder, space), 0, lambda copy: _remove_copy(seam, copy), _REMOVED
    ).report()


def find_copies(folder: Path, space: str) -> list[str]:
    """Reports what removing the copies would do."""
    return _Work(place_of(folder, space), 0, lambda copy: (), _FOUND).report()


class _Words(NamedTuple):
    """How a report says what is done to copies, and what to do about one outside."""

    done: str
    outside: str


_CLEANED: Final = _Words("cleaned", "Delete it, or restore it, erase there and make a new one")
_REMOVED: Final = _Words("removed", "Delete it")
_FOUND: Final = _Words("removed with it", "Delete it")


class _Work:
    """One change to the copies of a ledger."""

    def __init__(
        self,
        place: Place,
        first: int,
        change: Callable[[Path], Collection[Path]],
        words: _Words,
        plain: int | None = 0,
    ) -> None:
        self._place = place
        self._plain = plain  # the first event that a copy outside still shows, if there is one
        self._first = first  # copies that end before this event are left alone
        self._change = change
        self._words = words
        self._ours = segments.first_lines(place.folder)
        own = (place.folder / LEDGER, *(s.path for s in segments.all_segments(place.folder)))
        self._own = {os.path.realpath(path) for path in own}
        self._walk = _Walk(place.workspace, _FILES_MAX_COUNT)
        self._torn = 0
        self._done: set[Path] = set()
        self._missed: list[Path] = []
        self._unread: list[Path] = []
        self._alive: list[Path] = []
        self._others: list[Path] = []
        self._outside: list[str] = []
        self._locked: list[Noted] = []

    def remove_torn(self, seam: Seam) -> None:
        """Removes what was cut off the ledger; notes what only has such a name."""
        for path in sorted(self._place.folder.glob(f"{LEDGER}.*")):
            if not is_torn(path):
                self._note_other(path)
            elif self._tried(path, seam.unlink):
                self._torn += 1

    def _note_other(self, path: Path) -> None:
        """Notes a file that is not of a memory; a copy of the ledger is found with the others."""
        with suppress(OSError):  # what cannot be read is named as such
            if not path.is_symlink() and path.is_file() and not _begins_with(path, self._ours):
                self._others.append(path)

    def _change_noted(self) -> None:
        """Changes recorded backups: those in the workspace even if the walk did not reach them."""
        try:
            notes = noted(self._place)
        except (RecollectError, OSError):
            self._unread.append(self._place.folder / BACKUPS)
            return
        for note in notes:
            if note.seq < self._first:
                continue  # it was made before the first of these events
            if _is_out(note) and (self._plain is None or note.seq < self._plain):
                self._locked.append(note)
            elif _is_out(note):
                self._outside.append(_left_outside(note, self._words))
            elif (copy := self._place.workspace / note.path / LEDGER).is_file():
                self._look_at(copy)

    def _change_found(self) -> None:
        for path in self._walk.files():
            self._look_at(path)

    def _look_at(self, path: Path) -> None:
        if path in self._done or os.path.realpath(path) in self._own:
            return
        try:
            is_ours = _begins_with(path, self._ours)
        except FileNotFoundError:
            return  # a temporary file beside a copy, removed with it
        except OSError:
            self._unread.append(path)
            return
        if not is_ours:
            return
        if _is_alive(path):
            self._alive.append(path)
        elif self._tried(path, self._changed):
            self._done.add(path)

    def _changed(self, path: Path) -> None:
        self._others += self._change(path)

    def _tried(self, path: Path, act: Callable[[Path], None]) -> bool:
        try:
            act(path)
        except (OSError, RecollectError):
            self._missed.append(path)
            return False
        return True

    def report(self) -> list[str]:
        """Changes every copy that is found, and says what was done."""
        self._change_noted()
        self._change_found()
        walk, done = self._walk, self._words.done
        count = f"{len(self._done)} {done}" if self._done else "none was found"
        lines = [f"backups and other copies in this workspace: {count}"]
        lines += [f"torn copies: {self._torn} removed"] if self._torn else []
        lines += _named(f"NOT {done}, could not be written", self._missed)
        lines += _named("NOT checked, could not be read", [*self._unread, *walk.unread])
        lines += _named(
            f"NOT {done}, an independent memory that began as a copy of this one; erase there, too",
            self._alive,
        )
        lines += _named("NOT checked, not a copy of this ledger", self._others)
        lines += _named("NOT checked, links are not followed", walk.links)
        if walk.was_cut:
            lines.append(
                f"NOT checked: everything after the first {_FILES_MAX_COUNT:,} files of "
                f"{self._place.workspace}"
            )
        if self._locked:
            many = len(self._locked)
            which = self._locked[0].path if many == 1 else f"{many} of them"
            lines.append(f"backups outside: {which}, encrypted with the destroyed key")
        lines += self._outside[:_NAMED_MAX_COUNT]
        if len(self._outside) > _NAMED_MAX_COUNT:
            more = len(self._outside) - _NAMED_MAX_COUNT
            lines.append(f"NOT {done}: {more} more backups that {BACKUPS} lists")
        return lines


class _Walk:
    """Every file of a workspace up to a limit, and what was skipped."""

    def __init__(self, top: Path, at_most: int) -> None:
        self._top = top
        self._at_most = at_most
        self.links: list[Path] = []
        self.unread: list[Path] = []
        self.was_cut = False

    def files(self) -> Iterator[Path]:
        folders, count = [self._top], 0
        while folders:
            for entry in self._entries(folders.pop()):
                if entry.is_symlink():
                    self.links.append(Path(entry.path))
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry.path))
                elif entry.is_file(follow_symlinks=False):
                    count += 1
                    if count > self._at_most:
                        self.was_cut = True
                        return
                    yield Path(entry.path)

    def _entries(self, folder: Path) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError:
            self.unread.append(folder)
            return []


def _begins_with(path: Path, lines: Collection[bytes]) -> bool:
    """True for a file whose first line is one of these (genesis or a seal of the ledger)."""
    longest = max(map(len, lines), default=0) + 1
    return read_regular(path, longest).partition(b"\n")[0] in lines


def _is_alive(ledger: Path) -> bool:
    """True for the ledger of another space in use, which may change only under its own lock."""
    folder = ledger.parent.parent if ledger.parent.name == SEALED else ledger.parent
    is_ledger = ledger.name == LEDGER or ledger.parent.name == SEALED
    return is_ledger and any((folder / name).exists() for name in (LOCK, INDEX))


def _erase_in_copy(seam: Seam, copy: Path, erased: Mapping[int, int]) -> list[Path]:
    """Erases bodies in a copy of the ledger, and in the manifest if it is a backup."""
    is_backup = copy.name == LEDGER
    if not _remove_half_made(seam, copy) or (
        is_backup and not _remove_half_manifest(seam, copy.parent)
    ):
        raise FileExistsError(f"a file of another program is beside {copy}")
    if is_backup:
        with suppress(NotFound, InvalidInput):  # no valid manifest: nothing to record
            _note_in_manifest(seam, copy.parent, erased)
    replace_file(seam, copy, without_bodies(file_pieces(copy), erased))
    return []


def _note_in_manifest(seam: Seam, backup: Path, erased: Mapping[int, int]) -> None:
    """Records the erasure before bodies are removed: an unrecorded one would be damage."""
    manifest = read_manifest(backup)
    manifest.erased.update({str(seq): by for seq, by in erased.items() if seq <= manifest.seq})
    replace_file(seam, backup / MANIFEST, [msgspec.json.encode(manifest)])


def _remove_copy(seam: Seam, copy: Path) -> list[Path]:
    """Removes a copy of the ledger; if it is a backup, with its manifest and its folder.

    Returns what is beside it and was made by another program: it stays.
    """
    left = [] if _remove_half_made(seam, copy) else [half_made(copy)]
    seam.unlink(copy)
    left += _remove_manifest(seam, copy.parent) if copy.name == LEDGER else []
    sync_folder(seam, copy.parent)
    if copy.name == LEDGER:
        notes = copy.parent / CHECKPOINTS
        with suppress(OSError):  # something else is in it
            for path in () if notes.is_symlink() else filter(is_checkpoint, notes.glob("*")):
                seam.unlink(path)
            if notes.is_dir() and not notes.is_symlink():
                seam.rmdir(notes)
            seam.rmdir(copy.parent)
            sync_folder(seam, copy.parent.parent)
    return left


def _remove_half_made(seam: Seam, copy: Path) -> bool:
    """Removes what was written of a new copy before a stop; False if it is something else."""
    path = half_made(copy)
    with suppress(FileNotFoundError):
        start = read_regular(path, _START_BYTES)
        if start != read_regular(copy, _START_BYTES)[: len(start)]:
            return False
        seam.unlink(path)
    return True


def _remove_manifest(seam: Seam, backup: Path) -> list[Path]:
    """Removes the manifest of a backup; returns one that another program made."""
    path = backup / MANIFEST
    left = [] if _remove_half_manifest(seam, backup) else [half_made(path)]
    try:
        read_manifest(backup)
    except NotFound:
        return left
    except RecollectError:
        return [path, *left]
    seam.unlink(path)
    return left


def _remove_half_manifest(seam: Seam, backup: Path) -> bool:
    """Removes what was written of a manifest before a stop; False if it is something else."""
    path = half_made(backup / MANIFEST)
    with suppress(FileNotFoundError):
        start = read_regular(path, len(_MANIFEST_START))
        if start != _MANIFEST_START[: len(start)]:
            return False
        seam.unlink(path)
    return True


def _left_outside(note: Noted, words: _Words) -> str:
    """A sentence about a backup outside the workspace, with the next step."""
    which = f"the backup up to {note.at[:10]} in {note.path}"
    if os.path.exists(os.path.join(note.path, LEDGER)):
        return f"NOT {words.done}: {which}, outside this workspace. {words.outside}"
    return (
        f"NOT reached: {which}, which is not there now. If it was moved, or its disk is not "
        f"mounted, it still holds what was erased; once it is gone, take it out of {BACKUPS}"
    )


def _named(what: str, paths: Collection[Path]) -> list[str]:
    """A line for each of the first paths, and one for the rest."""
    lines = [f"{what}: {path}" for path in list(paths)[:_NAMED_MAX_COUNT]]
    more = len(paths) - len(lines)
    return [*lines, f"{what}: {more} more"] if more else lines
