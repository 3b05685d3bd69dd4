"""A ledger in several files: sealed segments, then the active file.

    sealed/0000000001-0000004200.wal    events 1 to 4,200, closed
    events.wal                          the rest; its first line records the seal

Responsible for the order in which the files are read and for closing the active file. Leaves when
to close it to ``store.files.space`` and the bytes to ``store.disk``. Segments do not change the
ledger: read in order, they are the same lines. Invariant: an event that is both in a segment and,
after an interrupted seal, in the active file is read once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final, NamedTuple

from recollect.errors import IntegrityError
from recollect.ledger.erasure import lines_of, without_bodies
from recollect.ledger.line import Line, parse, seq_of
from recollect.ledger.lookup import offset_of
from recollect.ledger.scan import Damage, Scanner
from recollect.model.events import GENESIS, Head
from recollect.store.disk.disk import (
    NO_LINKS,
    file_pieces,
    make_folder,
    read_pieces,
    replace_file,
    sync_folder,
    write_file,
)
from recollect.store.disk.layout import LEDGER, SEALED, SEGMENT_SUFFIX, segment_name
from recollect.store.disk.regular_files import open_regular, opener
from recollect.store.files.ledger.active import FRONT_MAX_BYTES, ActiveFile
from recollect.store.seam import Seam

_NAME: Final = re.compile(rf"([0-9]{{10,16}})-([0-9]{{10,16}}){re.escape(SEGMENT_SUFFIX)}")


class Segment(NamedTuple):
    """A closed part of a ledger."""

    first: int
    last: int
    path: Path


def all_segments(folder: Path) -> list[Segment]:
    """Every segment of the ledger in a folder, in order."""
    found: list[Segment] = []
    for path in (folder / SEALED).glob(f"*{SEGMENT_SUFFIX}"):
        name = _NAME.fullmatch(path.name)
        if name is not None:
            found.append(Segment(int(name[1]), int(name[2]), path))
    return sorted(found)


def segments(active: ActiveFile) -> list[Segment]:
    """The segments before the active file.

    A segment that begins where the active file does, or later, is a second name for it.
    """
    return _before(active.path.parent, active.first_seq())


def _before(folder: Path, first: int | None) -> list[Segment]:
    found = all_segments(folder)
    return found if first is None else [segment for segment in found if segment.first < first]


def size_bytes(active: ActiveFile) -> int:
    """The length of the whole ledger."""
    return active.size + sum(os.stat(segment.path).st_size for segment in segments(active))


def pieces(active: ActiveFile, *, after: int = 0) -> Iterator[bytes]:
    """The bytes of all events after a seq, one file after the other."""
    covered = after
    for segment in segments(active):
        if segment.last > after:
            yield from _beyond(covered, segment.first, file_pieces(segment.path))
            covered = segment.last
    yield from _beyond(covered, active.first_seq(), active.pieces())


class OpenedLedger:
    """The current files of a ledger, for reading only.

    Later changes to them are not read.
    """

    def __init__(self, ledger: Path) -> None:
        self._stack = ExitStack()
        try:
            fd, size = self._open(ledger)
            first = seq_of(os.pread(fd, FRONT_MAX_BYTES, 0)) or 0
            self._files = [
                (*self._open(segment.path), segment.first, segment.last)
                for segment in _before(ledger.parent, first or None)
            ]
        except BaseException:
            self._stack.close()
            raise
        self._files.append((fd, size, first, 0))
        self.size_bytes = sum(size for _, size, _, _ in self._files)

    def pieces(self, after: int = 0, offset: int = 0) -> Iterator[bytes]:
        """The bytes of all events after a seq, one file after the other.

        ``offset`` is where they may begin in the active file; if they do not, they are searched.
        """
        covered = after
        for fd, size, first, last in self._files:
            if last and last <= after:
                continue
            start = 0
            if after >= (first or 1):  # it begins with events that are left out
                start = _start_of(after + 1, fd, size, 0 if last else offset)
            first_there = after + 1 if start else first or None
            yield from _beyond(covered, first_there, read_pieces(fd, start, size))
            covered = max(covered, last)

    def close(self) -> None:
        """Lets go of the files."""
        self._stack.close()

    def _open(self, path: Path) -> tuple[int, int]:
        fd = open_regular(path)
        self._stack.callback(os.close, fd)
        return fd, os.fstat(fd).st_size


def _start_of(seq: int, fd: int, size: int, offset: int) -> int:
    """Where the line of an event begins in a file; 0 if it is not there, or the first."""
    if _begins_at(fd, offset, seq):
        return offset
    return offset_of(seq, size, lambda at, count: os.pread(fd, count, at)) or 0


def _begins_at(fd: int, offset: int, seq: int) -> bool:
    """True if the line of an event begins at this offset of a file."""
    if offset < 1:
        return False
    before, _, line = os.pread(fd, FRONT_MAX_BYTES, offset - 1).partition(b"\n")
    return not before and seq_of(line) == seq


def _beyond(covered: int, first: int | None, found: Iterable[bytes]) -> Iterable[bytes]:
    """The pieces of a file that begins at ``first``, without events that were already read."""
    return found if first is None or first > covered else _skipping(covered, found)


def _skipping(covered: int, found: Iterable[bytes]) -> Iterator[bytes]:
    skip = True
    for line in lines_of(found):
        skip = skip and (seq_of(line) or covered + 1) <= covered
        if not skip:
            yield line


def torn_in(active: ActiveFile, scanner: Scanner) -> bytes:
    """The torn tail of the active file; in a closed segment, a torn tail is damage."""
    torn = scanner.torn()
    if len(torn) > active.size:
        raise Damage(scanner.expected, scanner.problem or "its segment ends before it")
    return torn


def head_before(active: ActiveFile) -> Head:
    """The head before the active file."""
    raw = active.first_line()
    with suppress(IntegrityError):  # an invalid line is reported by the scan
        line = parse(raw or b"")
        return Head(line.seq - 1, line.prev, GENESIS.at)
    return GENESIS


def find(active: ActiveFile, seq: int) -> Line | None:
    """An event of a sealed segment."""
    for segment in segments(active):
        if segment.first <= seq <= segment.last:
            for raw in lines_of(file_pieces(segment.path)):
                if seq_of(raw) == seq:
                    return parse(raw.removesuffix(b"\n"))
    return None


# Closing.


def close_segment(seam: Seam, active: ActiveFile, last: int) -> Path:
    """Adds the active file to the segments; a new active file may then take its name."""
    folder = active.path.parent / SEALED
    make_folder(seam, folder)
    _remove_second_names(seam, active)
    path = folder / segment_name(active.first_seq() or 1, last)
    try:
        seam.link(active.path, path)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        replace_file(seam, path, active.pieces())  # a file system without links
    sync_folder(seam, folder)
    return path


def _remove_second_names(seam: Seam, active: ActiveFile) -> None:
    """Removes what an interrupted seal left: second names, or copies, of the active file."""
    second = _second_names(active)
    for segment in second:
        if not _is_copy(segment, active.path):
            raise IntegrityError(
                f"{segment.path.name} overlaps the active file and is not a copy of it",
                hint="run `recollect admin doctor` to see what can be done",
            )
        seam.unlink(segment.path)
    if second:  # otherwise it would keep bodies that are erased next
        sync_folder(seam, active.path.parent / SEALED)


def _second_names(active: ActiveFile) -> list[Segment]:
    kept = segments(active)
    return [segment for segment in all_segments(active.path.parent) if segment not in kept]


def strays(ledger: Path) -> list[Segment]:
    """Segments that are neither part of a ledger nor copies of its active file."""
    with open(ledger, "rb", opener=opener) as file:
        first = seq_of(file.read(FRONT_MAX_BYTES))
    kept = _before(ledger.parent, first)
    found = [segment for segment in all_segments(ledger.parent) if segment not in kept]
    return [segment for segment in found if not _is_copy(segment, ledger)]


def _is_copy(segment: Segment, ledger: Path) -> bool:
    """True if the active file contains all of it, byte for byte."""
    if os.path.samefile(segment.path, ledger):
        return True
    own, size = file_pieces(ledger), os.stat(segment.path).st_size
    return size <= os.stat(ledger).st_size and all(
        ours.startswith(theirs)
        for ours, theirs in zip(own, file_pieces(segment.path), strict=False)
    )


# Erasing.


def erase_bodies(seam: Seam, active: ActiveFile, erased: Mapping[int, int]) -> None:
    """Removes the bodies of these events; other segments are not changed.

    Second names are removed first: they may contain more events than their name says.
    """
    _remove_second_names(seam, active)
    for segment in all_segments(active.path.parent):
        if any(segment.first <= seq <= segment.last for seq in erased):
            replace_file(seam, segment.path, without_bodies(file_pieces(segment.path), erased))
    first = active.first_seq()
    if first is None or max(erased) >= first:
        replace_file(seam, active.path, without_bodies(active.pieces(), erased))


def first_lines(folder: Path) -> set[bytes]:
    """The first lines of a ledger's files (genesis or a seal), which are never erased."""
    found: set[bytes] = set()
    for path in (folder / LEDGER, *(segment.path for segment in all_segments(folder))):
        with suppress(FileNotFoundError):
            found.add(next(lines_of(file_pieces(path)), b""))
    return {line[:-1] for line in found if line.endswith(b"\n")}


def first_hash(folder: Path) -> str | None:
    """The hash of a ledger's first event; None if it cannot be read."""
    sealed = [segment.path for segment in all_segments(folder)]
    with suppress(OSError, IntegrityError):
        raw = next(lines_of(file_pieces([*sealed, folder / LEDGER][0])), b"")
        line = parse(raw.removesuffix(b"\n"))
        return line.hash if line.seq == 1 else None
    return None


# Salvaging.


def reopen_after(seam: Seam, active: ActiveFile, last: int, aside: Callable[[], Path]) -> None:
    """Makes the events up to ``last`` of its segment the active file again.

    Everything after them is kept as torn copies: the active file, that segment and later ones.
    """
    write_file(seam, aside(), active.pieces())
    damaged = [segment for segment in all_segments(active.path.parent) if segment.last > last]
    kept = (
        _up_to(last, file_pieces(damaged[0].path))
        if damaged and damaged[0].first <= last
        else iter(())
    )
    replace_file(seam, active.path, kept)
    _set_aside(seam, damaged, aside)


def set_strays_aside(seam: Seam, active: ActiveFile, aside: Callable[[], Path]) -> bool:
    """Sets aside stray segments of an interrupted salvage; true if there were any."""
    found = strays(active.path)
    _set_aside(seam, found, aside)
    return bool(found)


def _set_aside(seam: Seam, found: Iterable[Segment], aside: Callable[[], Path]) -> None:
    for segment in found:
        path = aside()
        seam.replace(segment.path, path)
        sync_folder(seam, path.parent)
        sync_folder(seam, segment.path.parent)


def _up_to(last: int, found: Iterable[bytes]) -> Iterator[bytes]:
    for line in lines_of(found):
        if (seq_of(line) or last + 1) > last:
            return
        yield line
