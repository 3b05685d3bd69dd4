"""What a page consists of, whether it was made from records or read from a file.

Responsible for the shape of pages and entries. Leaves their text to ``mirror.render`` and
``mirror.parse``. Invariant: an entry without an id was added by hand.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

PageStatus = Literal["active", "dormant", "archived"]
STATUSES: Final[tuple[PageStatus, ...]] = ("active", "dormant", "archived")
SUFFIX: Final = ".md"


class Entry(NamedTuple):
    """One record on a page, or what was learned in one session."""

    id: str | None
    at: str  # local time with seconds; what a person wrote, in an entry added by hand
    text: str
    tags: tuple[str, ...] = ()
    struck: bool = False
    superseded_by: str | None = None
    is_session: bool = False  # then the id is the name of the session
    supersedes: str | None = None  # as OpenChronicle writes it, in a comment below the text
    why: str | None = None  # it supersedes that


class Page(NamedTuple):
    """One page."""

    name: str  # of the file, without its suffix
    title: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    status: PageStatus = "active"
    created: str = ""  # local time with its offset
    updated: str = ""
    needs_compact: bool = False
    position: int = 0  # the last event that the page shows
    links: tuple[tuple[str, str], ...] = ()  # names and titles of related pages
    entries: tuple[Entry, ...] = ()
    other: tuple[str, ...] = ()  # lines of the frontmatter that are not read
    prose: str = ""  # between the links and the first entry


class Problem(NamedTuple):
    """Something on a page that could not be read. It is kept as it stands."""

    line: int  # from 1
    message: str


class Reading(NamedTuple):
    """What a text says. ``head`` and the parts together are the text, unchanged."""

    page: Page
    problems: tuple[Problem, ...]
    head: str  # everything before the first entry
    parts: tuple[str, ...]  # the text of each entry
    said: frozenset[str] = frozenset()  # the fields of the frontmatter that were read
