"""Hand edits on pages, compared with the memory.

Responsible for what a person changed in a folder of pages: each file against the ledger at the
position that it shows, and against the memory as it is now. Leaves applying changes to
``memory.pages.edits`` and the comparison of one entry to ``mirror.merge``. Invariants: the past
comes from the ledger, never from a cache; nothing here writes; what cannot be read is reported.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from recollect.index.reads import Reads
from recollect.index.rows import DocumentRow, VersionRow, unpack_object
from recollect.memory.handle.handle import Handle
from recollect.memory.pages.compared_folder import Folder
from recollect.memory.pages.page_gaps import deleted_entries, deleted_files, entries_on
from recollect.mirror import words
from recollect.mirror.foreign import moments
from recollect.mirror.gather import About, Made, Material, gather
from recollect.mirror.merge import SUPERSEDES, Known, Merge, fields_changed, known, says
from recollect.mirror.names import (
    DOCUMENT,
    FLAG,
    about_of,
    document_name,
    is_page_name,
    page_of,
    title_of,
)
from recollect.mirror.page import SUFFIX, Entry, Page, Reading
from recollect.mirror.parse import of_record, parse
from recollect.model.values import PageChange, PageChanges, PageProblem
from recollect.store.pages.page_files import PageFile, changed_files
from recollect.store.pages.page_notes import notes_for

_UNKNOWN: Final = "{} is not in this memory: erased, or never there"
_STAYS: Final = {
    "description": "description stays {}: change it here, or with `recollect pages describe`",
    "tags": "tags stay {}: `tags: []` removes them",
}
_NOW: Final = ("", "today", "now")  # in place of a date
_NEVER: Final = "1970-01-01T00:00:00.000000Z"  # an instant that is not compared


class FilePlan(NamedTuple):
    """One file: what was read, and what a person changed."""

    name: str
    digest: str
    page: Page
    about: str | None  # what new entries are about
    changes: tuple[PageChange, ...]
    problems: tuple[PageProblem, ...]
    unknown: tuple[Entry, ...] = ()  # with ids that are not in this memory
    is_foreign: bool = False  # no id on it is in this memory, so its position is of another one

    @property
    def is_kept(self) -> bool:
        """True if the file holds something that the memory would not give back."""
        return any(problem.keeps for problem in self.problems)

    @property
    def is_settled(self) -> bool:
        """True if the memory says all that the file says."""
        return not self.is_kept and not self.changes


class Comparison:
    """A folder of pages against the memory; each call of ``files`` looks at both again."""

    def __init__(
        self, handle: Handle, folder: Path, made: Callable[[Reads, str | None], list[Made]]
    ) -> None:
        self.handle = handle
        self.folder = folder
        self.foreign: Collection[str] = ()  # files from elsewhere whose entries are here by now
        self.pages = made

    def files(self) -> list[FilePlan]:
        """Every file that is not as a rendering left it, and those that were deleted."""
        with self.handle.reading() as reads:
            notes, is_known = notes_for(reads, self.folder)
            found = list(changed_files(self.folder, notes))
            texts = {file.name: file.text for file in found if file.text is not None}
            read = {name: parse(name.removesuffix(SUFFIX), text) for name, text in texts.items()}
            made, pages = self.pages, read.values()
            state = Folder(self.handle, reads, self.folder, made, pages, self.foreign)
            plans = [_compared(state, reads, file, read.get(file.name)) for file in found]
            if not is_known:  # nothing tells which files were there
                return plans
            gone = deleted_files(state.sources, reads, self.folder, notes, state.ids)
            return [*plans, *map(_gone, gone)]


def _compared(state: Folder, reads: Reads, file: PageFile, reading: Reading | None) -> FilePlan:
    name = file.name.removesuffix(SUFFIX)
    if reading is None:
        problem = PageProblem(file=file.name, line=0, message=file.problem)
        return FilePlan(file.name, file.digest, Page(name), None, (), (problem,))
    return (
        _OneFile(state, reads, file, reading).plan()
        if is_page_name(name)
        else _misnamed(file, reading)
    )


def _gone(problem: PageProblem) -> FilePlan:
    return FilePlan(problem.file, "", Page(problem.file.removesuffix(SUFFIX)), None, (), (problem,))


class _OneFile:
    """One file that is compared."""

    def __init__(self, folder: Folder, reads: Reads, file: PageFile, reading: Reading) -> None:
        self._folder, self._reads, self._file, self._reading = folder, reads, file, reading
        self._read = reading.page
        self._name = reading.page.name
        last = reads.position()
        at = self._read.position
        ids = entries_on([reading.page])
        self._is_foreign = file.name in folder.foreign or (
            bool(ids) and not any(folder.row(reads, id) for id in ids)
        )
        is_here = "position" in reading.said and 0 < at <= (last.seq if last else 0)
        has_position = is_here and not self._is_foreign
        self._then = Reads(reads.db, at=at) if has_position else None
        self._problems: list[PageProblem] = []
        self._unknown: list[Entry] = []
        self._changes: list[PageChange] = []
        self._rows: dict[str, VersionRow] = {}  # as they are now
        self._base: dict[str, VersionRow] = {}
        self._moments: list[datetime | None] = []  # when each entry was said
        self._is_copied = False  # an entry is also on the page that it belongs to

    def plan(self) -> FilePlan:
        """What a person changed in it."""
        for problem in self._reading.problems:
            self._report(problem.line, problem.message)
        if self._file.text and self._file.text.strip():
            self._find_rows()
            self._read = self._read._replace(entries=tuple(self._with_records()))
            self._entries()
            self._sessions()
            self._fields()
        self._deleted()
        return FilePlan(
            self._file.name,
            self._file.digest,
            self._read,
            self._about(),
            tuple(self._changes),
            tuple(self._problems),
            tuple(self._unknown),
            self._is_foreign,
        )

    def _deleted(self) -> None:
        """Entries that a person took off the page; an empty file has lost all of them."""
        is_empty = not (self._file.text and self._file.text.strip())
        if self._then is not None or is_empty:
            sources, then = self._folder.sources, self._then or self._reads
            gone = deleted_entries(sources, then, self._name, self._folder.ids)
            self._problems += [] if gone is None else [gone]

    def _report(self, line: int, message: str, *, keeps: bool = True) -> None:
        self._problems.append(
            PageProblem(file=self._file.name, line=line, message=message, keeps=keeps)
        )

    def _find_rows(self) -> None:
        for entry in self._read.entries:
            if entry.id is not None and not entry.is_session:
                row = self._folder.row(self._reads, entry.id)
                if row is not None:
                    self._rows[row.id] = row
                    then = row if self._then is None else self._folder.row(self._then, entry.id)
                    self._base |= {} if then is None else {row.id: then}
        if self._rows and self._then is None and not self._is_foreign:
            self._report(0, "no position: compared with the memory as it is now", keeps=False)

    def _with_records(self) -> Iterator[Entry]:
        """The entries, each read with the record that the page showed."""
        for entry, part in zip(self._read.entries, self._reading.parts, strict=True):
            row = None if entry.is_session else self._base.get(entry.id or "")
            if row is None:
                yield entry
            else:
                base = known(row)
                yield of_record(entry, part, base.text, was_struck=base.state == "struck")

    @property
    def _is_strange(self) -> bool:
        """True if an entry on the page is not in this memory."""
        named = (one.id for one in self._read.entries if one.id and not one.is_session)
        return any(id not in self._rows for id in named)

    def _entries(self) -> None:
        seen, line = set[str](), self._reading.head.count("\n") + 1
        broken = [problem.line for problem in self._reading.problems]
        dates, offset = (one.at for one in self._read.entries), self._folder.handle.actor.tz_minutes
        self._moments = [*moments(dates, offset)]  # of new entries: local time is that of now
        for number, entry in enumerate(self._read.entries):
            end = line + self._reading.parts[number].count("\n")
            last = end - self._reading.parts[number].endswith("\n")
            is_broken = any(line <= at <= last for at in broken)
            if not entry.is_session and entry.text and entry.id not in seen:
                if is_broken:
                    if entry.id is not None and entry.id not in self._rows:
                        self._report(line, _UNKNOWN.format(entry.id))
                elif entry.id is None:
                    self._new(number, line, entry)
                else:
                    seen.add(entry.id)
                    self._known(line, entry, entry.id)
            line = end

    def _known(self, line: int, entry: Entry, id: str) -> None:
        row = self._rows.get(id)
        if row is None:
            self._report(line, _UNKNOWN.format(id))
            self._unknown.append(entry)
            return
        base = self._base.get(id)
        if words.date_of(entry.at) is None:
            keeps = f"{id} keeps its date, because {entry.at!r} is not one"
            self._report(line, keeps, keeps=False)
        said = {words.normal(version.text) for version in self._reads.versions(id)}
        merge = Merge(self._name, entry, base and known(base), known(row), said)
        unclear = merge.unclear()
        if unclear is None and merge.is_moved:
            page = merge.now.page
            if self._folder.is_on_file(page, id) or not self._folder.moves(id):
                self._report(line, f"{id} is on two pages: remove it from one of them")
                self._is_copied = True
                return
            merge = merge._replace(base=self._where_it_was(page, id) or merge.base)
        if unclear is not None:
            self._report(line, unclear.message)
            return
        self._changes += merge.changes()

    def _where_it_was(self, page: str, id: str) -> Known | None:
        """A record as the page showed it that its entry was taken from."""
        at, last = self._folder.position_of(page), self._reads.position()
        if not 0 < at <= (last.seq if last else 0):
            return None
        row = self._folder.row(Reads(self._reads.db, at=at), id)
        return None if row is None else known(row)

    def _new(self, number: int, line: int, entry: Entry) -> None:
        """An entry without an id: a new record, unless the memory has it."""
        if entry.struck:
            self._report(line, "a new entry that is struck through")
            return
        replaced = self._replaced(number, entry)
        tags = tuple(tag for tag in entry.tags if not tag.startswith(SUPERSEDES))
        said_at = self._moments[number]
        if said_at is None and entry.at.lower() not in _NOW:
            self._report(line, f"{entry.at!r} is not a date, so today's is taken", keeps=False)
        change = PageChange(
            file=self._file.name,
            ref=f"{self._file.name}#+{number}",
            what="added" if replaced is None else "replaced",
            id=replaced,
            after=entry.text,
            add=tags,
            said_at=None if said_at is None else said_at.isoformat(),
        )
        since = 0 if self._then is None else self._then.at
        for one, added in self._folder.alike(self._reads, entry.text, self._name):
            if one.state == "shown":
                more = tuple(tag for tag in tags if tag not in one.tags)
                self._changes += [_tagging(change, one, more)] if more else []
                return
            if one.why.startswith("waiting for"):
                self._changes.append(msgspec.structs.replace(change, state="waits"))
                return
            if added > since:
                gone = "replaced" if one.state == "struck" else one.why
                self._changes.append(
                    msgspec.structs.replace(change, state="conflict", now=f"({gone})")
                )
                return
        if replaced is None:
            self._changes.append(change)
        else:
            self._succeed(line, replaced, change)

    def _replaced(self, number: int, entry: Entry) -> str | None:
        """The entry that a new one names, or the struck one above that names a successor."""
        if entry.supersedes is not None:
            return entry.supersedes
        named = [tag.removeprefix(SUPERSEDES) for tag in entry.tags if tag.startswith(SUPERSEDES)]
        if named:
            return named[0]
        above = self._read.entries[number - 1] if number else None
        if above is None or not above.struck or above.superseded_by is None:
            return None
        return None if self._reads.has_version(above.superseded_by) else above.id

    def _succeed(self, line: int, old: str, change: PageChange) -> None:
        """A new entry in the place of another one."""
        row = self._rows.get(old) or self._folder.row(self._reads, old)
        if row is None:
            self._report(line, f"{old} is not in this memory, so nothing can replace it")
            return
        now, base = known(row), known(self._base.get(old, row))
        self._changes = [one for one in self._changes if (one.id, one.what) != (old, "struck")]
        is_ready = now.state == "shown" and now.text == base.text
        said = now.text if now.state == "shown" else f"({now.why})"
        self._changes.append(
            msgspec.structs.replace(
                change,
                state="ready" if is_ready else "conflict",
                before=base.text,
                now=said,
                seq=now.seq,
            )
        )

    def _sessions(self) -> None:
        """What was learned in sessions is derived: an edit there is reported."""
        mine = [entry for entry in self._read.entries if entry.is_session]
        if not mine:
            return
        for at in filter(None, (self._reads, self._then)):  # the past only if it is needed
            page = self._folder.exactly(at, self._name)
            told = {(one.id, words.normal(one.text)) for one in (page.entries if page else ())}
            mine = [entry for entry in mine if (entry.id, entry.text) not in told]
            if not mine:
                return
        self._report(0, "what was learned in a session is changed on the records' own pages")

    def _fields(self) -> None:
        if self._is_strange:  # its title may come from what was erased
            return
        if self._is_copied and self._is_new:  # its title is that of the other page
            return
        changes = list(self._field_changes(exact=False))
        if changes and not self._is_new:  # the page's other records may say what it is called
            changes = list(self._field_changes(exact=True))
        if self._then is not None and not self._is_new:
            changes = list(self._without_created(changes))
            self._stays(self._then)
        left_out = ("other", "prose") if self._is_head_broken else ()
        self._changes += [one for one in changes if one.field not in left_out]
        old = self._renamed_from()
        if old is not None and (document_at(self._reads, old) or flag_at(self._reads, old)):
            moved = PageChange(
                file=self._file.name,
                ref=f"{self._file.name}#page:moved",
                what="moved",
                field="page",
                before=old,
                after=self._name,
            )
            self._changes.append(moved)

    @property
    def _is_head_broken(self) -> bool:
        """True if something before the first entry cannot be read."""
        last = self._reading.head.count("\n")
        return any(problem.line <= last for problem in self._reading.problems)

    def _without_created(self, changes: Iterable[PageChange]) -> Iterator[PageChange]:
        """A page that was rendered here was created when the memory says."""
        for change in changes:
            if change.field == "created":
                said = f"created stays {change.now}: nothing changes it after the first time"
                self._report(0, said, keeps=False)
            else:
                yield change

    def _stays(self, then: Reads) -> None:
        """Names what is written again: a description or tags without a line are no edit."""
        before, now = (document_at(reads, self._name) for reads in (then, self._reads))
        if before is None or now is None or self._is_head_broken:
            return
        data, was = unpack_object(now.data), unpack_object(before.data)
        for field, said in _STAYS.items():
            value = data.get(field)
            if value and was.get(field) and not says(self._read, self._reading.said, field):
                shown = ", ".join(map(str, value)) if isinstance(value, list) else repr(value)
                self._report(0, said.format(shown), keeps=False)

    def _field_changes(self, *, exact: bool) -> Iterator[PageChange]:
        now, base = document_at(self._reads, self._name), self._base_page(exact)

        def current() -> Page:
            if not self._is_new:
                return self._page(self._reads, self._rows.values(), exact)
            return self._folder.exactly(self._reads, self._name) or base

        seq = 0 if now is None else now.seq
        yield from fields_changed(self._read, self._reading.said, base, current, seq)

    @property
    def _is_new(self) -> bool:
        """True if there was no such page when it was rendered: a new or a renamed file."""
        if any(page_of(row.about) == self._name for row in self._base.values()):
            return False
        return self._folder.exactly(self._then or self._reads, self._name) is None

    def _base_page(self, exact: bool) -> Page:
        """What the page said when it was rendered."""
        then = self._then or self._reads
        if not self._is_new:
            return self._page(then, self._base.values(), exact)
        old = self._renamed_from()
        if old is not None:
            return self._gathered(then, old, self._base.values())
        return Page(self._name, title=title_of(self._about() or self._name))

    def _renamed_from(self) -> str | None:
        """The page that this file was, if it has a new name and no file has the old one."""
        old = {page_of(row.about) for row in self._base.values()} if self._is_new else set[str]()
        gone = [page for page in old if not self._folder.has_file(page)]
        return gone[0] if len(old) == len(gone) == 1 else None

    def _page(self, reads: Reads, rows: Iterable[VersionRow], exact: bool) -> Page:
        found = self._folder.exactly(reads, self._name) if exact else None
        return found or self._gathered(reads, self._name, rows)

    def _gathered(self, reads: Reads, name: str, rows: Iterable[VersionRow]) -> Page:
        """A page from the records of this file alone."""
        about, flag = (_about_page(reads, type, name) for type in (DOCUMENT, FLAG))
        material = Material(list(rows), about, (), (_NEVER, 0), flag)
        pages = [one.page for one in gather(material) if one.page.name == name]
        return pages[0] if pages else Page(name, title=title_of(name))

    def _about(self) -> str | None:
        """What a new entry on this page is about: as its records say it, or its title."""
        for row in self._rows.values():
            if page_of(row.about) == self._name:
                return row.about
        return about_of(self._name, self._read.title)


def _tagging(change: PageChange, one: Known, more: tuple[str, ...]) -> PageChange:
    """A new entry that the page has already, with tags that it does not have."""
    return msgspec.structs.replace(
        change, what="tags", id=one.id, add=more, seq=one.seq, before=one.text, after=one.text
    )


def _misnamed(file: PageFile, reading: Reading) -> FilePlan:
    """A file that is not a page: other Markdown may be there too; entries are worth a word."""
    name = reading.page.name
    whole = unicodedata.normalize("NFC", name)
    is_split = name != whole and is_page_name(whole)  # as some systems write it; it looks the same
    said = f"not the name of a page: rename it to {page_of(name)}{SUFFIX} to take it over"
    if is_split:
        said = (
            "its name has split letters (Unicode form NFD), that of the page has whole ones (NFC): "
            f"rename it to {whole}{SUFFIX}; if that file is there too, move your changes to it"
        )
    problem = PageProblem(file=file.name, line=0, message=said)
    problems = (problem,) if is_split or reading.page.entries else ()
    return FilePlan(file.name, file.digest, reading.page, None, (), problems)


def _about_page(reads: Reads, type: str, page: str) -> dict[str, About]:
    row = reads.document(type, document_name(page))
    return {} if row is None else {page: About(unpack_object(row.data), row.at, row.seq)}


def document_at(reads: Reads, page: str) -> DocumentRow | None:
    """The document that describes a page."""
    return reads.document(DOCUMENT, document_name(page))


def flag_at(reads: Reads, page: str) -> DocumentRow | None:
    """The document that flags a page."""
    return reads.document(FLAG, document_name(page))


def shown(folder: Path, files: Iterable[FilePlan]) -> PageChanges:
    """The changes as a caller sees them, with a digest that stands for exactly these."""
    found = list(files)
    changes = tuple(change for file in found for change in file.changes)
    said = [file for file in found if file.changes or file.unknown]
    bound = [(file.name, file.digest, file.changes) for file in said]
    return PageChanges(
        folder=str(folder),
        changes=changes,
        problems=tuple(problem for file in found for problem in file.problems),
        unknown=sum(len(file.unknown) for file in found),
        digest=sha256(msgspec.json.encode(bound)).hexdigest(),
    )
