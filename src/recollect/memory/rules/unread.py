"""The episodes that a rule has not looked at.

Responsible for finding them, and for whether there are enough or it is time. Leaves what becomes of
them to ``memory.rules.passes``. Invariant: episodes are found in the order of the ledger, and those
that are forgotten or shadowed are left out.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from recollect.index.reads import Reads
from recollect.index.rows import EpisodeRow
from recollect.memory.handle.handle import Handle, parsed_filter
from recollect.model import validate
from recollect.model.cron import parse_cron
from recollect.model.instants import to_datetime
from recollect.model.values import Rule

if TYPE_CHECKING:  # the filter is loaded only by calls that filter
    from recollect.index.filter import Filter

BATCH_MAX_COUNT: Final = 256  # episodes of one command


def filter_of(text: str) -> Filter:
    """The filter of a rule; the columns of an earlier design are translated."""
    from recollect.index.filter.seed_names import translated

    return parsed_filter(translated(validate.plain(text, "filter")), "episode")


def is_due(handle: Handle, rule: Rule) -> bool:
    """True if the cadence of a rule has come."""
    if rule.cron is not None:
        return is_time(handle, rule.cron, max(rule.passed_at or "", rule.at))
    if rule.every is None:
        return False
    where = None if rule.filter is None else filter_of(rule.filter)
    with handle.reading() as reads:
        position = reads.position()
        end, after, left = 0 if position is None else position.seq, rule.through, rule.every
        while after < end and left > 0:
            found, after = unread(reads, where, after, end, left)
            left -= len(found)
    return left <= 0


def is_time(handle: Handle, cron: str, last: str) -> bool:
    """True if a time that cron fields name has come since an instant, on this machine's clock."""
    shift = timedelta(minutes=handle.seam.tz_minutes())
    then = parse_cron(cron).next_after(to_datetime(last) + shift)
    return then is not None and then <= to_datetime(handle.now()) + shift


def unread(
    reads: Reads, where: Filter | None, after: int, end: int, left: int | None
) -> tuple[list[EpisodeRow], int]:
    """The next episodes that a rule matches, and the event up to which it has looked then."""
    rows = reads.episodes_after(after, BATCH_MAX_COUNT, where)
    through = rows[-1].seq if len(rows) == BATCH_MAX_COUNT else end
    fitting = (row for row in rows if row.seq <= end and row.hidden is None)
    found = [row for row in fitting if where is None or where.matches(row)]
    if left is not None and len(found) > left:
        found = found[:left]
        through = found[-1].seq
    return found, min(through, end)
