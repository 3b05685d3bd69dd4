"""Entries of erased records on pages that a person changed.

Responsible for taking them out of a folder's pages. Leaves pages that are as they were rendered to
``store.pages``. Invariants: an entry with the id of an erased record goes, up to the next one, and
what was only derived from it; a person's own words stay, and so does every file whose name is not
that of a page; no link is followed, and a file that was saved meanwhile is read again.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from recollect.mirror.names import is_page_name
from recollect.mirror.page import SUFFIX, Entry, Reading
from recollect.store.disk.disk import replace_file
from recollect.store.pages.page_files import page_names, read_page
from recollect.store.pages.page_notes import Notes, file_digest
from recollect.store.seam import Seam

_TRIES: Final = 3  # a person may save the file in between
_STARTS: Final = "## ["  # of a heading, also of one that cannot be read
_LINKS: Final = "[Index]("


class Gone(NamedTuple):
    """What was erased: the ids of records, and what they said, where that is known."""

    ids: Collection[str]
    texts: Collection[str] = ()


class Derived(NamedTuple):
    """What of a page was made from erased events, beside entries."""

    sessions: bool = False  # what was learned in sessions, and the titles of related pages
    title: bool = False  # also its own title and description


def take_out(
    seam: Seam, folder: Path, notes: Notes, gone: Gone, derived: Mapping[str, Derived]
) -> dict[str, int]:
    """Removes what was erased from changed pages; how many entries, by the name of the file."""
    found: dict[str, int] = {}
    for name in changed_names(folder, notes):
        if not is_page_name(unicodedata.normalize("NFC", name.removesuffix(SUFFIX))):
            continue  # a person's own file: what is below an entry there may be anything
        try:
            count = _from_file(seam, folder, name, gone, derived.get(name, Derived()))
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


def _from_file(seam: Seam, folder: Path, name: str, gone: Gone, derived: Derived) -> int:
    for _ in range(_TRIES):
        file = read_page(folder, name)
        before = file.text or ""
        count, text = _without(before, gone, derived)
        if text == before:
            return 0
        due = list[bool]()

        def is_due(was: str = file.digest, due: list[bool] = due) -> bool:
            due.append(read_page(folder, name).digest == was)
            return due[-1]

        if text:
            replace_file(seam, folder / name, [text.encode()], is_due, apart=True)
        elif is_due():
            seam.unlink(folder / name)
        if due[-1]:
            return count
    return 0


def _without(text: str, gone: Gone, derived: Derived) -> tuple[int, str]:
    """How many erased entries a page has, and its text without them; empty if nothing is left."""
    from recollect.mirror.parse import parse  # most erasures find no page that was changed

    reading = parse("", text)
    is_gone = [_is_gone(entry, gone, derived) for entry in reading.page.entries]
    parts = [
        _after(part) if drops else part for part, drops in zip(reading.parts, is_gone, strict=True)
    ]
    head = _head(reading, derived)
    if any(is_gone) and not any(parts) and not (reading.page.prose or reading.page.other):
        return sum(is_gone), ""  # only what tells of the erased entries is left
    return sum(is_gone), "".join((head, *parts))


def _is_gone(entry: Entry, gone: Gone, derived: Derived) -> bool:
    from recollect.mirror import words
    from recollect.mirror.sessions import LEARNED_MAX_CHARS

    if not entry.is_session:
        return entry.id in gone.ids
    said = (words.one_line(text, LEARNED_MAX_CHARS) for text in gone.texts)
    return derived.sessions or any(text in entry.text for text in said)


def _head(reading: Reading, derived: Derived) -> str:
    """What stands before the entries, without what was made from erased events."""
    from recollect.mirror import words

    if derived.title:
        page = reading.page
        fields = ["---", *page.other, "---", ""] if page.other else []
        lines = [*fields, *([words.body(page.prose), ""] if page.prose else [])]
        return "".join(f"{line}\n" for line in lines)
    if not derived.sessions:
        return reading.head
    lines = reading.head.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(_LINKS))


def _after(part: str) -> str:
    """What follows an entry under a heading that cannot be read: it is not the entry's."""
    lines = part.split("\n")
    starts = (at for at, line in enumerate(lines) if at and line.startswith(_STARTS))
    at = next(starts, None)
    return "" if at is None else "\n".join(lines[at:])
