"""The values of this API: files, their entries and hits.

Responsible for their fields. Leaves where they come from to ``store``. Invariants: they are frozen;
a time is local to the writer, as in the file.
"""

from __future__ import annotations

from dataclasses import dataclass

from recollect.mirror.page import PageStatus


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One entry of a file. ``body`` is without the marks of a superseded one."""

    id: str
    timestamp: str
    tags: tuple[str, ...]
    body: str
    superseded_by: str | None = None


@dataclass(frozen=True, kw_only=True)
class MemoryFile:
    """What the frontmatter of a file says. ``path`` is its name in the folder."""

    path: str
    description: str
    tags: tuple[str, ...]
    status: PageStatus
    created: str
    updated: str
    entry_count: int
    needs_compact: bool


@dataclass(frozen=True, kw_only=True)
class Contents(MemoryFile):
    """A file with the entries that were asked for; ``entry_count`` counts all of them."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, kw_only=True)
class SearchHit(Entry):
    """An entry that matches a query, in its file. ``relevance`` is from 0 to 1."""

    path: str
    relevance: float


@dataclass(frozen=True, kw_only=True)
class IndexRebuilt:
    """What a rebuild of the index found and did."""

    files: int
    entries: int
    applied: int  # hand edits that were taken over
    problems: tuple[str, ...] = ()  # what was not, each with its file
