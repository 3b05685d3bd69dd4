"""``memory.admin.check``: what in a memory leads nowhere, and what this release does not know.

Responsible for events that a release does not know, links without an end, and events that changed
nothing. Leaves the chain and the comparison of ledger and index to ``memory.proof.verification``.
Invariants: nothing is changed; each finding says what to do.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from recollect.index.reads import Reads
from recollect.index.rows import Cell
from recollect.ledger.scan import scan
from recollect.model.counts import counted
from recollect.model.events import KINDS, VERSION
from recollect.model.limits import LIST_MAX_RECORDS
from recollect.model.values import Finding
from recollect.store.port import Progress, Space

_NAMED_MAX_COUNT: Final = 5  # of each finding; the others are counted


def findings(space: Space, progress: Progress | None = None) -> list[Finding]:
    """Everything that is found; an empty list if there is nothing."""
    kinds, unknown = _events(space, progress)
    if unknown:  # such a ledger is not folded, so there is nothing to read
        return [_unknown(unknown)]
    with space.reading() as reads:
        return [*_without_end(reads), *_without_effect(reads, kinds)]


def _events(space: Space, progress: Progress | None) -> tuple[list[str], Counter[str]]:
    """The kind of every event in order, and those that this release does not know."""
    size, kinds, unknown = space.size_bytes(), list[str](), Counter[str]()
    for append in scan(space.pieces()):
        for line in append.lines:
            kinds.append(sys.intern(line.kind))
            if line.v > VERSION or line.kind not in KINDS:
                unknown[f"{line.kind!r}, version {line.v}"] += 1
        if progress is not None:
            progress(min(append.end, size), size)
    return kinds, unknown


def _unknown(found: Counter[str]) -> Finding:
    each = _shortened(f"{what} ({counted(count, 'event')})" for what, count in found.items())
    return Finding(
        level="problem",
        what="schema",
        detail=f"this release does not know events of the kind {each}",
        fix="update Recollect: a newer release wrote this ledger. Nothing is lost",
    )


def _without_end(reads: Reads) -> list[Finding]:
    """Links to or from a record that is not there."""
    params: dict[str, Cell] = {"at": reads.at, "limit": LIST_MAX_RECORDS}
    rows = reads.db.rows("links_without_end", params)
    if not rows:
        return []
    each = _shortened(" ".join(map(str, row)) for row in rows)
    return [
        Finding(
            level="note",
            what="links",
            detail=f"{counted(len(rows), 'link')} without a record at one end: {each}",
            fix="nothing has to be done, because no read follows them. If the record belongs here, "
            "remember it with that id: `recollect remember TEXT --id ID`",
        )
    ]


def _without_effect(reads: Reads, kinds: Sequence[str]) -> list[Finding]:
    """Events about what does not exist, or that their author was not allowed."""
    after, listed = 0, bytearray(len(kinds) + 1)
    while True:
        rows = reads.events(
            kinds=(), id=None, user=None, after=after, before=None, limit=LIST_MAX_RECORDS
        )
        for row in rows:
            if row.seq <= len(kinds):  # not written since the ledger was read
                listed[row.seq] = 1
        if len(rows) < LIST_MAX_RECORDS:
            break
        after = rows[-1].seq
    position = reads.position()
    last = position.seq if position else 0  # what came after it is not in these rows
    orphans = {seq: kind for seq, kind in enumerate(kinds[:last], 1) if not listed[seq]}
    if not orphans:
        return []
    each = _shortened(f"{seq} ({kind})" for seq, kind in orphans.items())
    return [
        Finding(
            level="note",
            what="events",
            detail=f"{counted(len(orphans), 'event')} changed nothing: {each}. What they are about "
            "does not exist, or their author was not allowed to change it",
            fix="nothing has to be done: they stay in the ledger without effect. If you do not "
            "know what wrote them, check who can write the ledger",
        )
    ]


def _shortened(found: Iterable[str]) -> str:
    """The first of them, and how many more there are."""
    every = list(found)
    rest = len(every) - _NAMED_MAX_COUNT
    return ", ".join(every[:_NAMED_MAX_COUNT]) + (f" and {rest:,} more" if rest > 0 else "")
