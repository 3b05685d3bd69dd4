"""What is newest, and what a memory holds in general.

Responsible for records and episodes in one order of time, and for the groups of an overview. Leaves
what is visible to ``recall`` and the reads to ``index``. Invariants: every loop ends, because each
round reads rows that it has not seen; unverified text is never included.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from recollect.index.filter import Filter
from recollect.index.reads import Reads
from recollect.index.recent import (
    Place,
    also_unsaid,
    count_showing,
    episodes_said_before,
    in_scope,
    records_said_before,
)
from recollect.index.rows import EpisodeRow, VersionRow
from recollect.index.statements import STILL
from recollect.index.values import episode_of, record_of
from recollect.model import limits
from recollect.model.instants import Moment, instant
from recollect.model.values import Overview, Unit
from recollect.recall.rank import AnyTextRow, TextRow, Wish, showing
from recollect.recall.times import ALWAYS, Span
from recollect.recall.visibility import statuses

_LOOKED_AT: Final = 400  # newest records, among which the most reinforced ones are chosen
_LAST: Final = "~"  # sorts after every instant
_Read = Callable[[Place, str, int, Filter | None], list[AnyTextRow]]


def span_between(since: Moment | None, before: Moment | None) -> Span:
    """The stretch of time between two instants; None is open."""
    return Span(
        None if since is None else instant(since), None if before is None else instant(before)
    )


def recent(reads: Reads, wish: Wish, span: Span, limit: int) -> list[TextRow]:
    """The newest records and episodes of a stretch of time, by the instant they were said.

    A record that has none counts by its last change. ``wish.filter`` may limit the scope.
    """
    wish = wish.including("refuted")
    found: list[TextRow] = []
    if wish.unit != "episode":
        found += _records(reads, wish, span, limit)
    if wish.unit != "record":
        found += _episodes(reads, wish, span, limit)
    return sorted(found, key=_instant, reverse=True)[:limit]


def overview(reads: Reads, wish: Wish, span: Span, limit: int) -> Overview:
    """The most used records, the newest of the others, and the newest episodes."""
    wish = wish.including("refuted")
    records = _records(reads, wish, span, max(limit, _LOOKED_AT))
    reinforced = [row for row in records if row.reinforcement_count]
    used = sorted(reinforced, key=lambda row: -row.reinforcement_count)[:limit]  # stable
    names = {row.id for row in used}
    newest = [row for row in records if row.id not in names][:limit]
    said = _said(partial(episodes_said_before, reads), wish, span, limit, wish.recalls)
    return Overview(
        used=tuple(map(record_of, used)),
        changed=tuple(map(record_of, newest)),
        said=tuple(map(episode_of, said)),
        records=_count(reads, "record", wish, span),
        episodes=_count(reads, "episode", wish, span),
        since=span.since,
        before=span.before,
    )


def _records(reads: Reads, wish: Wish, span: Span, limit: int) -> list[VersionRow]:
    """Visible records of that time, newest first."""
    changed = _changed_records(reads, wish, span, limit)
    said = _said(partial(records_said_before, reads), wish, span, limit)
    return sorted([*changed, *said], key=_instant, reverse=True)[:limit] if said else changed


def _changed_records(reads: Reads, wish: Wish, span: Span, limit: int) -> list[VersionRow]:
    """Those that were said when they were written, the last changed first."""
    where = also_unsaid(wish.filter)
    last = reads.at if span.before is None else min(reads.at, reads.seq_at(span.before))
    found: list[VersionRow] = []
    before, look = min(last, STILL - 2) + 1, limit
    while len(found) < limit:
        page = reads.listing(statuses(()), None, before, look, where)
        fitting = [row for row in page if row.said_at is None and span.holds(row.at)]
        found += [row for row in showing(fitting, wish) if wish.wants(row)]
        if len(page) < look or (span.since is not None and page[-1].at < span.since):
            break
        before, look = page[-1].seq, min(4 * look, limits.LIST_MAX_RECORDS)
    return found[:limit]


def _episodes(reads: Reads, wish: Wish, span: Span, limit: int) -> list[EpisodeRow]:
    """Visible episodes of that time, the last said first."""
    return _said(partial(episodes_said_before, reads), wish, span, limit)


def _said(
    read: _Read[AnyTextRow],
    wish: Wish,
    span: Span,
    limit: int,
    fits: Callable[[AnyTextRow], bool] = lambda _: True,
) -> list[AnyTextRow]:
    """The visible and fitting ones of that time among those a read gives, the last said first."""
    found: list[AnyTextRow] = []
    before, look = (span.before or _LAST, 0 if span.before else STILL), limit
    while len(found) < limit:
        page = read(before, span.since or "", look, wish.filter)
        found += [row for row in showing(page, wish) if wish.wants(row) and fits(row)]
        if len(page) < look:
            break
        before = _instant(page[-1])
        look = min(4 * look, limits.LIST_MAX_RECORDS)
    return found[:limit]


def _count(reads: Reads, unit: Unit, wish: Wish, span: Span) -> int:
    """How many there are of that time; only the user limits the scope of an overview."""
    mine = {"user": wish.user}
    if span == ALWAYS:
        return count_showing(reads, unit, wish.now, in_scope(mine))
    said = in_scope(mine, "said_at", span.since, span.before)
    count = count_showing(reads, unit, wish.now, said)
    if unit == "record":
        changed = also_unsaid(in_scope(mine, "at", span.since, span.before))
        count += count_showing(reads, unit, wish.now, changed)
    return count


def _instant(row: TextRow) -> tuple[str, int]:
    return row.said_at or row.at, row.seq
