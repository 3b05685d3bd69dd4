"""Detecting a wrong clock: when writes are refused, and what ``doctor`` reports.

An event is never dated before the previous one, so one write with a clock set to 2099 would affect
the date of every later event. Responsible for telling such a jump from a pause. Leaves reading the
time to the seam. Invariant: a pause of up to a year is never refused.
"""

from __future__ import annotations

from recollect.errors import Conflict
from recollect.model.instants import to_microseconds
from recollect.model.limits import (
    CLOCK_AHEAD_MAX_US,
    CLOCK_ARRIVES_AHEAD_MAX_US,
    CLOCK_JUMP_MAX_US,
)
from recollect.model.values import Finding

_CONFIRM = (
    "if the clock is right, confirm it with `recollect admin close-segment` "
    "(in Python `memory.admin.seal()`)"
)


def is_jump(last: str, now: str) -> bool:
    """True if the clock is more than a year ahead of the last event."""
    return now[:4] > last[:4] and _gap_us(last, now) > CLOCK_JUMP_MAX_US


def refusal(last: str, now: str) -> Conflict:
    """The error, with both dates and the next step."""
    return Conflict(
        f"the clock says {now[:10]}, more than a year after the last event of {last[:10]}; "
        "nothing was written, because every later event would carry that date",
        hint=f"set the clock if it is wrong; {_CONFIRM}",
    )


def check_arriving(seq: int, at: str, now: str) -> None:
    """Refuses an event of another store that is dated ahead of this clock, as a server does."""
    if at > now and _gap_us(now, at) > CLOCK_ARRIVES_AHEAD_MAX_US:
        raise Conflict(
            f"event {seq} is dated {at[:19]}Z, and this clock says {now[:19]}Z; nothing was "
            "taken, because every later event would carry that date",
            hint="correct the clock that is wrong; if the events have wrong dates, export that "
            "memory and import the export into a new one",
        )


def findings(last: str, now: str) -> list[Finding]:
    """Findings about the clock; empty if it fits the ledger."""
    if is_jump(last, now):
        detail = f"it says {now[:10]}, more than a year after the last event of {last[:10]}"
        return [_found(f"{detail}; writing is refused", f"set it if it is wrong; {_CONFIRM}")]
    if _gap_us(now, last) > CLOCK_AHEAD_MAX_US:
        detail = f"it says {now[:19]}Z, and the last event is of {last[:19]}Z"
        fix = "set it if it is wrong; if it is right, events until then carry the later date"
        return [_found(detail, fix)]
    return []


def _found(detail: str, fix: str) -> Finding:
    return Finding(level="note", what="clock", detail=detail, fix=fix)


def _gap_us(before: str, after: str) -> int:
    return to_microseconds(after) - to_microseconds(before)
