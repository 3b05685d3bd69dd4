"""Pages in a folder: written, compared and removed.

Responsible for the files, for what is remembered about them and for what a person changed in them.
Leaves the text of pages to ``mirror`` and when to write to ``memory.pages``. Invariants: a file
that a person changed is overwritten only if the caller says so; no link is followed; what a page
shows is noted before its first byte is written, so that an erasure finds it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

import msgspec

from recollect.errors import ConfigError, Unavailable
from recollect.mirror.naming import INDEX
from recollect.mirror.page import SUFFIX
from recollect.store import posix
from recollect.store.disk import alone, make_folder, replace_file, sync_folder
from recollect.store.layout import PAGES_STATE, half_made
from recollect.store.regular_files import read_regular
from recollect.store.seam import Seam

_INDEX: Final = f"{INDEX}{SUFFIX}"  # nothing can be said there by hand
_FILE_MAX_BYTES: Final = 1 << 30
_NAMED_MAX_COUNT: Final = 5  # in a report
_NAP_S: Final = 0.02
_NAPS: Final = 150  # how often an erasure looks whether a rendering has ended


class Noted(msgspec.Struct, frozen=True):
    """What is remembered of one file: digests of what was rendered, and the events it shows."""

    digests: tuple[str, ...]
    events: tuple[int, ...]


class Wanted(NamedTuple):
    """A file as it should be, and the events whose words it shows."""

    data: bytes
    events: tuple[int, ...]


class Compared(NamedTuple):
    """The names of files, by what a rendering would do with them."""

    same: list[str]
    new: list[str]  # not there
    old: list[str]  # as an earlier rendering left them
    edited: list[str]  # changed by a person, or not files
    extra: list[str]  # rendered before, and not wanted any more
    digests: dict[str, str]  # of the files that were read


class Desk:
    """A folder of pages that no other process is writing."""

    def __init__(self, seam: Seam, folder: Path) -> None:
        self._seam = seam
        self._folder = folder
        self._notes = read_notes(folder) or {}

    def note(self, wanted: Mapping[str, Wanted]) -> None:
        """Notes what is about to be written, beside what was written before."""
        both = dict(self._notes)
        for name, page in wanted.items():
            before, digest = both.get(name, Noted((), ())), digest_of(page.data)
            if digest not in before.digests:
                events = tuple(sorted({*before.events, *page.events}))
                both[name] = Noted((*before.digests, digest), events)
        if both != self._notes:
            self._keep(both)

    def write(
        self,
        wanted: Mapping[str, Wanted],
        *,
        overwrite: bool,
        settled: Mapping[str, str] | None = None,
    ) -> Compared:
        """Makes the folder show what is wanted; returns what was found before.

        ``settled`` names files by the digest of what was read from them: they are overwritten
        unless they have changed since.
        """
        found = compare(self._folder, self._notes, wanted, settled or {})
        over = [
            name
            for name in found.edited
            if (overwrite or name == _INDEX) and _is_file(self._folder / name)
        ]
        kept = [name for name in found.edited if name not in over]
        for name in (*found.new, *found.old, *found.extra, *over):
            if name not in over and not self._is_as_found(found, name):
                kept.append(name)  # saved by a person a moment ago
            elif name in wanted:
                replace_file(self._seam, self._folder / name, [wanted[name].data])
            else:
                self._seam.unlink(self._folder / name)
        notes = {
            name: Noted((digest_of(page.data),), page.events)
            for name, page in wanted.items()
            if name not in kept
        }
        notes |= {name: self._notes[name] for name in kept if name in self._notes}
        if notes != self._notes:
            self._keep(notes)
            sync_folder(self._seam, self._folder)
        left = set(kept)
        new, old, extra = (
            [name for name in names if name not in left]
            for names in (found.new, [*found.old, *over], found.extra)
        )
        return found._replace(new=new, old=old, extra=extra, edited=sorted(kept))

    def _is_as_found(self, found: Compared, name: str) -> bool:
        """True if a file is still what was compared: nothing was saved there meanwhile."""
        path = self._folder / name
        if not os.path.lexists(path):
            return True
        is_known = name in found.digests and _is_file(path)
        return is_known and _digest_in(path) == found.digests[name]

    def _keep(self, notes: Mapping[str, Noted]) -> None:
        keep_notes(self._seam, self._folder, notes)
        self._notes = dict(notes)


@contextmanager
def desk(seam: Seam, folder: Path) -> Iterator[Desk]:
    """Opens a folder for writing pages; other processes wait."""
    try:
        make_folder(seam, folder)
        with alone(seam, folder):
            yield Desk(seam, folder)
    except OSError as error:
        raise Unavailable(
            f"pages could not be written to {folder}: {error.strerror or error}",
            hint="name a folder that you may write",
        ) from error


def check_folder(folder: Path) -> None:
    """Refuses a link: its author would choose the files that are written."""
    if folder.is_symlink():
        raise ConfigError(
            f"{folder} is a link, which is not followed", hint="name the folder that you want"
        )


def compare(
    folder: Path,
    notes: Mapping[str, Noted],
    wanted: Mapping[str, Wanted],
    settled: Mapping[str, str] = MappingProxyType({}),
) -> Compared:
    """What rendering these would find in the folder; changes nothing."""
    found = Compared([], [], [], [], [], {})
    for name in sorted({*wanted, *notes, *settled}):
        path = folder / name
        if not os.path.lexists(path):
            if name in wanted:
                found.new.append(name)
        elif not _is_file(path):
            found.edited.append(name)
        else:
            digest = found.digests[name] = _digest_in(path)
            known = name in notes and digest in notes[name].digests
            known = known or digest == settled.get(name)
            if name in wanted and digest == digest_of(wanted[name].data):
                found.same.append(name)
            elif not known:
                found.edited.append(name)
            else:
                (found.old if name in wanted else found.extra).append(name)
    return found


def read_notes(folder: Path) -> dict[str, Noted] | None:
    """What is remembered about a folder; None if nothing can be read. It can be deleted."""
    path = folder / PAGES_STATE
    if not _is_file(path):
        return None
    try:
        notes = msgspec.json.decode(read_regular(path, _FILE_MAX_BYTES), type=dict[str, Noted])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return {name: note for name, note in notes.items() if _is_plain(name)}


def keep_notes(seam: Seam, folder: Path, notes: Mapping[str, Noted]) -> None:
    """Remembers; the file holds names of pages, digests and numbers of events."""
    data = msgspec.json.encode(dict(sorted(notes.items())))
    path = folder / PAGES_STATE
    if path.is_symlink():
        seam.unlink(path)
    replace_file(seam, path, [data, b"\n"])


def erase_pages(seam: Seam, folder: Path, erased: Mapping[int, int]) -> list[str]:
    """Removes the pages that show one of these events; reports what was done.

    They are rendered again when someone asks for it. Without notes every page is removed.
    """
    if folder.is_symlink() or not folder.is_dir():
        return []
    with _alone_if_possible(seam, folder):
        for path in folder.glob(f"*{half_made(Path(SUFFIX))}"):
            seam.unlink(path)
        notes, there = read_notes(folder), _pages_in(folder)
        if notes is None:
            gone, kept = there, dict[str, Noted]()
        else:
            gone = [
                name for name, note in notes.items() if not erased.keys().isdisjoint(note.events)
            ]
            kept = {name: note for name, note in notes.items() if name not in gone}
        for name in gone:
            seam.unlink(folder / name)
        sync_folder(seam, folder)
        if gone or notes is None:
            keep_notes(seam, folder, kept)
    removed = [name for name in gone if name in there]
    lines = [f"{folder.name}/: {len(removed)} removed; render them again"] if removed else []
    strange = [folder / name for name in there if name not in gone and name not in kept]
    named = strange[:_NAMED_MAX_COUNT]
    lines += [f"NOT checked, not a page that was rendered: {path}" for path in named]
    more = len(strange) - len(named)
    return [*lines, *([f"NOT checked: {more} more files in {folder}"] if more else [])]


@contextmanager
def _alone_if_possible(seam: Seam, folder: Path) -> Iterator[None]:
    """The folder's lock, or none after a while.

    A process that renders may itself wait for the ledger's lock, which the caller holds. It looks
    for erasures before it ends, so nothing stays if it is not waited for.
    """
    fd = seam.open(folder, posix.FOLDER)
    try:
        for _ in range(_NAPS):
            try:
                posix.lock(fd, wait=False)
                break
            except BlockingIOError:
                time.sleep(_NAP_S)
        yield
    finally:
        seam.close(fd)


def _pages_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob(f"*{SUFFIX}") if _is_file(path))


def _is_plain(name: str) -> bool:
    """True if a name leads nowhere but into its folder."""
    return name.endswith(SUFFIX) and name[0] != "." and not {"/", "\\", "\0"} & set(name)


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _digest_in(path: Path) -> str:
    return digest_of(read_regular(path, _FILE_MAX_BYTES))


def digest_of(data: bytes) -> str:
    """A digest of what is in a file."""
    return sha256(data).hexdigest()
