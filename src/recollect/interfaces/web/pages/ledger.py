"""The ledger: where it ends, whether it is sound, and who signed it.

Responsible for the head, the segments, the checkpoints and the answer of a check in words. Leaves
one event to ``event``. Invariant: nothing is signed or written by looking.
"""

from __future__ import annotations

from typing import Final

import msgspec

from recollect.errors import IntegrityError
from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.checked import CHECKED, REFRESH_S, Check
from recollect.interfaces.web.draw.rows import Row, rows
from recollect.interfaces.web.draw.verdicts import Verdict, verdict
from recollect.interfaces.web.signed import Signatures, signatures
from recollect.interfaces.web.view import View
from recollect.memory import Memory
from recollect.model.values import Change

_SEALS_MAX_COUNT: Final = 1_000
_LAST_COUNT: Final = 12
_CHECKPOINTS_MAX_COUNT: Final = 20


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """One part of the ledger: a closed file, or the one that is written to."""

    first: int
    last: int
    sealed_at: str | None
    width: int  # of a bar, 1 to 100


class Main(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows."""

    end: Change | None  # the last event
    head: str | None  # its hash; None if its line cannot be read any more
    segments: tuple[Segment, ...]
    last: tuple[Row, ...]
    check: Check | None
    verdict: Verdict | None
    running: int | None  # how far a check is that has not ended, in percent
    failed: str | None  # why the last check could not be made
    since: int  # events that were written after the check
    keys: Signatures
    unsigned: int
    erasures: tuple[Change, ...]


def page(asked: Asked, memory: Memory) -> View:
    """Reads the ledger, what the last check found, and how far the one is that runs."""
    check, running = CHECKED.last(memory), CHECKED.running(memory)
    last = list(reversed(memory.events.list(before=asked.position + 1, limit=_LAST_COUNT)))
    head = _head(memory, last[0].seq) if last else None
    keys = signatures(memory)
    signed = keys.checkpoints[0].size if keys.checkpoints else 0
    main = Main(
        end=last[0] if last else None,
        head=head,
        segments=segments(memory.events.list(kinds=("ledger.sealed",), limit=_SEALS_MAX_COUNT),
                          asked.position),
        last=tuple(row for each in last for row in rows([each])),
        check=check,
        verdict=None if check is None else verdict(check.found),
        running=None if running is None else running.percent,
        failed=CHECKED.failed(memory),
        since=0 if check is None else max(0, asked.position - check.found.events),
        keys=msgspec.structs.replace(keys, checkpoints=keys.checkpoints[:_CHECKPOINTS_MAX_COUNT]),
        unsigned=max(0, asked.position - signed),
        erasures=tuple(reversed(memory.events.list(kinds=("events.erased",), limit=50))),
    )  # fmt: skip
    return View(
        title="Ledger",
        main=main,
        answer={"head": head, "check": check, "signed": keys},
        calls=(
            asked.call(asked.python("admin.verify"), asked.cli("admin", "verify", past=False)),
            asked.call(asked.python("status"), asked.cli("status", past=False)),
        ),
        refresh_s=0 if running is None else REFRESH_S,
    )


def _head(memory: Memory, seq: int) -> str | None:
    try:
        return memory.events.get(seq).hash
    except IntegrityError:
        return None  # the check says what is wrong


def segments(seals: list[Change], position: int) -> tuple[Segment, ...]:
    """The closed parts and the open one, oldest first: a seal is the first event of the next."""
    seals = [each for each in seals if each.seq <= position]
    starts = [1, *(each.seq for each in seals)]
    ends = [*(start - 1 for start in starts[1:]), position]
    sealed = [*(each.at for each in seals), None]
    most = max(1, *(end - start + 1 for start, end in zip(starts, ends, strict=True)))
    return tuple(
        Segment(first=start, last=end, sealed_at=at, width=max(1, 100 * (end - start + 1) // most))
        for start, end, at in zip(starts, ends, sealed, strict=True)
        if end >= start
    )
