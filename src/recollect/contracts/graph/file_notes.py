"""Which files of a workspace its memory has written: lines in the memory's folder.

Responsible for keeping the digests of what was written, and for whether they still count. Leaves
the files to ``shown_files``. Invariants: a note counts only if it is of this memory, at a position
that the memory still has; so an older ledger, or one of another memory, makes it void. Notes can be
deleted: then files that say what the memory says are noted again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from recollect.contracts.graph.lines import LineFile
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of
from recollect.store.disk.disk import alone, replace_file
from recollect.store.pages.page_notes import bond_of
from recollect.store.seam import REAL, Seam

_SEQ_MAX: Final = 2**63 - 1
_SPARE_LINES: Final = 1_000  # how many are kept that later ones have replaced, beside as many again


class Noted(msgspec.Struct, frozen=True):
    """What one file may hold: nothing else was written to it."""

    file: str
    digests: tuple[str, ...]  # two while it is being replaced, none after it was removed
    seq: int
    made: str  # stands for the memory up to this position


class FileNotes:
    """The notes about the files of one workspace, shared by every process that writes them."""

    def __init__(self, path: Path, memory: Memory, seam: Seam = REAL) -> None:
        self._path, self._memory, self._seam = path, memory, seam
        self._noted: dict[str, Noted] = {}
        self._last: Noted | None = None
        self._count = 0
        self._lines = LineFile(path, self._take, self._restart, seam)

    def known(self, files: Iterable[str]) -> dict[str, frozenset[str]]:
        """The digests of what this memory has written to each of these files."""
        self._lines.refresh()
        noted = {file: self._noted.get(file) for file in files}
        true = self._true(one for one in noted.values() if one is not None)
        return {
            file: frozenset(one.digests if one is not None and one in true else ())
            for file, one in noted.items()
        }

    def are_of_this_memory(self) -> bool:
        """False if there are none, or if the last is of a memory that is not this one now."""
        self._lines.refresh()
        return self._last is not None and bool(self._true([self._last]))

    def note(self, files: Mapping[str, Iterable[str]], *, is_lasting: bool = True) -> None:
        """Keeps what each of these files may hold from now on."""
        if not files:
            return
        with handle_of(self._memory).reading() as reads:
            position = reads.position()
            seq = 0 if position is None else position.seq
            made = bond_of(reads, seq)
        if not made:  # a memory without an event has written nothing
            return
        lines = [
            Noted(file=file, digests=tuple(sorted(digests)), seq=seq, made=made)
            for file, digests in files.items()
        ]
        with alone(self._seam, self._path.parent):
            self._lines.append(lambda: b"".join(map(_line, lines)), is_lasting=is_lasting)
            if self._count > 2 * len(self._noted) + _SPARE_LINES:
                self._shorten()

    def shorten(self) -> None:
        """Leaves out what was replaced: the digest of a text that was erased is not kept."""
        self._lines.refresh()
        if self._count:
            with alone(self._seam, self._path.parent):
                self._shorten()

    def _shorten(self) -> None:
        self._lines.refresh()
        kept = [one for one in self._noted.values() if one.digests or one is self._last]
        replace_file(self._seam, self._path, map(_line, kept))
        self._lines.refresh()

    def _true(self, noted: Iterable[Noted]) -> set[Noted]:
        """Those that are of this memory, as it is now."""
        with handle_of(self._memory).reading() as reads:
            bonds: dict[int, str] = {}
            true = set()
            for one in noted:
                if one.seq not in bonds:
                    bonds[one.seq] = bond_of(reads, one.seq)
                if one.made and one.made == bonds[one.seq]:
                    true.add(one)
        return true

    def _take(self, number: int, line: bytes) -> None:
        self._count = number
        try:
            one = msgspec.json.decode(line, type=Noted)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return
        if not 0 <= one.seq <= _SEQ_MAX:
            return
        self._noted.pop(one.file, None)  # so that the last one stands last
        self._noted[one.file] = self._last = one

    def _restart(self) -> None:
        self._noted.clear()
        self._last, self._count = None, 0


def _line(one: Noted) -> bytes:
    return msgspec.json.encode(one) + b"\n"
