"""The files of a workspace, and which of them may be written.

Responsible for the one rule: a file that is there is replaced or removed only if this memory wrote
what is in it. Leaves what a file should hold to ``workspace``, and what was written to
``file_notes``. Invariants: any other file stays as it is and is named, until a person asks for it
to be replaced; then it is moved to ``aside/``; a link is neither followed nor replaced.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from recollect.contracts.graph.file_notes import FileNotes
from recollect.errors import ConfigError, InvalidInput
from recollect.exchange import workspace as layout
from recollect.model.limits import LINE_MAX_BYTES
from recollect.model.values import Finding
from recollect.store.disk.disk import alone, make_folder, replace_file, sync_folder
from recollect.store.disk.layout import half_made
from recollect.store.disk.regular_files import read_regular
from recollect.store.pages.page_notes import digest_of
from recollect.store.seam import REAL, Seam

EITHER: Final = (
    "import_workspace() takes the files over, render() writes them as the memory has them; those "
    f"that it did not write only with replace=True, which moves them to {layout.ASIDE}/ first"
)
_FILE_MAX_BYTES: Final = LINE_MAX_BYTES  # no node that can be stored is longer
_NO_FILE: Final = "no file"  # in place of a digest: a link, a folder, something that is too long
_EMPTY: Final = digest_of(layout.head({}))  # of `workspace.json` before anything was said


class ShownFiles:
    """Files by their names in the folder of a workspace, such as ``nodes/a.json``."""

    def __init__(self, root: Path, notes: FileNotes, seam: Seam = REAL) -> None:
        self.root, self.notes, self._seam = root, notes, seam
        #: The files that were left as they are when the memory had something else to write.
        self.left: dict[str, Finding] = {}

    def show(self, wanted: Mapping[str, bytes | None], *, replace: bool = False) -> list[str]:
        """Makes files hold these bytes, or removes them; returns those that changed.

        A file that this memory did not write is left, unless it says the same. ``replace`` moves
        it aside instead.
        """
        known = self._known(wanted)
        there = {file: self._digest(file) for file in wanted}
        same = {file for file, raw in wanted.items() if self._says(file, there[file], raw)}
        due = [file for file in wanted if file not in same and there[file] != _of(wanted[file])]
        if not replace:
            due = [file for file in due if there[file] is None or there[file] in known[file]]
        may = {file: known[file] if there[file] else frozenset[str]() for file in due}
        made = {file: may[file] | {digest_of(raw)} for file in due if (raw := wanted[file])}
        held = {file: frozenset({str(there[file])}) for file in same}
        # What a stopped process may leave, and the files that say the same as the memory.
        self.notes.note({file: new for file, new in (made | held).items() if new != known[file]})
        put = ((file, self._put(file, wanted[file], there[file], known[file])) for file in due)
        done = dict.fromkeys(file for file, is_put in put if is_put)
        self._end(done, wanted, there)
        for file, raw in wanted.items():
            self.left.pop(file, None)
            if file not in same and file not in done and there[file] != _of(raw):
                self.left[file] = _left(file, is_shown=raw is not None)
        return list(done)

    def _end(
        self,
        done: Iterable[str],
        wanted: Mapping[str, bytes | None],
        there: Mapping[str, str | None],
    ) -> None:
        """Notes what is in the files now; for those that are new it was noted before.

        If this is lost, two digests stand for a file instead of one.
        """
        ended = [file for file in done if there[file] is not None]
        now = {file: [digest] if (digest := _of(wanted[file])) else [] for file in ended}
        self.notes.note(now, is_lasting=False)

    def note_same(self, wanted: Mapping[str, bytes]) -> None:
        """Notes the files that say what the memory says, as if it had written them."""
        there = {file: self._digest(file) for file in wanted}
        same = {file for file, raw in wanted.items() if self._says(file, there[file], raw)}
        self.notes.note({file: [str(there[file])] for file in same})

    def read(self, file: str) -> bytes:
        """The bytes of a file; a link is refused."""
        return read_file(self.root / file)

    def naming(self, folder: str, id: str) -> Iterator[str]:
        """The files of a folder, and those moved aside from it, that name an id."""
        for place in (folder, f"{layout.ASIDE}/{folder}"):
            for path in sorted((self.root / place).glob("*")):
                file = f"{place}/{path.name}"
                if f'"{id}"'.encode() in (self._bytes(file) or b""):
                    yield file

    def _known(self, files: Mapping[str, bytes | None]) -> dict[str, frozenset[str]]:
        known = self.notes.known(files)
        if layout.HEAD in known:
            known[layout.HEAD] |= {_EMPTY}
        return known

    def _says(self, file: str, digest: str | None, raw: bytes | None) -> bool:
        """True if a file has these bytes, or the same in another order or with other blanks."""
        if raw is None or digest in (None, _NO_FILE):
            return False
        return digest == digest_of(raw) or is_same(self._bytes(file) or b"", raw)

    def _put(self, file: str, raw: bytes | None, there: str | None, known: frozenset[str]) -> bool:
        """Writes or removes a file, if it is still as it was; one of others is moved aside."""
        if there is not None and there not in known:
            self._set_aside(file)
            there = None
        path = self.root / file

        def is_due() -> bool:
            return self._digest(file) == there

        if raw is not None:
            self._clear_half_made(file, {*known, digest_of(raw)})
            return bool(replace_file(self._seam, path, [raw], is_due))
        if there is not None and is_due():
            self._seam.unlink(path)
            sync_folder(self._seam, path.parent)
        return True

    def _clear_half_made(self, file: str, own: set[str]) -> None:
        """Moves a file aside that has the name of a file while it is written, and is not that."""
        fresh = f"{half_made(Path(file))}"
        if self._digest(fresh) not in (None, *own):
            place = self._set_aside(fresh)
            detail = f"{fresh} was moved to {place}: {file} is written under that name first"
            fix = "nothing has to be done, if it is not missed where it was"
            self.left[fresh] = Finding(level="note", what="files", detail=detail, fix=fix)

    def _set_aside(self, file: str) -> str:
        """Moves a file into ``aside/``, under a name that is free there; returns its new name."""
        path, aside = self.root / file, self.root / layout.ASIDE / Path(file).parent
        for folder in (self.root / layout.ASIDE, aside):
            if folder.is_symlink():
                raise ConfigError(f"{folder} is a link", hint="replace it by a folder")
        make_folder(self._seam, aside)
        with alone(self._seam, aside):
            names = (f"{path.stem}{end}{path.suffix}" for end in _endings())
            free = next(aside / name for name in names if not os.path.lexists(aside / name))
            self._seam.replace(path, free)
            sync_folder(self._seam, aside)
        sync_folder(self._seam, path.parent)
        return free.relative_to(self.root).as_posix()

    def _digest(self, file: str) -> str | None:
        if not os.path.lexists(self.root / file):
            return None
        raw = self._bytes(file)
        return _NO_FILE if raw is None else digest_of(raw)

    def _bytes(self, file: str) -> bytes | None:
        """The bytes of a file; None if it cannot be read."""
        try:
            return self.read(file)
        except (ConfigError, InvalidInput):
            return None


def read_file(path: Path) -> bytes:
    """The bytes of a file; a link is refused, and so is what no memory has written."""
    if path.is_symlink():
        raise ConfigError(f"{path} is a link", hint="replace it by a file")
    try:
        raw = read_regular(path, _FILE_MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{path} could not be read: {error.strerror}") from error
    if len(raw) > _FILE_MAX_BYTES:
        raise InvalidInput(f"{path} is longer than {_FILE_MAX_BYTES:,} bytes")
    return raw


def _of(raw: bytes | None) -> str | None:
    return None if raw is None else digest_of(raw)


def _endings() -> Iterator[str]:
    yield ""
    number = 2
    while True:
        yield f".{number}"
        number += 1


def is_same(first: bytes, second: bytes) -> bool:
    """True if two files say the same, letter by letter: a name that is there twice is more."""
    if first == second:
        return True
    try:
        if msgspec.json.decode(first) != msgspec.json.decode(second):
            return False
        plain = [sorted(msgspec.json.format(raw, indent=-1)) for raw in (first, second)]
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return False
    return plain[0] == plain[1]


def _left(file: str, *, is_shown: bool) -> Finding:
    why = "it holds what this memory did not write"
    detail = f"{file} was left as it is: {why}{'' if is_shown else ', and does not show'}"
    return Finding(level="problem", what="files", detail=detail, fix=EITHER)
