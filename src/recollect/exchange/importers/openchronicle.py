"""Pages: the Markdown files of OpenChronicle, which Recollect writes too.

Responsible for the entries of a folder of pages and for what each page says about itself. Leaves
reading a page to ``mirror.parse`` and storing to ``memory.exchange.imports``. Invariants: an
entry has the id, the tags and the date that it has there, as if its page were adopted; what is on a
page without an entry of its own is about the page, not about its entries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from recollect.exchange.injected import storable
from recollect.exchange.items import (
    Altered,
    Found,
    RecordItem,
    SettingItem,
    Source,
    State,
    Trouble,
    name_of,
    named,
    names_of,
    usable,
    whole,
)
from recollect.mirror import words
from recollect.mirror.foreign import Arrival, arrivals
from recollect.mirror.names import (
    DOCUMENT,
    INDEX,
    about_of,
    document_name,
    is_page_name,
    page_of,
    title_of,
)
from recollect.mirror.page import SUFFIX, Entry, Page
from recollect.mirror.parse import parse
from recollect.model.validate import Json

FORMAT: Final = "openchronicle"
_SESSIONS: Final = "what was learned in sessions is taken from the pages of its records alone"
_HEADING: Final = re.compile(r"## \[[^\]\n]{1,40}\] \{id: [\w.:-]{1,80}\}")
_COUNT: Final = re.compile(r"---\r?\n(?:[^\n]{0,2000}\n){0,20}?entry_count: \d")
_SIGN: Final = "\ufffd".encode()
_MARK: Final = re.compile(r"\s*#superseded-by:([\w.:-]{1,80})\Z")


def recognizes(name: str, head: bytes) -> bool:
    """True if a file begins like one of these."""
    text, file = head.decode("utf-8", "replace"), name.rpartition("/")[2]
    if not file.endswith(SUFFIX):
        return False
    is_empty = is_page_name(file.removesuffix(SUFFIX)) and _COUNT.match(text) is not None
    return is_empty or _HEADING.search(text) is not None


def read(sources: Sequence[Source]) -> Iterator[Found]:
    """The entries of all pages, then what the pages say about themselves."""
    settings = list[SettingItem]()
    for source in sources:
        file = source.name.rpartition("/")[2]
        if not file.endswith(SUFFIX) or file == f"{INDEX}{SUFFIX}":
            continue
        data = whole(source)
        if data is None:
            yield Trouble(where=source.name, why="the file is too large")
            continue
        if (text := data.decode("utf-8", "replace")).count("\ufffd") > data.count(_SIGN):
            yield Altered(where=source.name, why="it is not UTF-8: \ufffd stands for what is not")
        stem = storable(file.removesuffix(SUFFIX))
        name = stem if is_page_name(stem) else page_of(stem)
        reading = parse(name, storable(text))
        for problem in reading.problems:
            yield Trouble(where=f"{source.name}:{problem.line}", why=problem.message)
        page = reading.page
        if "position" not in reading.said:  # not one of ours
            page = page._replace(entries=tuple(map(_marked, page.entries)))
        yield from _entries(source.name, page)
        settings += _about(source.name, page)
    yield from settings


def _marked(entry: Entry) -> Entry:
    """An entry with a mark below its text that is not struck through."""
    found = _MARK.search(entry.text)
    if found is None or entry.struck:
        return entry
    return entry._replace(text=entry.text[: found.start()], superseded_by=found[1])


def _entries(where: str, page: Page) -> Iterator[Found]:
    about = name_of(about_of(page.name, page.title))
    offset = words.offset_of(page.created)
    if any(entry.is_session for entry in page.entries):
        yield Trouble(where=where, why=_SESSIONS)
    for one in arrivals([page], [offset])[0]:
        if one.entry.is_session:
            continue
        place = f"{where}, {one.entry.id or one.entry.at}"
        yield from _not_as_there(one, place)
        if one.entry.text:
            yield _record(one, place, about, offset)
        else:
            yield Trouble(where=place, why="an entry without a text")


def _not_as_there(one: Arrival, where: str) -> Iterator[Altered]:
    """What of an entry cannot be kept as it is."""
    entry = one.entry
    if entry.id and not usable(entry.id):
        yield Altered(where=where, why="its id cannot be one here, so it has another one")
    if entry.at and one.said_at is None:
        yield Altered(
            where=where, why=f"its date {name_of(entry.at)!r} was not kept: it is not a date"
        )
    if names_of(entry.tags) != tuple(dict.fromkeys(entry.tags)):
        yield Altered(where=where, why="not all of its tags could be kept as they are")


def _record(one: Arrival, where: str, about: str | None, offset: int | None) -> RecordItem:
    entry, is_past = one.entry, one.reason is not None
    foreign = entry.id or named(FORMAT, about, entry.at, entry.text)
    return RecordItem(
        id=_id(foreign),
        earlier_id=named(FORMAT, foreign),
        text=entry.text,
        where=where,
        about=about,
        tags=names_of(entry.tags),
        said_at=None if one.said_at is None else one.said_at.isoformat(),
        tz_minutes=offset,
        how_known="imported",
        agent=FORMAT,
        replaces=one.supersedes and _id(one.supersedes),
        status="rejected" if is_past else "active",
        state=State(
            trust="agent",
            status="archived" if is_past else "active",
            reason=one.reason,
            replaced_by=one.superseded_by and _id(one.superseded_by),
            why=one.why,
        ),
    )


def _id(foreign: str) -> str:
    """An id as it stands, if it can be one here."""
    return foreign if usable(foreign) else named(FORMAT, foreign)


def _about(where: str, page: Page) -> Iterator[SettingItem]:
    """What a page says about itself; what is as usual is left out."""
    said: dict[str, Json] = {
        "title": page.title if page.title != title_of(about_of(page.name, "") or "") else "",
        "description": page.description,
        "tags": list(page.tags),
        "status": "" if page.status == "active" else page.status,
        "created": page.created if words.date_of(page.created) is not None else "",
        "needs_compact": page.needs_compact,
        "other": list(page.other),
        "prose": page.prose,
    }
    found: dict[str, Json] = {name: value for name, value in said.items() if value}
    if found:
        id = f"{DOCUMENT}/{document_name(page.name)}"
        yield SettingItem(id=id, data=found, fills=True, where=where)
