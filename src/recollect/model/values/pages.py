"""Values of pages: what a page says about itself, and what rendering did.

Responsible for their shape. Leaves the text of pages to ``mirror``. Invariant: file names are
relative to ``folder``.
"""

from __future__ import annotations

from typing import Literal

from recollect.model.values.records import Value


class PageInfo(Value, frozen=True, kw_only=True):
    """One page, without its entries. Times are local to the writer, with their offset."""

    name: str
    title: str
    description: str
    tags: tuple[str, ...]
    status: Literal["active", "dormant", "archived"]
    created: str
    updated: str
    entry_count: int
    needs_compact: bool  # flagged, or longer than the hard limit
    position: int
    compact_reason: str | None = None  # why it is flagged, or why condensing it is suggested


class PageLimits(Value, frozen=True, kw_only=True):
    """When a page is dormant, and when it is too long. Tokens are estimated."""

    auto_dormant_days: int = 30
    soft_limit_tokens: int = 20_000  # above it condensing is suggested
    hard_limit_tokens: int = 50_000  # above it a page is always flagged


class Condensed(Value, frozen=True, kw_only=True):
    """What condensing a page did. Tokens are estimated."""

    page: str
    tokens_before: int
    tokens_after: int  # with proposals: if all of them were approved
    merged: tuple[str, ...] = ()  # records that another one stands for now
    proposals: tuple[str, ...] = ()  # that wait for a person
    facts: int = 0  # different ones that the page had
    dropped: tuple[str, ...] = ()  # facts that the shorter page does not say
    problem: str | None = None  # why a rewrite was rejected; the page is flagged then


class Cleaned(Value, frozen=True, kw_only=True):
    """What emptying a memory erased, or would erase."""

    what: Literal["memory", "all"]
    records: int
    episodes: int
    proposals: int
    receipts: int
    sessions: int
    documents: tuple[str, ...]  # that described pages
    places: tuple[str, ...]  # that were cleaned
    files_kept: tuple[str, ...] = ()  # in the folder of pages: this memory did not write them


class Rendered(Value, frozen=True, kw_only=True):
    """What a rendering did with each file."""

    folder: str
    written: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: int
    edited: tuple[str, ...]  # left as they are: the memory does not say all that they say
    aside: tuple[str, ...] = ()  # where files are now that made room for pages
    restored: tuple[str, ...] = ()  # files that were deleted, and are written again


class PagesStatus(Value, frozen=True, kw_only=True):
    """What a rendering would find: files that are current, and those that are not."""

    folder: str
    current: int
    missing: tuple[str, ...]
    outdated: tuple[str, ...]  # as an earlier rendering left them
    edited: tuple[str, ...]


ChangeKind = Literal[
    "text", "tags", "dated", "struck", "unstruck", "added", "replaced", "moved", "field"
]
ChangeState = Literal["ready", "conflict", "waits"]


class PageChange(Value, frozen=True, kw_only=True):
    """One hand edit: what the page said, what it says now, and what the memory says.

    ``ready`` can be applied. ``conflict``: the memory has changed too, so a person chooses.
    ``waits``: it was proposed, and a person has not decided yet.
    """

    file: str
    ref: str  # names this change when a side is taken
    what: ChangeKind
    state: ChangeState = "ready"
    id: str | None = None  # of the record
    field: str | None = None  # of the page, if the page itself was changed
    before: str = ""  # when the page was rendered
    after: str = ""  # on the page
    now: str = ""  # in the memory
    add: tuple[str, ...] = ()  # tags
    remove: tuple[str, ...] = ()
    said_at: str | None = None  # the moment that the heading gives, if it was given by hand
    seq: int = 0  # the event that last changed the record or the document; 0 for none


class PageProblem(Value, frozen=True, kw_only=True):
    """Something on a page that is not taken over. With ``keeps`` the file is left as it is."""

    file: str
    line: int  # from 1; 0 for the whole file
    message: str
    keeps: bool = True
    deleted: tuple[str, ...] = ()  # ids of entries that are not on the page any more


class PageChanges(Value, frozen=True, kw_only=True):
    """The hand edits in a folder of pages. ``digest`` stands for exactly these."""

    folder: str
    changes: tuple[PageChange, ...]
    problems: tuple[PageProblem, ...]
    digest: str
    unknown: int = 0  # how many entries are not in this memory: they can be adopted


class Refusal(Value, frozen=True, kw_only=True):
    """A hand edit that the memory refused, and why."""

    change: PageChange
    reason: str


class Synced(Value, frozen=True, kw_only=True):
    """What became of the hand edits in a folder of pages."""

    folder: str
    applied: tuple[PageChange, ...]
    waiting: tuple[PageChange, ...]  # for a person's review
    conflicts: tuple[PageChange, ...]
    refused: tuple[Refusal, ...]
    problems: tuple[PageProblem, ...]
    rendered: Rendered
    adopted: tuple[str, ...] = ()  # the ids of entries that this memory did not have
    unknown: int = 0  # how many entries it still does not have: a person can adopt them
