"""Entries of pages that another memory or another program wrote.

Responsible for what each of them is here: when it was said, and what took its place. Leaves storing
them to those who take them in. Invariants: a page that is adopted and one that is imported give the
same entries; what was struck or superseded there does not hold here; nothing fails because of what
a page says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from recollect.mirror import words
from recollect.mirror.page import Entry, Page
from recollect.model.reasons import Reason


class Arrival(NamedTuple):
    """One entry, as it stood there."""

    entry: Entry
    said_at: datetime | None  # without an offset if nothing tells it
    superseded_by: str | None
    supersedes: str | None
    why: str | None  # its successor took its place

    @property
    def reason(self) -> Reason | None:
        """Why it does not hold any more; None if it does."""
        if self.superseded_by is not None:
            return "superseded"
        return "refuted" if self.entry.struck else None


def arrivals(pages: Sequence[Page], offsets: Iterable[int | None]) -> list[list[Arrival]]:
    """The entries of pages whose local times have these offsets, if something tells them."""
    entries = {one.id: one for page in pages for one in page.entries if one.id is not None}
    after = {id: one.superseded_by for id, one in entries.items() if one.superseded_by}
    for one in entries.values():
        if one.supersedes in entries and one.id is not None:
            after.setdefault(one.supersedes, one.id)
    after = {old: new for old, new in after.items() if old != new}
    before: dict[str, str] = {}  # of each successor, the first whose place it took
    for old, new in after.items():
        before.setdefault(new, old)

    def arrival(entry: Entry, said_at: datetime | None) -> Arrival:
        id = entry.id or ""
        by = after.get(id)
        why = entries[by].why if by in entries else None
        return Arrival(entry, said_at, by, before.get(id), why)

    return [
        [*map(arrival, page.entries, moments([one.at for one in page.entries], offset))]
        for page, offset in zip(pages, offsets, strict=True)
    ]


def moments(dates: Iterable[str], offset: int | None) -> Iterator[datetime | None]:
    """When each entry of a page was said, in local time if nothing tells the offset.

    Headings count seconds, or minutes. What has the same date follows each other by a microsecond,
    so that it stays in order.
    """
    seen = Counter[datetime]()
    for text in dates:
        moment = words.date_of(text) if offset is None else words.instant_of(text, offset)
        if moment is None:
            yield None
            continue
        try:
            yield moment + timedelta(microseconds=seen[moment])
        except OverflowError:  # the last second that there is
            yield moment
        seen[moment] += 1
