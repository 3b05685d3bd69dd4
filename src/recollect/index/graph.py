"""The links of many records at once, and the records at their other ends.

Responsible for two statements, each bound to the position of its reads. Leaves walking from record
to record to ``finding.graph``. Invariant: how long a read takes depends on the records that are
asked about and their links, not on how many others there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from recollect.index.reads import Reads
from recollect.index.rows import Cell, LinkRow, VersionRow, pack_list, version_row

Direction = Literal["both", "out", "in"]


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """Which links a read follows, and to which records; no kinds stand for all."""

    kinds: tuple[str, ...] = ()
    direction: Direction = "both"
    held: bool = False  # also links that are unverified
    user: str | None = None  # only to this user's records
    include: tuple[str, ...] = ()  # also to records that are hidden for one of these reasons
    now: str = ""
    ends: tuple[str, ...] = ()  # records that a caller named: links to them are followed


def links_around(reads: Reads, ids: Sequence[str], ask: Ask, limit: int) -> list[LinkRow]:
    """The links of records, in the order of the ids, and of each record the newest first.

    At most ``limit`` of each record in each direction; links to what may not be shown are left out
    before, so that a limit does not tell of them. A link between two of the records comes twice,
    unless only one direction is followed.
    """
    params: dict[str, Cell] = {
        "ids": pack_list(ids),
        "kinds": pack_list(ask.kinds),
        "every": int(not ask.kinds),
        "outward": int(ask.direction != "in"),
        "inward": int(ask.direction != "out"),
        "without": "" if ask.held else "unverified",
        "everyone": int(ask.user is None),
        "user": ask.user or "",
        "words": pack_list(("shown", *ask.include)),
        "now": ask.now,
        "ends": pack_list(ask.ends),
        "at": reads.at,
        "limit": limit,
    }
    return [LinkRow._make(row) for row in reads.db.rows("links_around", params)]


def versions_of(reads: Reads, ids: Sequence[str]) -> dict[str, VersionRow]:
    """These records by id, those that exist."""
    if not ids:
        return {}
    params: dict[str, Cell] = {"ids": pack_list(ids), "at": reads.at}
    rows = map(version_row, reads.db.rows("versions_of_ids", params))
    return {row.id: row for row in rows}
