"""Pages in a folder: written, compared and removed.

Responsible for the files, for what is remembered about them and for what a person changed in them.
Leaves the text of pages to ``mirror`` and when to write to ``memory.pages``. Invariants: a file
is overwritten or removed only if this memory said all that it says, or after it was kept aside; no
link is followed; what a page shows is noted before its first byte is written, so that an erasure
finds it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from msgspec import structs

from recollect.errors import ConfigError, Unavailable
from recollect.mirror.names import INDEX, PROFILE
from recollect.mirror.page import SUFFIX
from recollect.mirror.parse import parse
from recollect.mirror.render import added_to_index
from recollect.store import posix
from recollect.store.disk.disk import alone, make_folder, replace_file, sync_folder, write_file
from recollect.store.disk.layout import (
    OURS,
    PAGE_FOLDERS,
    PAGES_ASIDE,
    PAGES_STATE,
    half_made_apart,
)
from recollect.store.disk.regular_files import read_regular
from recollect.store.pages.page_entries import Derived, Gone, changed_names, take_out
from recollect.store.pages.page_files import unchecked
from recollect.store.pages.page_notes import (
    FILE_MAX_BYTES,
    Noted,
    Notes,
    Stamp,
    file_digest,
    is_file,
    is_plain,
    keep_notes,
    packed,
    read_notes,
    unpacked,
)
from recollect.store.seam import Seam

_INDEX: Final = f"{INDEX}{SUFFIX}"
_NAP_S: Final = 0.02
_NAPS: Final = 150  # how often an erasure looks whether a rendering has ended


_UNKNOWN: Final = Noted("", (), "")  # a file that counts as a person's
Over = Literal["", "aside", "gone"]  # what becomes of a file that a person changed


class Wanted(NamedTuple):
    """A file as it should be, and the events whose words it shows."""

    digest: str
    events: str  # packed
    title: tuple[int, ...]  # those that its title and description come from
    data: bytes | None  # None if the file has this digest already


class Plan(NamedTuple):
    """Every file as it should be, by its name."""

    files: Mapping[str, Wanted]
    position: int  # of the memory
    made: str = ""  # see ``Notes``; empty if the next rendering has to make every page
    memory: str = ""  # see ``page_notes.bond_of``


class Compared(NamedTuple):
    """The names of files, by what a rendering would do with them."""

    same: list[str]
    new: list[str]  # not there
    old: list[str]  # as an earlier rendering left them
    edited: list[str]  # changed by a person, or not files
    extra: list[str]  # rendered before, and not wanted any more
    digests: dict[str, str]  # of the files that are there
    stamps: dict[str, Stamp]
    aside: tuple[str, ...] = ()  # where files that a person changed are now


class Desk:
    """A folder of pages that no other process is writing."""

    def __init__(self, seam: Seam, folder: Path) -> None:
        self._seam = seam
        self._folder = folder
        self.notes = read_notes(folder) or Notes()

    def note(self, plan: Plan) -> None:
        """Notes what is about to be written, beside what was written before."""
        both = dict(self.notes.pages)
        for name, page in plan.files.items():
            before = both.get(name)
            if before is None:
                both[name] = Noted(page.digest, (), page.events, page.title)
            elif page.digest not in before.digests:
                both[name] = _joined(before, page)
        if both != self.notes.pages:
            self._keep(Notes(both, memory=plan.memory, through=plan.position))

    def write(
        self,
        plan: Plan,
        *,
        overwrite: Over = "",
        settled: Mapping[str, str] | None = None,
    ) -> Compared | None:
        """Makes the folder show what is wanted; returns what was found before.

        ``settled`` names files by the digest of what was read from them: they are overwritten
        unless they have changed since. ``overwrite`` says what becomes of the other files that a
        person changed: they stay, are kept "aside", or are "gone". None, and nothing is done, if a
        file that the plan takes from the last rendering is not there any more.
        """
        wanted, found = plan.files, compare(self._folder, self.notes, plan.files, settled or {})
        over = [name for name in found.edited if overwrite and is_file(self._folder / name)]
        due = (*found.new, *found.old, *found.extra, *over)
        data = {name: wanted[name].data for name in due if name in wanted}
        if None in data.values():
            return None
        kept = [name for name in found.edited if name not in over]
        stamps = {name: found.stamps[name] for name in found.same}
        aside = [self.set_aside(name) for name in over if overwrite != "gone"]
        aside += self._index_aside(wanted) if _INDEX in found.old and overwrite != "gone" else []
        for name in due:
            is_due = partial(self._is_as_found, found, name) if overwrite != "gone" else None
            if self._put(name, data.get(name), is_due):
                stamps |= self._stamp(name, wanted[name].digest) if name in data else {}
            else:
                kept.append(name)  # saved by a person a moment ago
        self._note_after(plan, stamps, kept)
        left = set(kept)
        new, old, extra = (
            [name for name in names if name not in left]
            for names in (found.new, [*found.old, *over], found.extra)
        )
        return found._replace(
            new=new, old=old, extra=extra, edited=sorted(kept), aside=tuple(aside)
        )

    def _index_aside(self, wanted: Mapping[str, Wanted]) -> list[str]:
        """Keeps aside what is only in the index that is there."""
        after = wanted[_INDEX].data or b""

        def says(name: str, description: str) -> bool:
            file = f"{name}{SUFFIX}"
            places = (self._folder, self._folder / PAGES_ASIDE) if is_plain(file) else ()
            texts = ((read_page(place, file) or b"").decode(errors="replace") for place in places)
            said = (parse(name, text).page.description for text in texts)
            return description.encode() in after or description in said

        noted, (digest, _) = self.notes.pages.get(_INDEX), self._found(_INDEX)
        if noted is not None and digest in noted.digests:
            return []
        data = read_page(self._folder, _INDEX) or b""
        added = added_to_index(data.decode(errors="replace"), says)
        return [self.set_aside(_INDEX, added)] if added else []

    def _found(self, name: str) -> tuple[str | None, Stamp | None]:
        return file_digest(self._folder, name, self.notes)

    def set_aside(self, name: str, text: str | None = None) -> str:
        """Moves a file to where no rendering looks, or only this text of it; returns where."""
        shelf, stem, number, free = self._folder / PAGES_ASIDE, Path(name).stem, 1, name
        check_folder(shelf)
        make_folder(self._seam, shelf)
        while os.path.lexists(shelf / free):
            number += 1
            free = f"{stem}-{number}{SUFFIX}"
        if text is None:
            self._seam.replace(self._folder / name, shelf / free)
            sync_folder(self._seam, self._folder)
        else:
            write_file(self._seam, shelf / free, [f"{text}\n".encode()])
        sync_folder(self._seam, shelf)
        return f"{PAGES_ASIDE}/{free}"

    def _put(self, name: str, data: bytes | None, is_due: Callable[[], bool] | None) -> bool:
        """Writes a file, or removes it; False if it is not due any more.

        Writing takes as long as the disk needs, so a person may save the page meanwhile.
        """
        path = self._folder / name
        if is_due is not None and not is_due():
            return False
        if data is None:
            if os.path.lexists(path):  # it may be aside now
                self._seam.unlink(path)
            return True
        return replace_file(self._seam, path, [data], is_due, apart=True) > 0

    def _stamp(self, name: str, digest: str) -> dict[str, Stamp]:
        """The stamp of a file that was written; none if it was saved again since."""
        found, stamp = file_digest(self._folder, name, Notes())
        return {name: stamp} if stamp is not None and found == digest else {}

    def _is_as_found(self, found: Compared, name: str) -> bool:
        """True if a file is still what was compared: nothing was saved there meanwhile."""
        return self._found(name)[0] in (None, found.digests.get(name))

    def _note_after(self, plan: Plan, stamps: Mapping[str, Stamp], kept: list[str]) -> None:
        """Notes what was written, and what may still be in the files that were kept."""
        before, wanted = self.notes, plan.files
        pages = {
            name: Noted(page.digest, (), page.events, page.title, stamps.get(name))
            for name, page in wanted.items()
        }
        for name in kept:
            if name not in before.pages:
                pages.pop(name, None)
            elif name in wanted:
                pages[name] = _joined(before.pages[name], wanted[name])
            else:
                pages[name] = before.pages[name]
        is_whole = pages.keys() == wanted.keys()
        made = (plan.position, plan.made) if is_whole else (0, "")
        after = Notes(pages, *made, before.written_ns, plan.memory, plan.position)
        if after != before:
            self._keep(after)
            sync_folder(self._seam, self._folder)

    def _keep(self, notes: Notes) -> None:
        self.notes = keep_notes(self._seam, self._folder, notes)


def _joined(before: Noted, page: Wanted) -> Noted:
    """What is known of a file that may hold either."""
    earlier = dict.fromkeys(before.digests)
    events = packed({*unpacked(before.events), *unpacked(page.events)})
    return Noted(
        page.digest, tuple(one for one in earlier if one != page.digest), events, page.title
    )


@contextmanager
def desk(seam: Seam, folder: Path) -> Iterator[Desk]:
    """Opens a folder for writing pages; other processes wait."""
    try:
        make_folder(seam, folder)
        with alone(seam, folder):
            yield Desk(seam, folder)
    except OSError as error:
        raise Unavailable(
            f"pages could not be written to {folder}: {error.strerror or error}",
            hint="name a folder that you may write",
        ) from error


def own_folders(folder: Path) -> list[Path]:
    """The folders that a space has for pages; the last one is in use."""
    pages, files = (folder / name for name in PAGE_FOLDERS)
    marks = (files / PAGES_STATE, files / f"{PROFILE}{SUFFIX}")  # one of them may be deleted
    is_there = not files.is_symlink() and any(map(os.path.lexists, marks))
    return [pages, files] if is_there else [pages]


def check_folder(folder: Path) -> None:
    """Refuses a link: its author would choose the files that are written."""
    if folder.is_symlink():
        raise ConfigError(
            f"{folder} is a link, which is not followed", hint="name the folder that you want"
        )


def compare(
    folder: Path,
    notes: Notes,
    wanted: Mapping[str, Wanted],
    settled: Mapping[str, str] = MappingProxyType({}),
) -> Compared:
    """What rendering these would find in the folder; changes nothing."""
    found = Compared([], [], [], [], [], {}, {})
    for name in sorted({*wanted, *notes.pages}):  # other files are not ours
        digest, stamp = file_digest(folder, name, notes)
        known = notes.pages[name].digests if name in notes.pages else ()
        if digest is None:
            if name in wanted:
                found.new.append(name)
            continue
        if stamp is not None:
            found.digests[name], found.stamps[name] = digest, stamp
        if name in wanted and digest == wanted[name].digest:
            found.same.append(name)
        elif stamp is None or not (
            digest in (*known, settled.get(name)) or (name == _INDEX and _is_index(folder))
        ):
            found.edited.append(name)
        else:
            (found.old if name in wanted else found.extra).append(name)
    return found


def _is_index(folder: Path) -> bool:
    """True for an index of pages, whatever a person added to it."""
    data = read_page(folder, _INDEX) or b""
    return added_to_index(data.decode(errors="replace")) is not None


def differing(folder: Path, notes: Notes) -> set[str]:
    """The noted files that are not the ones that were written when they were noted."""
    return {name for name in notes.pages if not is_as_noted(folder, name, notes)}


def is_as_noted(folder: Path, name: str, notes: Notes) -> bool:
    """True if a file was written here and has not changed since.

    The digest is not enough: the notes may come from elsewhere, together with the file.
    """
    noted = notes.pages[name]
    return file_digest(folder, name, notes) == (noted.digest, noted.stamp)


def read_page(folder: Path, name: str) -> bytes | None:
    """The bytes of a file; None if it is not there, or is not a file."""
    path = folder / name
    return read_regular(path, FILE_MAX_BYTES) if is_file(path) else None


def erase_noted(
    seam: Seam,
    folder: Path,
    erased: Collection[int],
    is_ours: Callable[[Notes], bool],
    ids: Collection[str] = (),
) -> list[str]:
    """The same in a folder with other files: removes nothing that was not rendered.

    ``ids`` are those of records that were erased just now.
    """
    if folder.is_symlink() or not folder.is_dir():
        return []
    notes = read_notes(folder)
    if notes is None or not is_ours(notes):
        with _alone_if_possible(seam, folder):
            taken = _taken_out(seam, folder, Notes(), partial(Gone, ids) if ids else None, folder)
        why = "is missing" if notes is None else "is not of this memory"
        return [*taken, f"NOT checked: {folder}, because {PAGES_STATE} {why}"]
    shown = (set(unpacked(note.events)) for note in notes.pages.values())
    if not ids and all(events.isdisjoint(erased) for events in shown):
        return []
    return erase_pages(seam, folder, erased, is_ours, partial(Gone, ids), folder)


def erase_pages(
    seam: Seam,
    folder: Path,
    erased: Collection[int],
    is_ours: Callable[[Notes], bool],
    gone: Callable[[], Gone],
    label: Path | str | None = None,
) -> list[str]:
    """Removes the pages that show one of these events; reports what was done.

    They are rendered again when someone asks for it. From a page that a person changed, and from
    every page if nothing tells who rendered them, only what was erased is taken out.
    """
    if folder.is_symlink() or not folder.is_dir():
        return []
    try:
        return _erase_in(seam, folder, erased, is_ours, gone, label or folder.name)
    except (OSError, Unavailable) as error:  # an erasure ends whatever lies in a folder
        return [f"NOT checked, could not be read or written: {folder}: {error}"]


def _erase_in(
    seam: Seam,
    folder: Path,
    erased: Collection[int],
    is_ours: Callable[[Notes], bool],
    gone: Callable[[], Gone],
    label: Path | str,
) -> list[str]:
    with _alone_if_possible(seam, folder):
        for path in folder.glob(f"{half_made_apart(Path(f'*{SUFFIX}'), OURS)}"):
            seam.unlink(path)
        found = read_notes(folder)
        is_known = found is not None and is_ours(found)
        notes = found if found is not None and is_known else Notes()
        showing = _showing(notes, erased)
        removed = [name for name in showing if _is_rendered(folder, name, notes)]
        kept = {name: note for name, note in notes.pages.items() if name not in showing}
        for name in removed:
            seam.unlink(folder / name)
        if _INDEX in showing or not is_known:
            _erase_index(seam, folder)
        sync_folder(seam, folder)
        taken = _taken_out(seam, folder, Notes(kept), gone, label, showing)
        taken += _taken_out(seam, folder / PAGES_ASIDE, Notes(), gone, f"{label}/{PAGES_ASIDE}")
        if showing or not is_known:
            names = showing if is_known else (found or Notes()).pages
            left = {name: _UNKNOWN for name in names if is_file(folder / name)}
            keep_notes(seam, folder, structs.replace(notes, pages=left | kept, position=0, made=""))
    told = f"{label}/: {len(removed)} removed; render them again"
    lines = [*([told] if removed else []), *taken]
    return [*lines, *unchecked(folder, Notes(kept))]


def _showing(notes: Notes, erased: Collection[int]) -> dict[str, Derived]:
    """The noted pages that show one of these events, and what of them was made from it."""
    gone = set(erased)
    return {
        name: Derived(sessions=True, title=not gone.isdisjoint(note.title))
        for name, note in notes.pages.items()
        if not gone.isdisjoint(unpacked(note.events))
    }


def _is_rendered(folder: Path, name: str, notes: Notes) -> bool:
    """True if a file is there as a rendering left it."""
    try:
        return file_digest(folder, name, notes)[0] in notes.pages[name].digests
    except OSError:  # it is named
        return False


def _erase_index(seam: Seam, folder: Path) -> None:
    """Leaves of an index only what a person added: the rest is rendered again."""
    try:
        added = added_to_index((read_page(folder, _INDEX) or b"").decode())
    except (OSError, UnicodeDecodeError):  # it is named
        return
    if added:
        replace_file(seam, folder / _INDEX, [f"# Index\n\n{added}\n".encode()], apart=True)
    elif added is not None:
        seam.unlink(folder / _INDEX)


def _taken_out(
    seam: Seam,
    folder: Path,
    notes: Notes,
    gone: Callable[[], Gone] | None,
    label: Path | str,
    derived: Mapping[str, Derived] = MappingProxyType({}),
) -> list[str]:
    """Takes what was erased out of pages that a person changed."""
    if gone is None or folder.is_symlink() or next(changed_names(folder, notes), None) is None:
        return []  # the ids need not be looked for
    found = take_out(seam, folder, notes, gone(), derived)
    return [
        f"{label}/{os.fsencode(name).decode(errors='replace')}: "
        f"{count} {'entry' if count == 1 else 'entries'} taken out"
        for name, count in found.items()
    ]


@contextmanager
def _alone_if_possible(seam: Seam, folder: Path) -> Iterator[None]:
    """The folder's lock, or none after a while.

    A process that renders may itself wait for the ledger's lock, which the caller holds. It looks
    for erasures before it ends, so nothing stays if it is not waited for.
    """
    fd = seam.open(folder, posix.FOLDER)
    try:
        for _ in range(_NAPS):
            try:
                posix.lock(fd, wait=False)
                break
            except BlockingIOError:
                time.sleep(_NAP_S)
        yield
    finally:
        seam.close(fd)
