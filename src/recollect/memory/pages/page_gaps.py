"""What was on pages and is there no more: entries and files that a person deleted.

Responsible for telling what was deleted from what was never there. Leaves asking to interfaces.
Invariants: deleting forgets nothing, because a truncated file or a bad merge would forget what it
lost; an entry that is on another page was moved, and is not deleted.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

from recollect.index.reads import Reads
from recollect.index.rows import VersionRow
from recollect.memory.pages.page_sources import Sources
from recollect.mirror.gather import is_shown
from recollect.mirror.names import DOCUMENT, INDEX, document_name, page_of
from recollect.mirror.page import SUFFIX, Page
from recollect.model.counts import counted
from recollect.model.values import PageProblem
from recollect.store.pages.page_notes import Notes

_NAMED_MAX_COUNT: Final = 5  # in a message


def entries_on(pages: Iterable[Page]) -> set[str]:
    """The ids of the entries that pages have; one that was emptied is not there."""
    entries = (one for page in pages for one in page.entries if one.text and not one.is_session)
    return {one.id for one in entries if one.id is not None}


def deleted_entries(
    sources: Sources, then: Reads, page: str, there: Collection[str]
) -> PageProblem | None:
    """What a page showed at a position, still shows, and does not have in its file."""
    rows = [row for row in sources.shown_on(page) if row.id not in there]
    gone = [row.id for row in rows if _was_on(page, then.version(row.id))]
    if not gone:
        return None
    were = "entry was" if len(gone) == 1 else "entries were"
    return _problem(page, gone, f"{len(gone):,} {were} deleted here")


def _was_on(page: str, row: VersionRow | None) -> bool:
    return row is not None and is_shown(row) and page_of(row.about) == page


def deleted_files(
    sources: Sources, reads: Reads, folder: Path, notes: Notes, there: Collection[str]
) -> list[PageProblem]:
    """The files that this memory wrote and that are not in the folder."""
    found = list[PageProblem]()
    for name, noted in notes.pages.items():
        if noted.stamp is None or os.path.lexists(folder / name):
            continue  # it was never there, or still is
        page = name.removesuffix(SUFFIX)
        gone = [row.id for row in sources.shown_on(page) if row.id not in there]
        if gone:
            found.append(
                _problem(page, gone, f"the file was deleted, with {counted(len(gone), 'entry')}")
            )
        elif reads.document(DOCUMENT, document_name(page)) is not None:
            said = "the file was deleted; it is written again, because the page is described"
            found.append(PageProblem(file=name, line=0, message=said, keeps=False))
    return found


def restored(before: Notes, new: Iterable[str]) -> tuple[str, ...]:
    """Of the files that a rendering found missing, those that one had written before."""
    noted = ((name, before.pages.get(name)) for name in new if name != f"{INDEX}{SUFFIX}")
    return tuple(name for name, one in noted if one is not None and one.stamp is not None)


def _problem(page: str, gone: list[str], what: str) -> PageProblem:
    named = ", ".join(gone[:_NAMED_MAX_COUNT]) + (", …" if len(gone) > _NAMED_MAX_COUNT else "")
    said = f"{what}; it is written again unless you forget what it said ({named})"
    return PageProblem(
        file=f"{page}{SUFFIX}", line=0, message=said, keeps=False, deleted=tuple(gone)
    )
