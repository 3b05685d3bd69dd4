"""How much an index holds, brought up to date from an earlier count.

Responsible for counting what the events since then touched, once as it stood and once as it stands.
Leaves keeping a count to ``memory.reading``. Invariants: the result equals ``Reads.counts``; what
it costs depends on the events since, not on how much there is.
"""

from __future__ import annotations

from typing import Final, cast

import msgspec

from recollect.index.erasures import was_erased_since
from recollect.index.reads import Reads
from recollect.index.rows import CommandRow

# After more events than this, counting all of it takes no longer.
_SINCE_MAX_EVENTS: Final = 10_000
_KINDS: Final = ("episodes", "shadowed", "links")


class Tally(msgspec.Struct, frozen=True):
    """What a memory held after a command."""

    command: CommandRow
    counts: dict[str, int]


def tally(reads: Reads, kept: Tally | None) -> Tally | None:
    """What a memory holds at the position of these reads; None if nothing was written yet."""
    command = reads.command_at(reads.at)
    if command is None:
        return None
    if kept is not None and _leads_here(reads, kept.command, command):
        return Tally(command, _moved(reads, kept, command.seq))
    return Tally(command, Reads(reads.db, at=command.seq).counts())


def _leads_here(reads: Reads, then: CommandRow, now: CommandRow) -> bool:
    """True if nothing that was counted then was erased, lost or put back since."""
    return (
        then.seq <= now.seq <= then.seq + _SINCE_MAX_EVENTS
        and reads.command_at(then.seq) == then
        and not was_erased_since(reads, then.seq)
    )


def _moved(reads: Reads, kept: Tally, at: int) -> dict[str, int]:
    since = kept.command.seq
    if since == at:
        return kept.counts
    counts = dict(kept.counts)
    for sign, then in ((-1, since), (1, at)):
        params = {"since": since, "at": at, "then": then}
        for status, count in reads.db.rows("count_versions_touched", params):
            counts[str(status)] = counts.get(str(status), 0) + sign * cast(int, count)
        for kind in _KINDS:
            row = reads.db.one(f"count_{kind}_touched", params)
            counts[kind] += sign * (cast(int, row[0]) if row else 0)
    return {name: count for name, count in counts.items() if count or name in _KINDS}
