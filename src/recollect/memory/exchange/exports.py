"""An export: what a memory holds at one position, written to a file or a folder.

Responsible for reading page by page and for writing it whole or not at all. Leaves formats to
``exchange.outward`` and pages to ``mirror``. Invariants: one position is read, also if others write
meanwhile; what was erased is not in it; a handle exports only what it may see; nothing that exists
is overwritten.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

import msgspec

from recollect.errors import Conflict, InvalidInput
from recollect.exchange.logical import LogicalDigest
from recollect.exchange.outward import COMPLETE, WRITERS, Whole
from recollect.index.graph import Ask, links_around
from recollect.index.preset_rows import preset_of
from recollect.index.reads import Reads
from recollect.index.statements import NOW
from recollect.index.values import episode_of, link_of, record_of
from recollect.memory.documents import Documents
from recollect.memory.graph.graph import whole
from recollect.memory.handle.handle import Handle
from recollect.memory.proof.verification import require_last
from recollect.model import limits
from recollect.model.presets import Preset
from recollect.model.validate import Json
from recollect.model.values import Document, Episode, Exported, Graph, Link, Record
from recollect.store.disk.disk import make_folder, new_token, put_new, write_file
from recollect.store.disk.layout import half_made_apart
from recollect.store.exports import Digests, note_export
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


def run_export(
    handle: Handle,
    format: str,
    target: Path,
    progress: Progress | None,
    log: Sequence[dict[str, Json]] = (),
) -> Exported:
    """Writes what this handle sees to a new file or folder; ``log`` has the events of a graph."""
    if format not in FORMATS:
        raise InvalidInput(
            f"{format!r} is not a format of export", hint=f"use one of: {', '.join(FORMATS)}"
        )
    if target.exists() or target.is_symlink():
        raise Conflict(f"{target} exists already", hint="name another one")
    if handle.actor.user is None and handle.space.widest is None:
        require_last(handle)  # only those who may read the whole ledger can compare it
    exporting = Exporting(handle, progress, log)
    try:
        with _Place(exporting, handle.seam, target) as place:
            return (
                exporting.folder(format, place)
                if format in FOLDERS
                else exporting.file(format, place)
            )
    except FileExistsError as error:
        raise Conflict(f"{target} exists already", hint="name another one") from error
    except OSError as error:
        raise InvalidInput(f"{target} could not be written: {error.strerror}") from error


class _Place:
    """Where an export is written: under another name until it is whole, and listed before that."""

    def __init__(self, exporting: Exporting, seam: Seam, target: Path) -> None:
        self.target = target
        self._exporting = exporting
        self._seam = seam
        self._token = new_token(seam)
        self._fresh = half_made_apart(target, self._token)
        self._digests = Digests()

    def __enter__(self) -> Self:
        self._exporting.note(self.target, self._token)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            with suppress(OSError):
                _remove(self._seam, self._fresh)

    def write(self, pieces: Iterable[bytes]) -> int:
        """Writes an export that is one file."""
        size = write_file(self._seam, self._fresh, self._digests.over(pieces), is_new=True)
        self._finish()
        return size

    def write_folder(self, files: Iterable[tuple[str, bytes]]) -> int:
        """Writes an export that is a folder."""
        size = 0
        self._seam.mkdir(self._fresh)
        for name, data in files:
            file = self._fresh / name
            if not file.parent.exists():
                make_folder(self._seam, file.parent)
            size += write_file(self._seam, file, self._digests.over([data], name))
        self._finish()
        return size

    def _finish(self) -> None:
        self._exporting.note(self.target, self._token, self._digests.files)
        put_new(self._seam, self._fresh, self.target)


class Exporting:
    """Reads a memory page by page, at one position."""

    def __init__(
        self,
        handle: Handle,
        progress: Progress | None = None,
        log: Sequence[dict[str, Json]] = (),
    ) -> None:
        position = handle.position
        if position == NOW:
            head = handle.space.head()
            handle, position = handle.moved(head.seq, head.at), head.seq
        self._handle = handle
        self._position = position
        self._progress = progress
        self._log = log
        self._count = {"records": 0, "episodes": 0, "links": 0}

    def note(self, target: Path, token: str, files: dict[str, str] | None = None) -> None:
        """Lists an export that is written in the workspace: erasing removes it."""
        space, seq = self._handle.space, self._position
        where = Path(space.where)
        note_export(self._handle.seam, where, space.name, target, seq, token, files)

    def whole(self) -> Whole:
        """The memory; each part is read when it is asked for."""
        return Whole(
            space=self._handle.space.name,
            position=self._position,
            records=self._records,
            episodes=self._episodes,
            links=self._links,
            presets=self._presets,
            documents=self._documents,
            graph=self._graph,
            log=self._log,
        )

    def file(self, format: str, place: _Place) -> Exported:
        """Writes a format that is one file."""
        digest = LogicalDigest()
        size = place.write(WRITERS[format](digest.over(self.whole())))
        done = self.report(format, str(place.target), size)
        is_complete = format in COMPLETE
        return msgspec.structs.replace(done, digest=digest.hexdigest()) if is_complete else done

    def folder(self, format: str, place: _Place) -> Exported:
        """Writes a format that is a folder."""
        made = self._pages_made() if format == PAGES else []
        size = place.write_folder(_page_files(made) if format == PAGES else self._workspace())
        done = self.report(format, str(place.target), size)
        return msgspec.structs.replace(done, pages=len(made))

    def _pages_made(self) -> list[Made]:
        from recollect.memory.pages.page_sources import every_page  # only this format needs pages

        with self._handle.reading() as reads:
            return every_page(self._handle, reads)

    def _workspace(self) -> Iterator[tuple[str, bytes]]:
        from recollect.exchange.workspace import workspace_files

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

    def _presets(self) -> Iterator[Preset]:
        if self._handle.actor.user is not None:
            return
        with self._handle.reading() as reads:
            rows = reads.presets()
        yield from map(preset_of, rows)

    def _documents(self) -> Iterator[Document]:
        if self._handle.actor.user is not None:
            return
        documents, after = Documents(self._handle), None
        while page := documents.list(limit=limits.LIST_MAX_DOCUMENTS, after=after):
            yield from page
            after = page[-1].id


def _page_files(made: list[Made]) -> Iterator[tuple[str, bytes]]:
    from recollect.memory.pages.page_plans import every_file

    return ((name, file.data or b"") for name, file in every_file(made).items())


def _remove(seam: Seam, fresh: Path) -> None:
    """Removes what was written of an export that failed."""
    if not fresh.is_dir():
        seam.unlink(fresh)
        return
    for path, _, names in os.walk(fresh, topdown=False):
        for name in names:
            seam.unlink(Path(path) / name)
        seam.rmdir(Path(path))
