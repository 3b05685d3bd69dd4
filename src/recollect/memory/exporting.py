"""An export: what a memory holds at one position, written to a file or a folder.

Responsible for reading page by page and for writing it whole or not at all. Leaves formats to
``exchange.outward`` and pages to ``mirror``. Invariants: one position is read, also if others write
meanwhile; what was erased is not in it; a handle exports only what it may see; nothing that exists
is overwritten.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from recollect.errors import Conflict, InvalidInput
from recollect.exchange.logical import LogicalDigest
from recollect.exchange.outward import COMPLETE, WRITERS, Whole
from recollect.index.frame_rows import frame_of
from recollect.index.graph import Ask, links_around
from recollect.index.reads import Reads
from recollect.index.statements import NOW
from recollect.index.values import episode_of, link_of, record_of
from recollect.memory.checking import require_last
from recollect.memory.documents import Documents
from recollect.memory.graph import whole
from recollect.memory.handle import Handle
from recollect.model import limits
from recollect.model.frames import Frame
from recollect.model.values import Document, Episode, Exported, Graph, Link, Record
from recollect.store.disk import make_folder, replace_file, sync_folder, write_file
from recollect.store.exports import note_export
from recollect.store.layout import half_made
from recollect.store.port import Progress
from recollect.store.seam import Seam

if TYPE_CHECKING:  # pages are loaded only by exports of them
    from recollect.mirror.gather import Made

_PAGE: Final = 1_000
_LINKS_MAX_COUNT: Final = 1_000_000  # of one record
_STATUSES: Final = ("active", "inbox", "held", "archived", "forgotten")
PAGES: Final = "pages"
FOLDERS: Final = ("workspace", PAGES)
FORMATS: Final = (*WRITERS, *FOLDERS)


def run_export(handle: Handle, format: str, target: Path, progress: Progress | None) -> Exported:
    """Writes what this handle sees to a new file or folder."""
    if format not in FORMATS:
        raise InvalidInput(
            f"{format!r} is not a format of export", hint=f"use one of: {', '.join(FORMATS)}"
        )
    if target.exists() or target.is_symlink():
        raise Conflict(f"{target} exists already", hint="name another one")
    if handle.actor.user is None and handle.space.widest is None:
        require_last(handle)  # only those who may read the whole ledger can compare it
    exporting = Exporting(handle, progress)
    try:
        exporting.note(target)
        if format in FOLDERS:
            return exporting.folder(format, target)
        digest = LogicalDigest()
        size = replace_file(handle.seam, target, WRITERS[format](digest.over(exporting.whole())))
    except OSError as error:
        raise InvalidInput(f"{target} could not be written: {error.strerror}") from error
    done = exporting.report(format, str(target), size)
    return msgspec.structs.replace(done, digest=digest.hexdigest()) if format in COMPLETE else done


class Exporting:
    """Reads a memory page by page, at one position."""

    def __init__(self, handle: Handle, progress: Progress | None = None) -> None:
        position = handle.position
        if position == NOW:
            head = handle.space.head()
            handle, position = handle.moved(head.seq, head.at), head.seq
        self._handle = handle
        self._position = position
        self._progress = progress
        self._count = {"records": 0, "episodes": 0, "links": 0}

    def note(self, target: Path) -> None:
        """Lists an export that is about to be written in the workspace: erasing removes it."""
        space = self._handle.space
        note_export(self._handle.seam, Path(space.where), space.name, target, self._position)

    def whole(self) -> Whole:
        """The memory; each part is read when it is asked for."""
        return Whole(
            space=self._handle.space.name,
            position=self._position,
            records=self._records,
            episodes=self._episodes,
            links=self._links,
            frames=self._frames,
            documents=self._documents,
            graph=self._graph,
        )

    def folder(self, format: str, target: Path) -> Exported:
        """Writes a format that is a folder."""
        made = self._pages_made() if format == PAGES else []
        files = _page_files(made) if format == PAGES else self._workspace()
        size = _new_folder(self._handle.seam, target, files)
        return msgspec.structs.replace(self.report(format, str(target), size), pages=len(made))

    def _pages_made(self) -> list[Made]:
        from recollect.memory.page_sources import every_page  # only this format needs pages

        with self._handle.reading() as reads:
            return every_page(self._handle, reads)

    def _workspace(self) -> Iterator[tuple[str, bytes]]:
        from recollect.exchange.workspace_files import workspace_files

        records = (record for page in self._graph() for record in page.records)
        links = (link for page in self._graph() for link in page.links)
        return workspace_files(records, links, self._documents())

    def report(self, format: str, target: str, size_bytes: int) -> Exported:
        """What was written."""
        return Exported(
            format=format,
            target=target,
            position=self._position,
            size_bytes=size_bytes,
            records=self._count["records"],
            episodes=self._count["episodes"],
            links=self._count["links"],
        )

    def _records(self) -> Iterator[Record]:
        self._count["records"] = 0
        for page in self._pages():
            for record in page:
                self._count["records"] += 1
                yield record

    def _pages(self) -> Iterator[list[Record]]:
        before = self._position + 1
        user = self._handle.actor.user
        while True:
            with self._handle.reading() as reads:
                rows = reads.listing(_STATUSES, user, before, _PAGE)
            if not rows:
                return
            before = rows[-1].seq
            if self._progress is not None:
                self._progress(self._position - before, self._position)
            yield [record_of(row) for row in rows if self._handle.may_see(row)]

    def _episodes(self) -> Iterator[Episode]:
        before = self._position + 1
        while True:
            with self._handle.reading() as reads:
                rows = reads.episodes(before, _PAGE)
            if not rows:
                return
            before = rows[-1].seq
            for row in rows:
                if self._handle.may_see(row):
                    self._count["episodes"] += 1
                    yield episode_of(row)

    def _links(self) -> Iterator[Link]:
        ask = Ask(direction="out", held=True)
        for page in self._pages():
            ids = [record.id for record in page]
            with self._handle.reading() as reads:
                rows = links_around(reads, ids, ask, _LINKS_MAX_COUNT) if ids else []
                rows = [row for row in rows if self._sees(reads, row.target)]
            for row in rows:
                self._count["links"] += 1
                yield link_of(row)

    def _sees(self, reads: Reads, id: str) -> bool:
        """True if the handle may know of what a link leads to."""
        row = None if self._handle.actor.user is None else reads.version(id) or reads.episode(id)
        return row is None or self._handle.may_see(row)

    def _graph(self) -> Iterator[Graph]:
        self._count["records"] = self._count["links"] = 0
        after: str | None = None
        while True:
            page = whole(self._handle, (), frozenset(), _PAGE, after)
            self._count["records"] += len(page.records)
            self._count["links"] += len(page.links)
            yield page
            if not page.more:
                return
            after = page.records[-1].id

    def _frames(self) -> Iterator[Frame]:
        if self._handle.actor.user is not None:
            return
        with self._handle.reading() as reads:
            rows = reads.frames()
        yield from map(frame_of, rows)

    def _documents(self) -> Iterator[Document]:
        if self._handle.actor.user is not None:
            return
        documents, after = Documents(self._handle), None
        while page := documents.list(limit=limits.LIST_MAX_DOCUMENTS, after=after):
            yield from page
            after = page[-1].id


def _page_files(made: list[Made]) -> Iterator[tuple[str, bytes]]:
    from recollect.memory.page_plans import every_file

    return ((name, file.data or b"") for name, file in every_file(made).items())


def _new_folder(seam: Seam, target: Path, files: Iterable[tuple[str, bytes]]) -> int:
    """Writes files to a folder that gets its name when all of them are there."""
    fresh = half_made(target)
    if fresh.is_dir() and not fresh.is_symlink():
        _remove(seam, fresh)  # of an export that was stopped
    seam.mkdir(fresh)
    size = 0
    for name, data in files:
        file = fresh / name
        if not file.parent.exists():
            make_folder(seam, file.parent)
        size += write_file(seam, file, [data])
    seam.replace(fresh, target)
    sync_folder(seam, target.parent)
    return size


def _remove(seam: Seam, folder: Path) -> None:
    for path, _, names in os.walk(folder, topdown=False):
        for name in names:
            seam.unlink(Path(path) / name)
        seam.rmdir(Path(path))
