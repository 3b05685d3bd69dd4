"""The files of a folder of pages, read.

Responsible for finding files that may be pages and for reading them safely. Leaves what they say to
``mirror`` and writing to ``store.pages``. Invariants: no link is followed, nothing blocks, and no
more than a limit is read; hidden files and folders are not looked at.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from recollect.errors import ConfigError, Unavailable
from recollect.mirror.names import INDEX
from recollect.mirror.page import SUFFIX
from recollect.store.disk.layout import IGNORE, PAGES_STATE
from recollect.store.disk.regular_files import read_regular
from recollect.store.pages.page_notes import Notes, digest_of, file_digest, read_notes

FILE_MAX_BYTES: Final = 64 << 20
_NAMED_MAX_COUNT: Final = 5  # in a report


class PageFile(NamedTuple):
    """A file as it was found; without text there is a reason."""

    name: str
    digest: str
    text: str | None
    problem: str = ""


def check_pages_folder(folder: Path) -> None:
    """Refuses what cannot be a folder of pages."""
    if folder.is_symlink():
        raise ConfigError(
            f"{folder} is a link, which is not followed", hint="name the folder that you want"
        )
    if os.path.lexists(folder) and not folder.is_dir():
        raise ConfigError(f"{folder} is not a folder", hint="name the folder of the pages")


def changed_files(folder: Path, notes: Notes) -> Iterator[PageFile]:
    """The files that are not as a noted rendering left them, by name."""
    for found in page_names(folder):
        readable = os.fsencode(found).decode(errors="replace")
        if readable != found:
            yield PageFile(readable, "", None, "its name is not UTF-8: rename it")
            continue
        name = _whole(folder, found)
        noted = notes.pages.get(name)
        try:
            is_same = noted and file_digest(folder, name, notes)[0] in noted.digests
        except OSError:  # reading it says why
            is_same = False
        if not is_same:
            yield read_page(folder, name)


def _whole(folder: Path, name: str) -> str:
    """A name with whole letters, where the file system takes both forms for the same file."""
    whole = unicodedata.normalize("NFC", name)
    if whole == name:
        return name
    try:
        is_same = os.path.samestat(os.lstat(folder / name), os.lstat(folder / whole))
    except OSError:  # no such file, or it was removed a moment ago
        is_same = False
    return whole if is_same else name


def page_names(folder: Path) -> list[str]:
    """The names of what may be pages: Markdown that is not hidden, but the index."""
    if not folder.is_dir():
        return []
    try:
        with os.scandir(folder) as entries:
            found = [
                entry.name
                for entry in entries
                if entry.name.endswith(SUFFIX)
                and not entry.name.startswith(".")
                and entry.name != f"{INDEX}{SUFFIX}"
                and not entry.is_dir(follow_symlinks=False)
            ]
    except OSError as error:
        raise Unavailable(
            f"{folder} could not be read: {error.strerror}", hint="name a folder that you may read"
        ) from error
    return sorted(found)


def stamps(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """What tells whether a file may have changed: names, times and sizes."""
    found = list[tuple[str, int, int]]()
    for name in page_names(folder):
        try:
            seen = os.lstat(folder / name)
        except OSError:
            continue  # removed a moment ago
        found.append((name, seen.st_mtime_ns, seen.st_size))
    return tuple(found)


def read_page(folder: Path, name: str) -> PageFile:
    """One file."""
    path = folder / name
    if path.is_symlink():
        return PageFile(name, "", None, "a link, which is not followed")
    try:
        size = path.stat().st_size
        if size > FILE_MAX_BYTES:
            return PageFile(name, "", None, f"longer than {FILE_MAX_BYTES >> 20} MiB")
        data = read_regular(path, FILE_MAX_BYTES)
    except OSError as error:
        return PageFile(name, "", None, f"could not be read: {error.strerror or error}")
    try:
        return PageFile(name, digest_of(data), data.decode())
    except UnicodeDecodeError as error:
        return PageFile(name, digest_of(data), None, f"not UTF-8: byte {error.start + 1:,}")


def not_as_rendered(folder: Path, notes: Notes) -> list[str]:
    """The names of what else is in the folder: pages changed by hand, and files of others.

    An entry may have been moved there by hand, and then nothing but its words tells so.
    """
    found = list[str]()
    for path in folder.iterdir():
        noted = notes.pages.get(path.name)
        try:
            is_same = noted and file_digest(folder, path.name, notes)[0] in noted.digests
        except OSError:  # an erasure ends although a file cannot be read
            is_same = False
        if not is_same and path.name not in (PAGES_STATE, IGNORE):
            found.append(path.name)
    return sorted(os.fsencode(name).decode(errors="replace") for name in found)


def foreign_files(folder: Path) -> tuple[str, ...]:
    """The names of what is in the folder and was never rendered there."""
    if folder.is_symlink() or not folder.is_dir():
        return ()
    notes = read_notes(folder) or Notes()
    ours = {*notes.pages, f"{INDEX}{SUFFIX}"}
    return tuple(name for name in not_as_rendered(folder, notes) if name not in ours)


def unchecked(folder: Path, notes: Notes) -> list[str]:
    """The same as lines of an erasure's report."""
    names = not_as_rendered(folder, notes)
    named, more = names[:_NAMED_MAX_COUNT], len(names) - _NAMED_MAX_COUNT
    lines = [f"NOT checked, not a page as it was rendered: {folder}/{name}" for name in named]
    return [*lines, *([f"NOT checked: {more} more files in {folder}"] if more > 0 else [])]
