"""What is newest, and what a memory holds in general.

Responsible for records and episodes in one order of time, and for the groups of an overview. Leaves
what is visible to ``recall`` and the reads to ``index``. Invariants: every loop ends, because each
round reads rows that it has not seen; unverified text is never included.
"""

from __future__ import annotations

from typing import Final

from recollect.index.reads import Reads
from recollect.index.recent import count_showing, in_scope, said_before
from recollect.index.rows import EpisodeRow, VersionRow, episode_of, record_of
from recollect.index.statements import STILL
from recollect.model import limits
from recollect.model.instants import Moment, instant
from recollect.model.values import Overview, Unit
from recollect.recall.rank import TextRow, Wish, showing
from recollect.recall.times import Span
from recollect.recall.visibility import statuses

_LOOKED_AT: Final = 400  # newest records, among which the most reinforced ones are chosen
_LAST: Final = "~"  # sorts after every instant


def span_between(since: Moment | None, before: Moment | None) -> Span:
    """The stretch of time between two instants; None is open."""
    return Span(
        None if since is None else instant(since), None if before is None else instant(before)
    )


def recent(reads: Reads, wish: Wish, span: Span, limit: int) -> list[TextRow]:
    """The newest records and episodes of a stretch of time: records by their last change, episodes
    by the instant they were said. ``wish.filter`` may limit the scope.
    """
    found: list[TextRow] = []
    if wish.unit != "episode":
        found += _records(reads, wish, span, limit)
    if wish.unit != "record":
        found += _episodes(reads, wish, span, limit)
    return sorted(found, key=_instant, reverse=True)[:limit]


def overview(reads: Reads, wish: Wish, span: Span, limit: int) -> Overview:
    """The most used records, the newest of the others, and the newest episodes."""
    records = _records(reads, wish, span, max(limit, _LOOKED_AT))
    reinforced = [row for row in records if row.reinforcement_count]
    used = sorted(reinforced, key=lambda row: -row.reinforcement_count)[:limit]  # stable
    names = {row.id for row in used}
    newest = [row for row in records if row.id not in names][:limit]
    said = _episodes(reads, wish, span, limit)
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
    """Visible records of that time, the last changed first."""
    last = reads.at if span.before is None else min(reads.at, reads.seq_at(span.before))
    found: list[VersionRow] = []
    before, look = min(last, STILL - 2) + 1, limit
    while len(found) < limit:
        page = reads.listing(statuses(()), None, before, look, wish.filter)
        fitting = [row for row in page if span.holds(row.at)]
        found += [row for row in showing(fitting, wish) if wish.wants(row)]
        if len(page) < look or (span.since is not None and page[-1].at < span.since):
            break
        before, look = page[-1].seq, min(4 * look, limits.LIST_MAX_RECORDS)
    return found[:limit]


def _episodes(reads: Reads, wish: Wish, span: Span, limit: int) -> list[EpisodeRow]:
    """Visible episodes of that time, the last said first."""
    found: list[EpisodeRow] = []
    before, look = (span.before or _LAST, 0 if span.before else STILL), limit
    while len(found) < limit:
        page = said_before(reads, before, span.since or "", look, wish.filter)
        found += [row for row in showing(page, wish) if wish.wants(row)]
        if len(page) < look:
            break
        before = page[-1].said_at, page[-1].seq
        look = min(4 * look, limits.LIST_MAX_RECORDS)
    return found[:limit]


def _count(reads: Reads, unit: Unit, wish: Wish, span: Span) -> int:
    """How many there are of that time; only the user limits the scope of an overview."""
    column = "at" if unit == "record" else "said_at"
    where = in_scope({"user": wish.user}, column, span.since, span.before)
    return count_showing(reads, unit, wish.now, where)


def _instant(row: TextRow) -> tuple[str, int]:
    return (row.at if isinstance(row, VersionRow) else row.said_at), row.seq
