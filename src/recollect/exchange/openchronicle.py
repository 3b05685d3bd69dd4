"""The pages of OpenChronicle: Markdown files with one heading for each entry.

Responsible for entries and for which of them supersede others. Leaves storing to
``memory.importing``. Invariant: an entry has the id that it has there.

An entry begins ``## [2026-11-14T22:49] {id: 20261114-2249-ace923} #tag``. ``#superseded-by:ID``
stands on the heading or after the body; the successor may say ``<!-- supersedes: ID; reason -->``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from recollect.exchange.frontmatter import parted
from recollect.exchange.injected import storable
from recollect.exchange.items import (
    Found,
    RecordItem,
    Source,
    Trouble,
    moment_of,
    name_of,
    named,
    names_of,
    whole,
)

FORMAT: Final = "openchronicle"
_HEADING: Final = re.compile(r"## \[([^\]\n]{1,40})\] \{id: ([\w.:-]{1,80})\}([^\n]{0,2000})")
_TAG: Final = re.compile(r"#([\w/.-]{1,80})(?::([\w.:-]{1,80}))?")
_BY: Final = re.compile(r"#superseded-by:([\w.:-]{1,80})")
_OF: Final = re.compile(r"<!--\s{0,4}supersedes:\s{0,4}([\w.:-]{1,80})[^>]{0,2000}-->")


class _Entry(NamedTuple):
    id: str
    said_at: str | None
    tags: tuple[str, ...]
    text: str


def recognizes(name: str, head: bytes) -> bool:
    """True if a file begins like one of these."""
    text = head.decode("utf-8", "replace")
    return name.endswith(".md") and _HEADING.search(text) is not None


def read(sources: Sequence[Source]) -> Iterator[Found]:
    """The entries of all pages."""
    for source in sources:
        if source.name.endswith(".md") and source.name.rpartition("/")[2] != "index.md":
            data = whole(source)
            if data is None:
                yield Trouble(where=source.name, why="the file is too large")
            else:
                yield from _page(source.name, storable(data.decode("utf-8", "replace")))


def _page(name: str, text: str) -> Iterator[Found]:
    fields, body = parted(text)
    entries, after = _entries(body)
    about = name_of(name.rpartition("/")[2].removesuffix(".md"))
    tags = names_of(fields.get("tags") or [])
    before: dict[str, str] = {}  # of each successor, the first entry that it supersedes
    for old, new in after.items():
        before.setdefault(new, old)
    ids = {entry.id for entry in entries}
    for entry in entries:
        where = f"{name}, {entry.id}"
        if not entry.text:
            yield Trouble(where=where, why="an entry without a text")
            continue
        first = before.get(entry.id)
        earlier = named(FORMAT, first) if first is not None and first in ids else None
        is_last = entry.id not in after or before.get(after[entry.id]) == entry.id
        yield RecordItem(
            id=named(FORMAT, entry.id),
            text=entry.text,
            where=where,
            about=about,
            tags=tuple(dict.fromkeys((*entry.tags, *tags))),
            said_at=entry.said_at,
            supersedes=earlier,
            status="active" if is_last and after.get(entry.id, entry.id) in ids else "decayed",
        )


def _entries(body: str) -> tuple[list[_Entry], dict[str, str]]:
    """The entries, and which entry came after which."""
    entries: list[_Entry] = []
    after: dict[str, str] = {}
    headings = list(_HEADING.finditer(body))
    ends = [heading.start() for heading in headings[1:]] + [len(body)][: len(headings)]
    for heading, end in zip(headings, ends, strict=True):
        text, id = body[heading.end() : end], heading[2]
        for found in _BY.finditer(heading[3] + text):
            after[id] = found[1]
        for found in _OF.finditer(text):
            after[found[1]] = id
        plain = _BY.sub("", _OF.sub("", text)).strip()
        if plain.startswith("~~") and plain.endswith("~~"):
            plain = plain[2:-2].strip()
        tags = tuple(tag[1] for tag in _TAG.finditer(heading[3]) if tag[2] is None)
        entries.append(_Entry(id, moment_of(heading[1]), tags, plain))
    return entries, after
