"""An export: what a memory holds at one position, written to a file.

Responsible for reading page by page and for writing the file whole or not at all. Leaves formats
to ``exchange.outward``. Invariants: one position is read, also if others write meanwhile; what was
erased is not in it; a handle exports only what it may see; an existing file is not overwritten.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from recollect.errors import Conflict, InvalidInput
from recollect.exchange.outward import WRITERS, Whole
from recollect.index.frame_rows import frame_of
from recollect.index.graph import Ask, links_around
from recollect.index.statements import NOW
from recollect.index.values import episode_of, link_of, record_of
from recollect.memory.documents import Documents
from recollect.memory.handle import Handle
from recollect.model import limits
from recollect.model.frames import Frame
from recollect.model.values import Document, Episode, Exported, Link, Record
from recollect.store.disk import replace_file
from recollect.store.port import Progress

_PAGE: Final = 1_000
_LINKS_MAX_COUNT: Final = 1_000_000  # of one record
_STATUSES: Final = ("active", "inbox", "held", "archived", "forgotten")
FORMATS: Final = tuple(WRITERS)


def run_export(handle: Handle, format: str, target: Path, progress: Progress | None) -> Exported:
    """Writes what this handle sees to a file."""
    if format not in WRITERS:
        raise InvalidInput(
            f"{format!r} is not a format of export", hint=f"use one of: {', '.join(FORMATS)}"
        )
    if target.exists() or target.is_symlink():
        raise Conflict(f"{target} exists already", hint="name another file")
    exporting = Exporting(handle, progress)
    try:
        size = replace_file(handle.seam, target, WRITERS[format](exporting.whole()))
    except OSError as error:
        raise InvalidInput(f"{target} could not be written: {error.strerror}") from error
    return exporting.report(format, str(target), size)


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
        )

    def report(self, format: str, target: str, size_bytes: int) -> Exported:
        """What was written."""
        return Exported(
            format=format,
            target=target,
            position=self._position,
            size_bytes=size_bytes,
            **self._count,
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
            for row in rows:
                self._count["links"] += 1
                yield link_of(row)

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
