"""What was learned in each session of a day.

Responsible for the entries of the pages ``event-YYYY-MM-DD``. Leaves the pages themselves to
``mirror.gather``. Invariant: they hold what records say, and nothing of a conversation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from recollect.index.rows import VersionRow
from recollect.mirror import words
from recollect.mirror.page import Entry

LEARNED_MAX_CHARS: Final = 280  # of each record


class SessionDay(NamedTuple):
    """The records that one session added on one day, oldest first."""

    page: str
    session: str
    user: str | None
    rows: tuple[VersionRow, ...]
    earlier: Mapping[str, VersionRow]  # by the id of the record that superseded it


DAY_PREFIX: Final = "event-"


def day_page(row: VersionRow) -> str:
    """The page of the day on which a record was added."""
    return f"{DAY_PREFIX}{words.local(row.created_at, row.tz_minutes).date().isoformat()}"


def group_sessions(rows: Iterable[VersionRow]) -> Iterator[SessionDay]:
    """Records that pages show, oldest first, by day and session."""
    groups: dict[tuple[str, str, str | None], list[VersionRow]] = {}
    earlier: dict[str, VersionRow] = {}
    for row in rows:
        if row.superseded_by is not None:
            earlier[row.superseded_by] = row
        if row.session is not None:
            groups.setdefault((day_page(row), row.session, row.user), []).append(row)
    for (page, session, user), added in groups.items():
        before = {row.id: earlier[row.id] for row in added if row.id in earlier}
        yield SessionDay(page, session, user, tuple(added), before)


def session_entry(day: SessionDay, links: Mapping[str, str]) -> Entry:
    """One entry; ``links`` leads from each record to its page."""
    first = day.rows[0]
    learned = [f"- {_said(row)} ({links[row.id]})" for row in day.rows if row.id not in day.earlier]
    corrected = [
        f"- {_said(row)} Before: {_said(day.earlier[row.id])} ({links[row.id]})"
        for row in day.rows
        if row.id in day.earlier
    ]
    parts = [("Learned", learned), ("Corrected", corrected)]
    return Entry(
        id=day.session,
        at=words.clock_time(words.local(first.created_at, first.tz_minutes)),
        text="\n\n".join("\n".join((f"{name}:", *lines)) for name, lines in parts if lines),
        is_session=True,
    )


def _said(row: VersionRow) -> str:
    return words.one_line(row.text, LEARNED_MAX_CHARS)
