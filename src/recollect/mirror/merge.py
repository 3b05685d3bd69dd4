"""Hand edits against the memory: what a page was, what it says, and what the memory says.

Responsible for the three-way comparison of one entry and of a page's own fields. Leaves reading
files and the memory to ``memory.pages.sync``. Invariants: text that was only rendered, or that
the memory already has, does not count as a change; if the memory has changed too, the result is a
conflict and neither side is chosen; tags are merged, because additions and removals can coexist.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Final, Literal, NamedTuple

from msgspec import structs

from recollect.index.rows import VersionRow, unpack_names
from recollect.mirror import words
from recollect.mirror.gather import is_shown
from recollect.mirror.names import page_of
from recollect.mirror.page import SUFFIX, Entry, Page
from recollect.model.values import PageChange
from recollect.model.values.pages import ChangeKind, ChangeState
from recollect.model.words import reason_of

FIELDS: Final = (
    "title", "description", "tags", "status", "created", "needs_compact", "other", "prose",
)  # fmt: skip
_DAY_CHARS: Final = len("2026-04-20")
SUPERSEDES: Final = "supersedes:"  # a tag of a new entry: which one it replaces
_GONE: Final = {"held": "waiting for review", "inbox": "waiting in the inbox"}


class Known(NamedTuple):
    """A record as a page shows it, at one position."""

    id: str
    page: str
    text: str
    tags: frozenset[str]
    state: Literal["shown", "struck", "gone"]
    why: str  # it is gone, or struck
    seq: int
    dates: tuple[str, ...]  # as its heading may show: when it was said, and when it was stored
    tz_minutes: int


class Unclear(NamedTuple):
    """Why an entry is not taken over."""

    message: str


def _why(row: VersionRow) -> str:
    """Why a record is gone or struck, in a word or two."""
    why = reason_of(row.reason) if row.status == "archived" else _GONE.get(row.status)
    return why or row.status


def known(row: VersionRow) -> Known:
    """A record as pages show it."""
    state: Literal["shown", "struck", "gone"] = "shown" if row.status == "active" else "struck"
    return Known(
        id=row.id,
        page=page_of(row.about),
        text=words.normal(row.text),
        tags=frozenset(unpack_names(row.tags)),
        state=state if is_shown(row) else "gone",
        why=_why(row),
        seq=row.seq,
        dates=tuple(
            words.clock_time(words.local(at, row.tz_minutes))
            for at in (row.said_at or row.created_at, row.created_at)
        ),
        tz_minutes=row.tz_minutes,
    )


class Merge(NamedTuple):
    """One entry that was read, with what is known of its record."""

    page: str
    read: Entry
    base: Known | None  # at the position that the page shows
    now: Known
    said: Collection[str]  # every text that the record has had

    def changes(self) -> Iterator[PageChange]:
        """What a person changed in it."""
        if self.is_moved:
            yield self._change("moved", "ready", before=self.now.page, after=self.page)
        if self.base is None or self.base.state == "gone":
            yield from self._unexpected()
            return
        if self.base.state == "struck" and not self.read.struck:
            yield from self._unstruck(self.base)
        yield from self._text(self.base)
        yield from self._tags(self.base)
        yield from self._date(self.base)
        if self.base.state == "shown" and self.read.struck:
            yield from self._struck(self.base)

    def _unexpected(self) -> Iterator[PageChange]:
        """What an entry says that this page did not show: two pages were put together."""
        if self.read.text not in self.said:
            yield self._change("text", "conflict", after=self.read.text, now=self._now)
        if self.now.state == "shown":
            add = frozenset(self.read.tags) - self.now.tags
            if add:
                tags = _line(self.now.tags)
                yield _with_tags(self._change("tags", "conflict", tags, now=tags), add, ())
            if self.read.struck and self.read.superseded_by is None:  # by hand
                yield self._change("struck", "conflict", self.now.text, now=self.now.text)

    def unclear(self) -> Unclear | None:
        """Why nothing of it can be taken over."""
        was_struck = self.base is not None and self.base.state == "struck"
        if was_struck and self.read.struck and self.base and self.read.text != self.base.text:
            return Unclear(f"{self.now.id} is struck through: remove its ~~ to change it")
        return None

    @property
    def is_moved(self) -> bool:
        """True if it belongs to another page, and was not on this one when that was rendered."""
        was_here = self.base is not None and self.base.page == self.page
        return self.now.page != self.page and not was_here and self.now.state != "gone"

    def _text(self, base: Known) -> Iterator[PageChange]:
        if self.read.text not in (base.text, self.now.text):
            is_ready = (self.now.state, self.now.text) == (base.state, base.text)
            yield self._told("text", is_ready, base.text, self.read.text)

    def _tags(self, base: Known) -> Iterator[PageChange]:
        after = frozenset(self.read.tags)
        add = (after - base.tags) - self.now.tags
        remove = (base.tags - after) & self.now.tags
        if add or remove:
            change = self._told(
                "tags",
                self.now.state != "gone",
                _line(base.tags),
                _line(after),
                _line(self.now.tags),
            )
            yield _with_tags(change, add, remove)

    def _date(self, base: Known) -> Iterator[PageChange]:
        """Another date in the heading; one that only leaves out the time is the same."""
        after = words.clock_of(self.read.at, base.tz_minutes)
        said = words.instant_of(self.read.at, base.tz_minutes)
        if after is None or said is None or after in (*base.dates, self.now.dates[0]):
            return
        if len(self.read.at) <= _DAY_CHARS and after[:_DAY_CHARS] == base.dates[0][:_DAY_CHARS]:
            return
        is_ready = (self.now.state, self.now.dates) == (base.state, base.dates)
        shown = self.now.dates[0]
        change = self._told("dated", is_ready, base.dates[0], after, shown)
        yield structs.replace(change, said_at=said.isoformat())

    def _struck(self, base: Known) -> Iterator[PageChange]:
        if self.now.state == "shown":
            is_ready = self.now.text in (base.text, self.read.text)
            yield self._told("struck", is_ready, base.text, "")

    def _unstruck(self, base: Known) -> Iterator[PageChange]:
        if self.now.state != "shown":
            yield self._told("unstruck", self.now.state == "struck", "", self.read.text)

    @property
    def _now(self) -> str:
        return self.now.text if self.now.state == "shown" else f"({self._state})"

    @property
    def _state(self) -> str:
        return self.now.why

    def _told(
        self, what: ChangeKind, is_ready: bool, before: str, after: str, now: str | None = None
    ) -> PageChange:
        shown = self._now if now is None or self.now.state != "shown" else now
        return self._change(what, "ready" if is_ready else "conflict", before, after, shown)

    def _change(
        self, what: ChangeKind, state: ChangeState, before: str = "", after: str = "", now: str = ""
    ) -> PageChange:
        file = f"{self.page}{SUFFIX}"
        return PageChange(
            file=file,
            ref=f"{file}#{self.now.id}:{what}",
            what=what,
            state=state,
            id=self.now.id,
            before=before,
            after=after,
            now=now,
            seq=self.now.seq,
        )


def _with_tags(change: PageChange, add: Collection[str], remove: Collection[str]) -> PageChange:
    return structs.replace(change, add=tuple(sorted(add)), remove=tuple(sorted(remove)))


def _line(tags: Collection[str]) -> str:
    return " ".join(f"#{words.hashtag(tag)}" for tag in sorted(tags))


def fields_changed(
    read: Page, said: Collection[str], base: Page, now: Callable[[], Page], seq: int
) -> Iterator[PageChange]:
    """What a person changed about the page itself."""
    for name in FIELDS:
        after, before = shown(read, name), shown(base, name)
        if not says(read, said, name) or after == before:
            continue
        current = shown(now(), name)
        if after != current:
            file = f"{read.name}{SUFFIX}"
            yield PageChange(
                file=file,
                ref=f"{file}#{name}",
                what="field",
                state="ready" if current == before else "conflict",
                field=name,
                before=before,
                after=after,
                now=current,
                seq=seq,
            )


def says(read: Page, said: Collection[str], field: str) -> bool:
    """True if a page says something about a field; what is missing is not an edit."""
    if field == "created":
        return words.date_of(read.created) is not None
    if field in ("title", "description"):
        return bool(shown(read, field))
    if field in ("other", "prose"):  # without frontmatter, the page may have lost its head
        return bool(said) or bool(shown(read, field))
    return field in said


def shown(page: Page, field: str) -> str:
    """A field of a page as text."""
    if field == "tags":
        return ", ".join(sorted(set(page.tags)))
    if field == "other":
        return "\n".join(page.other)
    value = getattr(page, field)
    if isinstance(value, bool):
        return str(value).lower()
    return words.one_line(value) if field == "title" else str(value)
