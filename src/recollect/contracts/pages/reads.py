"""Pages and hits of a memory as values of this API.

Responsible for the translation. Leaves reading to ``store``. Invariant: what was superseded is
shown only on request; a hit is an entry of a file, as the file shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from recollect.contracts.pages.values import Contents, Entry, IndexRebuilt, MemoryFile, SearchHit
from recollect.memory import Memory
from recollect.mirror import page as mirror
from recollect.mirror import words
from recollect.mirror.names import page_of
from recollect.mirror.page import SUFFIX, Page
from recollect.mirror.parse import parse
from recollect.model.counts import counted
from recollect.model.values import Hit, PageInfo, PageProblem, Synced

_TO_ADOPT: Final = (
    "not in this memory: {}. What you did not erase can be taken in as it stands, by a person: "
    '`recollect admin rebuild-index --unknown adopt`, or rebuild_index(unknown="adopt") of '
    'MemoryFiles(…, trust="person")'
)


def file_of(page: PageInfo) -> MemoryFile:
    """A page without its entries."""
    return MemoryFile(
        path=f"{page.name}{SUFFIX}",
        description=page.description,
        tags=page.tags,
        status=page.status,
        created=page.created,
        updated=page.updated,
        entry_count=page.entry_count,
        needs_compact=page.needs_compact,
    )


def contents_of(page: Page, tags: Sequence[str], *, include_superseded: bool) -> Contents:
    """A page with those of its entries that are wanted."""
    entries = [
        _entry(entry)
        for entry in page.entries
        if (include_superseded or not entry.struck) and set(tags) <= set(entry.tags)
    ]
    return Contents(
        path=f"{page.name}{SUFFIX}",
        description=page.description,
        tags=page.tags,
        status=page.status,
        created=page.created,
        updated=page.updated,
        entry_count=len(page.entries),
        needs_compact=page.needs_compact,
        entries=tuple(entries),
    )


def read_page(memory: Memory, name: str) -> Page:
    """A page as its file shows it."""
    return parse(name, memory.pages.read(name)).page


def hits_of(memory: Memory, hits: Iterable[Hit]) -> list[SearchHit]:
    """The hits that are entries of files; an earlier text of a revised entry is not."""
    pages: dict[str, dict[str | None, mirror.Entry]] = {}
    found: list[SearchHit] = []
    for hit in hits:
        name = page_of(None if hit.record is None else hit.record.about)
        if name not in pages:
            pages[name] = {entry.id: entry for entry in read_page(memory, name).entries}
        entry = pages[name].get(hit.id)
        if entry is not None and entry.text == words.normal(hit.text):
            fields = vars(_entry(entry))
            found.append(SearchHit(path=f"{name}{SUFFIX}", relevance=hit.relevance, **fields))
    return found


def rebuilt_of(done: Synced, pages: Sequence[PageInfo]) -> IndexRebuilt:
    """What became of the hand edits in the files, in words."""
    problems = [
        *(f"{_place(one)}: {one.message}" for one in done.problems),
        *(f"{one.file}: {one.what} conflicts with the memory" for one in done.conflicts),
        *(f"{one.change.file}: {one.reason}" for one in done.refused),
        *(f"{one.file}: {one.what} waits for a review" for one in done.waiting),
        *([_TO_ADOPT.format(counted(done.unknown, "entry"))] if done.unknown else []),
    ]
    return IndexRebuilt(
        files=len(pages),
        entries=sum(page.entry_count for page in pages),
        applied=len(done.applied),
        problems=tuple(problems),
    )


def _place(problem: PageProblem) -> str:
    return f"{problem.file}:{problem.line}" if problem.line else problem.file


def _entry(entry: mirror.Entry) -> Entry:
    return Entry(
        id=entry.id or "",
        timestamp=entry.at,
        tags=entry.tags,
        body=entry.text,
        superseded_by=entry.superseded_by,
    )
