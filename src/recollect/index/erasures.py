"""Reads of what was erased, and by which event.

Responsible for the table of erased events. Leaves every other read to ``index.reads`` and what an
erasure removes to ``index.fold.erasure``. Invariant: of an erased event no more than its seq is
known.
"""

from __future__ import annotations

from typing import cast

from recollect.index.reads import Reads


def erased_by(reads: Reads, seq: int) -> int | None:
    """The event that erased another, if one did."""
    row = reads.db.one("get_erased", {"seq": seq})
    return None if row is None else cast(int, row[0])


def events_erased_by(reads: Reads, by: int) -> list[int]:
    """The seqs of the events that one event erased."""
    return [cast(int, seq) for (seq,) in reads.db.rows("events_erased_by", {"by": by})]


def unfinished_erasures(reads: Reads) -> dict[int, int]:
    """Events whose body was erased by a later event but may still be in a file."""
    rows = reads.db.rows("unfinished_erasures", {})
    return {cast(int, seq): cast(int, by) for seq, by in rows}


def was_erased_since(reads: Reads, seq: int) -> bool:
    """True if one of the events up to here was erased by a later one."""
    return reads.db.one("has_erased_since", {"seq": seq}) is not None
