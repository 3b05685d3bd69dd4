"""Entries of erased records on pages that a person changed.

Responsible for taking them out of a folder's pages. Leaves pages that are as they were rendered to
``store.pages``. Invariants: only an entry with the id of an erased record goes, up to the next one;
every other byte stays, and so does every file whose name is not that of a page; no link is
followed, and a file that was saved meanwhile is read again.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from recollect.mirror.naming import is_page_name
from recollect.mirror.page import SUFFIX
from recollect.store.disk import replace_file
from recollect.store.page_files import page_names, read_page
from recollect.store.page_notes import Notes, file_digest
from recollect.store.seam import Seam

_TRIES: Final = 3  # a person may save the file in between
_STARTS: Final = "## ["  # of a heading, also of one that cannot be read


def take_out(seam: Seam, folder: Path, notes: Notes, ids: Collection[str]) -> dict[str, int]:
    """Removes the entries of these records; how many, by the name of the file."""
    found: dict[str, int] = {}
    for name in changed_names(folder, notes):
        if not is_page_name(unicodedata.normalize("NFC", name.removesuffix(SUFFIX))):
            continue  # a person's own file: what is below an entry there may be anything
        try:
            count = _from_file(seam, folder, name, ids)
        except OSError:  # an erasure ends although a file cannot be written; it is named
            continue
        found |= {name: count} if count else {}
    return found


def changed_names(folder: Path, notes: Notes) -> Iterator[str]:
    """The names of pages that are not as a rendering left them."""
    for name in page_names(folder):
        noted = notes.pages.get(name)
        try:
            is_same = noted and file_digest(folder, name, notes)[0] in noted.digests
        except OSError:
            is_same = False
        if not is_same:
            yield name


def _from_file(seam: Seam, folder: Path, name: str, ids: Collection[str]) -> int:
    for _ in range(_TRIES):
        file = read_page(folder, name)
        count, text = _without(file.text or "", ids)
        if not count:
            return 0
        due = list[bool]()

        def is_due(was: str = file.digest, due: list[bool] = due) -> bool:
            due.append(read_page(folder, name).digest == was)
            return due[-1]

        replace_file(seam, folder / name, [text.encode()], is_due)
        if due[-1]:
            return count
    return 0


def _without(text: str, ids: Collection[str]) -> tuple[int, str]:
    """How many entries of these a page has, and its text without them."""
    from recollect.mirror.parse import parse  # most erasures find no page that was changed

    reading = parse("", text)
    parts = zip(reading.page.entries, reading.parts, strict=True)
    gone = [entry.id in ids and not entry.is_session for entry, _ in parts]
    kept = (
        _after(part) if is_gone else part for part, is_gone in zip(reading.parts, gone, strict=True)
    )
    return sum(gone), "".join((reading.head, *kept))


def _after(part: str) -> str:
    """What follows an entry under a heading that cannot be read: it is not the entry's."""
    lines = part.split("\n")
    starts = (at for at, line in enumerate(lines) if at and line.startswith(_STARTS))
    at = next(starts, None)
    return "" if at is None else "\n".join(lines[at:])
