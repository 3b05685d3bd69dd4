"""Files of a folder that cleaning a memory leaves.

Responsible for naming them, before and after. Leaves removing files to the memory. Invariant: what
is named after it is what lies there then.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from recollect.store.pages.page_files import foreign_files, unchecked
from recollect.store.pages.page_notes import Notes, read_notes

_NAMED_MAX_COUNT: Final = 5


def in_question(folder: Path) -> str:
    """The sentence about them that is added to a question; empty if there are none."""
    found = [name if name.isprintable() else repr(name) for name in foreign_files(folder)]
    more = len(found) - _NAMED_MAX_COUNT
    named = ", ".join(found[:_NAMED_MAX_COUNT]) + (f" and {more} more" if more > 0 else "")
    return f" Not written by this memory, so not erased: {named}." if found else ""


def lines_of(folder: Path) -> list[str]:
    """What a report of an erasure says about them."""
    return unchecked(folder, read_notes(folder) or Notes()) if folder.is_dir() else []
