"""Which files a rendering wants: all of them made, or only those that changed since the last.

Responsible for telling what can be taken from the last rendering. Leaves reading to
``memory.pages.page_sources`` and files to ``store.pages``. Invariants: a plan names the same bytes
whether it was made from the last rendering or from nothing; after an erasure nothing is taken from
the last rendering.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

from recollect.index.erasures import was_erased_since
from recollect.index.reads import Reads
from recollect.index.statements import INDEX_VERSION, NOW
from recollect.memory.handle.handle import Handle
from recollect.memory.pages.page_sources import Sources, every_page
from recollect.memory.pages.sync import Comparison
from recollect.mirror.gather import Made
from recollect.mirror.names import INDEX
from recollect.mirror.page import SUFFIX
from recollect.mirror.render import index_lines, index_of, listed, render
from recollect.store.pages.page_notes import Notes, bond_of, digest_of, notes_for, packed
from recollect.store.pages.pages import Plan, Wanted, differing, is_as_noted, read_page

RENDERING_VERSION: Final = 4  # raise it when the same records give other bytes
_INDEX: Final = f"{INDEX}{SUFFIX}"


def noted_files(
    handle: Handle, folder: Path, made: Callable[[Reads, str | None], list[Made]]
) -> tuple[Notes, Mapping[str, str]]:
    """The notes of a folder as far as they count for this memory, and files that it can give back.

    If the notes do not count, as in a clone or after an upgrade, the pages themselves are read: a
    file whose words this memory has, given by its digest, can be rendered again.
    """
    with handle.reading() as reads:
        notes, is_known = notes_for(reads, folder)
    if is_known or handle.position != NOW:
        return notes, {}
    files = Comparison(handle, folder, made).files()
    return notes, {file.name: file.digest for file in files if file.is_settled}


def plan(handle: Handle, reads: Reads, folder: Path, notes: Notes) -> Plan:
    """The files of every page in a folder, as they should be now."""
    position = reads.position()
    seq = position.seq if position else 0
    made = _made(handle, reads, seq)
    files = _from_last(handle, reads, folder, notes) if made else None
    wanted = files or every_file(every_page(handle, reads))
    return Plan(wanted, seq, made, bond_of(reads, seq))


def every_file(made: Collection[Made]) -> dict[str, Wanted]:
    """The files of these pages, and the index of them."""
    files = _files(made)
    lines = {one.page.name: listed(one.page) for one in made}
    return files | {_INDEX: _index(lines, files.values())}


def _files(made: Iterable[Made]) -> dict[str, Wanted]:
    files = {}
    for one in made:
        data = render(one.page).encode()
        files[_file(one.page.name)] = Wanted(digest_of(data), packed(one.events), one.title, data)
    return files


def _index(lines: dict[str, str], listed: Iterable[Wanted]) -> Wanted:
    data = index_of(lines).encode()
    title = tuple(sorted({seq for page in listed for seq in page.title}))
    return Wanted(digest_of(data), packed(title), title, data)


def _made(handle: Handle, reads: Reads, seq: int) -> str:
    """Stands for a memory at a position, for who may see what, and for what makes the pages.

    Empty if pages of that position cannot be taken for the next rendering.
    """
    first, last = reads.command_at(1), reads.command_at(seq)
    if handle.position != NOW or first is None or last is None:
        return ""
    versions = (INDEX_VERSION, RENDERING_VERSION, seq, handle.actor.user)
    parts = (*versions, first.id, first.at, last.seq, last.id, last.at)
    return sha256(repr(parts).encode()).hexdigest()


def _last_index(handle: Handle, reads: Reads, folder: Path, notes: Notes) -> dict[str, str] | None:
    """The lines of the last index, if it shows this memory and nothing was erased since."""
    seq, noted = notes.position, notes.pages.get(_INDEX)
    if not seq or noted is None or notes.made != _made(handle, reads, seq):
        return None
    if not is_as_noted(folder, _INDEX, notes):
        return None
    data = read_page(folder, _INDEX)
    if was_erased_since(reads, seq) or data is None or digest_of(data) != noted.digest:
        return None
    return index_lines(data.decode(), [_page(file) for file in notes.pages if file != _INDEX])


def _from_last(
    handle: Handle, reads: Reads, folder: Path, notes: Notes
) -> dict[str, Wanted] | None:
    """The files, with only those made that changed; None if all have to be made."""
    lines, sources = _last_index(handle, reads, folder, notes), Sources(handle, reads)
    altered = None if lines is None else sources.altered(notes.position)
    if lines is None or altered is None:
        return None
    altered |= {_page(file) for file in differing(folder, notes)} - {INDEX}
    made = sources.pages(altered)
    again = _readers(made, notes) - altered
    made += sources.pages(again)
    files = {
        file: Wanted(noted.digest, noted.events, noted.title, None)
        for file, noted in notes.pages.items()
        if _page(file) not in altered | again
    } | _files(made)
    files.pop(_INDEX)
    lines |= {one.page.name: listed(one.page) for one in made}
    kept = {name: line for name, line in lines.items() if _file(name) in files}
    return files | {_INDEX: _index(kept, files.values())}


def _readers(made: Iterable[Made], notes: Notes) -> set[str]:
    """The pages that show the title of one that is called differently since the last rendering."""
    again = set[str]()
    for one in made:
        noted = notes.pages.get(_file(one.page.name))
        again |= one.readers if noted is None or noted.title != one.title else set()
    return again


def _file(name: str) -> str:
    return f"{name}{SUFFIX}"


def _page(file: str) -> str:
    return file.removesuffix(SUFFIX)
