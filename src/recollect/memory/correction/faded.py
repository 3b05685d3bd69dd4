"""What has faded: records that were not used for long, and archiving them.

Responsible for finding records that were not used for long, by the decay that presets rank by.
Leaves archiving one to ``lifecycle.records.hypotheses``. Invariant: nothing is archived unless it
is called for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from recollect.errors import InvalidInput
from recollect.index.reads import Reads
from recollect.index.rows import VersionRow
from recollect.index.statements import STILL
from recollect.index.values import record_of
from recollect.lifecycle.commands import Archive, Expect
from recollect.lifecycle.trust.persons_word import may_alter
from recollect.memory.handle import answers
from recollect.memory.handle.handle import Handle
from recollect.model.limits import LIST_MAX_RECORDS
from recollect.model.values import Archived
from recollect.recall.presets import recency

_AT_ONCE: Final = 1_000  # records of one command, and of one page


class _Faded(NamedTuple):
    rows: list[VersionRow]
    kept: int
    more: bool


def would_archive(handle: Handle, below: float, limit: int) -> Archived:
    """What has faded below a recency, the longest unused first."""
    with handle.reading() as reads:
        return _told(_faded(handle, reads, below, limit))


def archive(
    handle: Handle,
    below: float,
    limit: int,
    idempotency_key: str | None,
    expect: Expect | None,
) -> Archived:
    """Archives what has faded; ``Admin.archive`` documents the arguments."""
    asked = ("curate", below, limit)
    if limit > _AT_ONCE and (idempotency_key, expect) != (None, None):
        raise InvalidInput(
            f"with an idempotency key or expect, limit is {_AT_ONCE:,} at most",
            hint="call it several times, each with its own key",
        )
    before = handle.done_before(idempotency_key, asked)
    if before is not None:  # what it found then
        with handle.space.reading(before.first - 1) as reads:
            return _told(_faded(handle, reads, below, limit))
    with handle.reading() as reads:
        found = _faded(handle, reads, below, limit)
    for first in range(0, len(found.rows), _AT_ONCE):
        made = tuple(
            Archive(id=row.id, why="decayed", seq=row.seq)
            for row in found.rows[first : first + _AT_ONCE]
        )
        handle.write(made, answers.nothing, idempotency_key, expect, asked)
    return _told(found)


def _told(found: _Faded) -> Archived:
    records = tuple(record_of(row) for row in found.rows)
    return Archived(records=records, kept=found.kept, more=found.more)


def _faded(handle: Handle, reads: Reads, below: float, limit: int) -> _Faded:
    now, kept, rows = reads.hours(), 0, list[VersionRow]()
    for row in _active(reads, handle.actor.user):
        if recency(now - row.last_reinforced_at, row.decay_tier) >= below:
            continue
        if may_alter(reads, handle.actor, row):
            rows.append(row)
        else:
            kept += 1
    rows.sort(key=lambda row: (row.last_reinforced_at, row.seq))
    return _Faded(rows[:limit], kept, len(rows) > limit)


def _active(reads: Reads, user: str | None) -> Iterator[VersionRow]:
    before = STILL
    while page := reads.listing(["active"], user, before, LIST_MAX_RECORDS):
        yield from page
        before = page[-1].seq
