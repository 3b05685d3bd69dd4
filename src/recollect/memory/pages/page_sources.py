"""What pages are made from: read for every page, or for some of them.

Responsible for reading records, documents and links, and for telling which pages a change may
have altered. Leaves pages to ``mirror`` and files to ``store.pages``. Invariant: a page made from
what is read for it alone has the same bytes as one made from everything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import date
from typing import Final

from recollect.index import page_reads
from recollect.index.reads import Reads
from recollect.index.rows import DocumentRow, VersionRow, unpack_object
from recollect.index.statements import NOW
from recollect.memory.handle.handle import Handle
from recollect.mirror.gather import About, Made, Material, gather, has_own_title, is_shown
from recollect.mirror.names import DOCUMENT, FLAG, document_name, page_named, page_of
from recollect.mirror.sessions import DAY_PREFIX, day_page
from recollect.model import limits
from recollect.model.events import GENESIS

_AROUND_DAYS: Final = 2  # more than any offset from UTC
_MANY: Final = 2_000  # changes, after which reading everything is faster


def every_page(handle: Handle, reads: Reads) -> list[Made]:
    """Every page but the index, by name."""
    rows, before, at_once = list[VersionRow](), NOW, limits.LIST_MAX_RECORDS
    while True:
        page = reads.listing(("active", "archived"), handle.actor.user, before, at_once)
        rows += filter(handle.may_see, page)
        if len(page) < at_once:
            break
        before = page[-1].seq
    links = reads.db.rows("ends_of_links", {"at": reads.at})
    ends = [(str(source), str(target)) for source, target in links]
    documents, flags = (_documents(reads, type) for type in (DOCUMENT, FLAG))
    return gather(Material(rows, documents, ends, _began(reads), flags))


def _documents(reads: Reads, type: str) -> dict[str, About]:
    found: dict[str, About] = {}
    after, at_once = ("", ""), limits.LIST_MAX_DOCUMENTS
    while True:
        page = reads.documents(type, after, at_once)
        for row in page:
            name = page_named(row.name)
            if document_name(name) == row.name:  # a page has one name
                found[name] = _about(row)
        if len(page) < at_once:
            return found
        after = (page[-1].type, page[-1].name)


def _about(row: DocumentRow) -> About:
    return About(unpack_object(row.data), row.at, row.seq)


def _began(reads: Reads) -> tuple[str, int]:
    first = reads.command_at(1)
    return (first.at, first.seq) if first else (GENESIS.at, 0)


class Sources:
    """Reads what some pages are made from, as of now."""

    def __init__(self, handle: Handle, reads: Reads) -> None:
        self._handle = handle
        self._reads = reads
        self._abouts: dict[str, list[str]] | None = None

    def pages(self, names: Collection[str]) -> list[Made]:
        """These pages, if they exist."""
        rows = self._on(names)
        links = self._reads.trusted_links([*rows]) if rows else []
        near = {id for link in links for id in (link.source, link.target)}
        near |= {row.superseded_by for row in rows.values() if row.superseded_by is not None}
        near.update(page_reads.superseded_by_any(self._reads, rows))
        rows |= self._shown(page_reads.records_at(self._reads, sorted(near - rows.keys())))
        places = {page_of(row.about) for row in rows.values()}
        rows |= self._first_on(places.difference(names))
        documents = self._documents(DOCUMENT, places.union(names))
        flags = self._documents(FLAG, names)
        ends = [(link.source, link.target) for link in links]
        found = Material([*rows.values()], documents, ends, _began(self._reads), flags)
        return gather(found, names)

    def shown_on(self, name: str) -> list[VersionRow]:
        """The records that are entries of a page, the first one first."""
        rows = (row for row in self._on({name}).values() if page_of(row.about) == name)
        return sorted(rows, key=lambda row: (row.created_at, row.id))

    def altered(self, since: int) -> set[str] | None:
        """The names of pages that changes after a position may have altered; None if it is many.

        Pages that show the title of one of these are not among them.
        """
        reads, names, near = self._reads, set[str](), set[str]()
        changed = page_reads.records_changed(reads, since)
        if len(changed) > _MANY:
            return None
        now = self._shown(page_reads.records_at(reads, changed))
        before = self._shown(page_reads.records_at(reads, changed, since))
        for row in (*now.values(), *before.values()):
            names |= _pages_of(row)
            near |= {row.superseded_by} if row.superseded_by is not None else set()
        moved = [id for id in changed if _place(now.get(id)) != _place(before.get(id))]
        for link in reads.trusted_links(moved) if moved else []:
            near |= {link.source, link.target}
        near.update(page_reads.superseded_by_any(reads, moved))
        near |= page_reads.links_changed(reads, since)
        for row in self._shown(page_reads.records_at(reads, sorted(near))).values():
            names |= _pages_of(row)
        documents = page_reads.documents_changed(reads, since)
        return names | {page_named(name) for type, name in documents if type in (DOCUMENT, FLAG)}

    def _shown(self, rows: Iterable[VersionRow]) -> dict[str, VersionRow]:
        return {row.id: row for row in rows if is_shown(row) and self._handle.may_see(row)}

    def _on(self, names: Collection[str]) -> dict[str, VersionRow]:
        """The records on these pages, and those that the sessions of these days added."""
        abouts: list[str | None] = [about for name in names for about in self._about(name)]
        if page_of(None) in names:
            abouts.append(None)
        rows = self._shown(page_reads.records_about(self._reads, abouts))
        for name in names:
            added = page_reads.records_at(self._reads, self._added(name))
            rows |= {id: row for id, row in self._shown(added).items() if day_page(row) == name}
        return rows

    def _added(self, name: str) -> list[str]:
        """The ids of records that sessions added about the day of a page."""
        try:
            day = date.fromisoformat(name.removeprefix(DAY_PREFIX)).toordinal()
        except ValueError:
            return []
        first = date.fromordinal(max(day - _AROUND_DAYS, date.min.toordinal()))
        last = date.fromordinal(min(day + _AROUND_DAYS, date.max.toordinal()))
        return page_reads.records_added(self._reads, f"{first}", f"{last}~")

    def _first_on(self, names: Iterable[str]) -> dict[str, VersionRow]:
        """The first record on each of these pages: it says what the page is called."""
        groups = [self._about(name) for name in sorted(names) if not has_own_title(name)]
        user = self._handle.actor.user
        return self._shown(page_reads.first_about(self._reads, filter(None, groups), user))

    def _about(self, name: str) -> list[str]:
        """What the records on a page are about."""
        if self._abouts is None:
            self._abouts = {}
            for about in page_reads.abouts(self._reads):
                self._abouts.setdefault(page_of(about), []).append(about)
        return self._abouts.get(name, [])

    def _documents(self, type: str, names: Iterable[str]) -> dict[str, About]:
        found = {name: self._reads.document(type, document_name(name)) for name in names}
        return {name: _about(row) for name, row in found.items() if row is not None}


def _place(row: VersionRow | None) -> str | None:
    return None if row is None else page_of(row.about)


def _pages_of(row: VersionRow) -> set[str]:
    """The page that a record is on, and that of the day on which a session added it."""
    return {page_of(row.about), *(() if row.session is None else (day_page(row),))}
