"""Reads of what pages are made from, as of now.

Responsible for finding records by what they are about, and what changed since a position. Leaves
which page a record is on to ``mirror``. Invariant: how long a read takes depends on what it finds,
not on how many other records there are; only records about nothing are searched for among all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import cast

from recollect.index.reads import Reads
from recollect.index.rows import Cell, VersionRow, pack_list, version_row
from recollect.index.statements import NOW


def abouts(reads: Reads) -> list[str]:
    """What records are about."""
    return [str(about) for (about,) in reads.db.rows("abouts", {})]


def records_about(reads: Reads, abouts: Sequence[str | None]) -> list[VersionRow]:
    """The records about any of these that are active or archived; None stands for nothing."""
    named = [about for about in abouts if about is not None]
    found = reads.db.rows("records_about_any", {"abouts": pack_list(named)}) if named else []
    if None in abouts:
        found = [*found, *reads.db.rows("records_about_nothing", {})]
    return [version_row(row) for row in found]


def first_about(
    reads: Reads, groups: Iterable[Sequence[str]], user: str | None
) -> list[VersionRow]:
    """The oldest record that pages show about any of a group, for each group that has one."""
    params: list[dict[str, Cell]] = [{"abouts": pack_list(group), "user": user} for group in groups]
    return [version_row(row) for row in reads.db.ones("first_about", params) if row is not None]


def records_at(reads: Reads, ids: Iterable[str], at: int = NOW) -> list[VersionRow]:
    """The records of these ids at a position."""
    params: list[dict[str, Cell]] = [{"id": id, "at": at} for id in ids]
    return [version_row(row) for row in reads.db.ones("get_version", params) if row is not None]


def superseded_by_any(reads: Reads, ids: Collection[str]) -> list[str]:
    """The ids of records whose place one of these took."""
    rows = reads.db.rows("any_superseded_by", {"ids": pack_list([*ids])}) if ids else []
    return [str(id) for (id,) in rows]


def records_changed(reads: Reads, after: int) -> list[str]:
    """The ids of records that were added or changed after a position."""
    return sorted({str(id) for (id,) in reads.db.rows("records_changed", {"after": after})})


def documents_changed(reads: Reads, after: int) -> list[tuple[str, str]]:
    """The types and names of documents that were set or dropped after a position."""
    rows = reads.db.rows("documents_changed", {"after": after})
    return [(str(type), str(name)) for type, name in rows]


def links_changed(reads: Reads, after: int) -> set[str]:
    """The ids of records at an end of a link that began or ended after a position."""
    links = reads.links_changed(after + 1, NOW)
    return {id for link in links for id in (link.source, link.target)}


def records_added(reads: Reads, first: str, last: str) -> list[str]:
    """The ids of records that sessions added between two instants."""
    params = {"after": reads.seq_at(first), "through": reads.seq_at(last)}
    return [cast(str, id) for (id,) in reads.db.rows("records_added", params)]
