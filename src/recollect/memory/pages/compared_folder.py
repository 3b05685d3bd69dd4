"""A folder of pages while its files are compared with the memory.

Responsible for what the files of one comparison share: pages as they were at a position, what
stands on which file, and records that say the same. Leaves what a person changed to
``memory.pages.sync``. Invariant: nothing here writes.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from recollect.index.reads import Reads
from recollect.index.rows import VersionRow, content_id
from recollect.index.statements import NOW
from recollect.memory.handle.handle import Handle
from recollect.memory.pages.page_gaps import entries_on
from recollect.memory.pages.page_sources import Sources
from recollect.mirror.gather import Made
from recollect.mirror.merge import Known, known
from recollect.mirror.names import page_of
from recollect.mirror.page import SUFFIX, Page, Reading
from recollect.mirror.parse import parse
from recollect.store.pages.page_files import read_page


class Folder:
    """What the files of one comparison share."""

    def __init__(
        self,
        handle: Handle,
        reads: Reads,
        folder: Path,
        made: Callable[[Reads, str | None], list[Made]],
        read: Iterable[Reading],
        foreign: Collection[str],
    ) -> None:
        self.handle = handle
        self.folder = folder
        self.foreign = foreign
        self.ids = entries_on(one.page for one in read)  # on any of the files that were changed
        self._made = made
        self.sources = Sources(handle, reads)
        self._exactly: dict[int, dict[str, Page]] = {}
        self._elsewhere: dict[str, Page] = {}
        self._moved: set[str] = set()

    def row(self, reads: Reads, id: str) -> VersionRow | None:
        """A record that this handle sees."""
        row = reads.version(id)
        return row if row is not None and self.handle.may_see(row) else None

    def exactly(self, reads: Reads, name: str) -> Page | None:
        """A page as it was rendered at a position, made from every record."""
        if reads.at == NOW:
            return next((one.page for one in self._made(reads, name)), None)
        if reads.at not in self._exactly:
            self._exactly[reads.at] = {one.page.name: one.page for one in self._made(reads, None)}
        return self._exactly[reads.at].get(name)

    def is_on_file(self, page: str, id: str) -> bool:
        """True if the file of a page has an entry with this id."""
        return any(entry.id == id for entry in self._read(page).entries)

    def position_of(self, page: str) -> int:
        """The position that the file of a page shows; 0 for none."""
        return self._read(page).position

    def _read(self, page: str) -> Page:
        if page not in self._elsewhere:
            text = read_page(self.folder, self._file_of(page)).text or ""
            self._elsewhere[page] = parse(page, text).page
        return self._elsewhere[page]

    def has_file(self, page: str) -> bool:
        """True if a page is in the folder."""
        return os.path.lexists(self.folder / self._file_of(page))

    def _file_of(self, page: str) -> str:
        """The name of a page's file; in the form that is reported, if only that one is there."""
        names = [unicodedata.normalize(form, f"{page}{SUFFIX}") for form in ("NFC", "NFD")]
        return next((name for name in names if os.path.lexists(self.folder / name)), names[0])

    def moves(self, id: str) -> bool:
        """True the first time that an entry is found on a page that is not its own."""
        is_first = id not in self._moved
        self._moved.add(id)
        return is_first

    def alike(self, reads: Reads, text: str, page: str) -> list[tuple[Known, int]]:
        """Records on a page with exactly this text, in any state, and when they were added."""
        rows = [row for row in reads.by_alias(content_id(text)) if row.text == text]
        return [
            (known(row), reads.versions(row.id)[0].seq)
            for row in rows
            if page_of(row.about) == page and self.handle.may_see(row)
        ]
