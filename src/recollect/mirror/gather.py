"""Which page shows what: records, grouped by entity and by day.

Responsible for the pages of a memory and what they say about themselves. Leaves their text to
``mirror.render``. Invariants: what holds and what was superseded is on exactly one page of an
entity; what is held, archived or forgotten is on none; no page depends on the clock.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from recollect.index.rows import VersionRow, is_held, unpack_names
from recollect.mirror import words
from recollect.mirror.frontmatter import other_lines
from recollect.mirror.names import (
    PREFERENCES,
    PROFILE,
    UNFILED,
    is_entity_page,
    page_of,
    title_of,
)
from recollect.mirror.page import STATUSES, Entry, Page, PageStatus
from recollect.mirror.sessions import SessionDay, day_page, group_sessions, session_entry
from recollect.model.validate import Json

_ALWAYS: Final = (PROFILE, PREFERENCES)
_TITLES: Final = {
    PROFILE: "User Profile",
    PREFERENCES: "User Preferences",
    UNFILED: "Everything else",
}
DESCRIPTIONS: Final = {
    PROFILE: "Identity and background of the user",
    PREFERENCES: "How the user wants things done",
    UNFILED: "What is about nothing in particular",
}


class About(NamedTuple):
    """What a document says about a page."""

    data: Mapping[str, Json]
    at: str
    seq: int


class Made(NamedTuple):
    """A page and every event whose words it shows."""

    page: Page
    events: tuple[int, ...]
    title: tuple[int, ...]  # those that its title and description come from
    readers: frozenset[str]  # the other pages that show its title
    flagged_for: str | None = None  # why it should be condensed, if that was said


class Material(NamedTuple):
    """What pages are made from."""

    rows: Sequence[VersionRow]  # every record, as it is now; see also ``gather``
    documents: Mapping[str, About]  # by the name of the page
    links: Iterable[tuple[str, str]]  # ids of two records
    began: tuple[str, int]  # the instant and the seq of the first event
    flags: Mapping[str, About] = {}  # by the name of the page


class _Everything:
    def __contains__(self, name: object) -> bool:
        return True


def gather(material: Material, only: Container[str] = _Everything()) -> list[Made]:
    """Every page but the index, by name, or only some of them.

    For these the material holds at least every record on them, those that are linked to one, have
    taken the place of one or gave it theirs, and the first record on each page where one of all
    these is.
    """
    rows = sorted(filter(is_shown, material.rows), key=lambda row: (row.created_at, row.id))
    names = {about: page_of(about) for about in {row.about for row in rows}}
    place = {row.id: names[row.about] for row in rows}
    described = filter(is_entity_page, material.documents)  # there before its first entry
    on: dict[str, list[VersionRow]] = {name: [] for name in (*_ALWAYS, *described)}
    for row in rows:
        on.setdefault(place[row.id], []).append(row)
    sessions = list(group_sessions(rows))
    titles = {
        name: _title(name, on.get(name, ()), material.documents.get(name))
        for name in {*on, *(session.page for session in sessions)}
    }
    drafts = {name: _Draft(name, material, titles) for name in sorted(titles)}
    for row in rows:
        drafts[place[row.id]].show(row)
    for session in sessions:
        drafts[session.page].tell(session, place)
    for first, second in (*material.links, *_successions(rows)):
        if first in place and second in place:
            drafts[place[first]].relate(place[second])
            drafts[place[second]].relate(place[first])
    return [draft.made() for name, draft in drafts.items() if name in only]


def is_shown(row: VersionRow) -> bool:
    """True if pages show a record: it holds, or it is struck through."""
    if is_held(row):  # nobody let it in, also if something superseded it
        return False
    is_struck = row.superseded_by is not None or row.reason == "refuted"
    return row.status == "active" or (row.status == "archived" and is_struck)


def created_of(about: About | None) -> str:
    """When a page was created, as its document says; empty if that says no date.

    It is kept there because nothing else of a page stays: its first entry can be moved away.
    """
    said = _text(about, "created")
    return said if words.date_of(said) is not None else ""


def is_flagged(about: About | None) -> bool:
    """True if a page's own document says that the page should be condensed."""
    return about is not None and about.data.get("needs_compact") is True


def _successions(rows: Iterable[VersionRow]) -> list[tuple[str, str]]:
    return [(row.id, row.superseded_by) for row in rows if row.superseded_by is not None]


def has_own_title(name: str) -> bool:
    """True if no record says what a page is called."""
    return name in _TITLES


class _Title(NamedTuple):
    text: str
    events: tuple[int, ...]  # that it comes from


def _title(name: str, rows: Sequence[VersionRow], about: About | None) -> _Title:
    """What a document calls the page, or what its first record is about."""
    events = () if about is None else (about.seq,)
    said = _text(about, "title") or _TITLES.get(name)
    if said is None and rows and rows[0].about is not None:
        return _Title(title_of(rows[0].about), (*events, rows[0].seq))
    return _Title(said or title_of(name), events)


class _Place(NamedTuple):
    """Where an entry stands on its page: what an import wrote at once stays in its order."""

    said_at: str
    created_at: str
    text_seq: int
    id: str


class _Draft:
    """A page while it is made."""

    def __init__(self, name: str, material: Material, titles: Mapping[str, _Title]) -> None:
        self._name = name
        self._about = material.documents.get(name)
        self._flag = material.flags.get(name)
        self._titles = titles
        self._began = material.began
        self._entries: list[tuple[_Place, Entry]] = []
        self._added: list[tuple[str, str, int]] = []  # instant, id and offset
        self._changed: list[tuple[str, int, int]] = []  # instant, seq and offset
        self._related: set[str] = set()
        self._days: set[str] = set()
        self._events = {*titles[name].events, *(() if self._flag is None else (self._flag.seq,))}

    def show(self, row: VersionRow) -> None:
        """Adds a record."""
        order = _Place(_said_at(row), row.created_at, row.text_seq, row.id)
        self._entries.append((order, _entry(row)))
        self._added.append((row.created_at, row.id, row.tz_minutes))
        self._days.update(() if row.session is None else (day_page(row),))
        self._follow(row)

    def tell(self, session: SessionDay, place: Mapping[str, str]) -> None:
        """Adds what was learned in a session."""
        first = session.rows[0]
        names = {row.id: place[row.id] for row in session.rows}
        links = {id: words.link(self._titles[name].text, name) for id, name in names.items()}
        entry = session_entry(session, links)
        order = _Place(first.created_at, first.created_at, first.text_seq, first.id)
        self._entries.append((order, entry))
        self._added.append((first.created_at, first.id, first.tz_minutes))
        for row in (*session.rows, *session.earlier.values()):
            self._follow(row)
        self._events.update(*(self._titles[name].events for name in names.values()))

    def relate(self, name: str) -> None:
        """Adds a link to another page."""
        if name != self._name:
            self._related.add(name)
            self._events.update(self._titles[name].events)

    def _follow(self, row: VersionRow) -> None:
        self._changed.append((row.at, row.seq, row.tz_minutes))
        self._events.add(row.seq)

    def _began_at(self, began: str) -> str:
        """When the first entry was added, or else the page began."""
        return _stamp(*(min(self._added)[::2] if self._added else (began, 0)))

    def made(self) -> Made:
        """The page."""
        about, entries = self._about, sorted(self._entries, key=lambda one: one[0])
        began, first = self._began
        if about is not None and self._name not in _ALWAYS:
            began, first = about.at, about.seq
        created = created_of(about) or self._began_at(began)
        zone = words.offset_of(created) or 0
        changed = max(self._changed, default=(began, first, zone))
        if about is not None and about.seq > changed[1]:
            changed = (about.at, about.seq, changed[2])
        title = self._titles[self._name].text
        page = Page(
            self._name,
            title=title,
            description=_text(about, "description") or _description(self._name, title),
            tags=_tags(about),
            status=_status(about),
            created=created,
            updated=_stamp(changed[0], changed[2]),
            needs_compact=self._flag is not None or is_flagged(about),
            position=max(self._events, default=first),
            links=tuple((name, self._titles[name].text) for name in sorted(self._related)),
            entries=tuple(entry for _, entry in entries),
            other=other_lines(_items(about, "other")),
            prose=_prose(about),
        )
        readers = frozenset((self._related | self._days) - {self._name})
        events, reason = tuple(sorted(self._events)), _text(self._flag, "reason")
        return Made(page, events, self._titles[self._name].events, readers, reason or None)


def _stamp(at: str, tz_minutes: int) -> str:
    return words.with_offset(words.local(at, tz_minutes))


def _said_at(row: VersionRow) -> str:
    """When something was said, which may be long before it was stored."""
    return row.said_at or row.created_at


def _entry(row: VersionRow) -> Entry:
    holds = row.status == "active"
    return Entry(
        id=row.id,
        at=words.clock_time(words.local(_said_at(row), row.tz_minutes)),
        text=row.text,
        tags=unpack_names(row.tags),
        struck=not holds,
        superseded_by=None if holds else row.superseded_by,
    )


def _description(name: str, title: str) -> str:
    if name.startswith("event-"):
        return f"What was learned in the sessions of {name.removeprefix('event-')}"
    return DESCRIPTIONS.get(name) or words.one_line(f"What is known about {title}")


def _text(about: About | None, field: str) -> str:
    """A field of a page's document; anything but a text counts as nothing."""
    value = None if about is None else about.data.get(field)
    return words.one_line(value) if isinstance(value, str) else ""


def _tags(about: About | None) -> tuple[str, ...]:
    tags = _items(about, "tags")
    return tuple(words.one_line(tag) for tag in tags if isinstance(tag, str) and tag.strip())


def _items(about: About | None, field: str) -> Sequence[Json]:
    """A field of a page's document that is a list."""
    value = None if about is None else about.data.get(field)
    return value if isinstance(value, list) else ()


def _prose(about: About | None) -> str:
    """What a person wrote on the page beside its entries."""
    value = None if about is None else about.data.get("prose")
    return words.normal(value) if isinstance(value, str) else ""


def _status(about: About | None) -> PageStatus:
    said = _text(about, "status")
    return next((status for status in STATUSES if status == said), "active")
