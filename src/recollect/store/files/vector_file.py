"""A file of vectors: its format, and how rows are added and removed.

    512 bytes   a checksum, a blank, a JSON header, padding up to a newline
    then rows   8 bytes: the number of the text; 4 bytes for each number of the vector

Everything is little-endian. Rows are ordered by the number of their text. Responsible for the
bytes, without numpy, so that an erasure can clean files even where numpy is not installed. Leaves
searching to ``store.nearest``. Invariants: a row counts once a header includes it, and the header
is written after the row is on the disk; a row that counts keeps its offset as long as the file has
its name, because other processes map it; a file is changed only under its lock, which is the file
itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Final
from zlib import crc32

import msgspec

from recollect.errors import Unavailable
from recollect.model.values import Finding
from recollect.store import posix
from recollect.store.disk.disk import make_folder, write_all
from recollect.store.disk.layout import VECTORS, VECTORS_SUFFIX
from recollect.store.disk.regular_files import opener
from recollect.store.seam import Seam

HEADER_BYTES: Final = 512
SEQ_BYTES: Final = 8
NAME_MAX_BYTES: Final = 250
_VERSION: Final = 1
_NAME: Final = re.compile(rf"[a-z0-9-]*-[0-9a-f]{{8}}{re.escape(VECTORS_SUFFIX)}")  # see path_of
_TRIES: Final = 100  # how often the file may be deleted while waiting for its lock


class Header(msgspec.Struct, frozen=True):
    """The header of a file."""

    version: int
    name: str
    dimensions: int
    rows: int = 0
    through: int = 0
    mark: str = ""  # the last command at that position; it differs in another ledger

    @property
    def row_bytes(self) -> int:
        """The length of a row."""
        return row_bytes(self.dimensions)


def fresh(name: str, dimensions: int) -> Header:
    """The header of a file without rows."""
    if len(name.encode()) > NAME_MAX_BYTES or dimensions < 1:
        raise ValueError("an embedder has a short name and at least one dimension")
    return Header(_VERSION, name, dimensions)


def row_bytes(dimensions: int) -> int:
    """The length of a row."""
    return SEQ_BYTES + 4 * dimensions


def path_of(folder: Path, name: str) -> Path:
    """The path for an embedder: a readable name and a digest that makes it unique."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60]
    return folder / VECTORS / f"{slug}-{sha256(name.encode()).hexdigest()[:8]}{VECTORS_SUFFIX}"


def read_header(fd: int) -> Header | None:
    """The header of an open file; None if it is torn, cut, or of another program."""
    raw = os.pread(fd, HEADER_BYTES, 0)
    checksum, _, rest = raw.partition(b" ")
    data = rest.rstrip(b" \n")
    if len(raw) != HEADER_BYTES or checksum != _checksum(data):
        return None
    try:
        header = msgspec.json.decode(data, type=Header)
    except ValueError:
        return None
    needed = HEADER_BYTES + header.rows * header.row_bytes
    fits = header.version == _VERSION and header.dimensions > 0
    return header if fits and os.fstat(fd).st_size >= needed else None


def read_header_locked(fd: int) -> Header | None:
    """The same, under the lock."""
    posix.lock_shared(fd)
    try:
        return read_header(fd)
    finally:
        posix.unlock(fd)


@contextmanager
def locked(seam: Seam, path: Path) -> Iterator[int]:
    """Opens and locks a file, creating it if it is missing."""
    if path.parent.parent.is_dir():  # the folder of a space that was dropped is not made again
        make_folder(seam, path.parent)
    for _ in range(_TRIES):
        fd = seam.open(path, os.O_RDWR | os.O_CREAT)
        try:
            posix.lock(fd)
            if _is_at(fd, path):
                yield fd
                return
        finally:
            seam.close(fd)  # and with it the lock
    raise Unavailable(f"{path} is deleted again and again", hint="stop what deletes it")


def append(seam: Seam, fd: int, header: Header, rows: bytes, after: Header) -> None:
    """Writes and syncs rows, then the header that includes them; under the lock."""
    if rows:
        write_all(seam, fd, rows, HEADER_BYTES + header.rows * header.row_bytes)
        seam.fsync(fd)
    data = msgspec.json.encode(after)
    line = _checksum(data) + b" " + data
    write_all(seam, fd, line.ljust(HEADER_BYTES - 1) + b"\n", 0)


def files(folder: Path) -> list[Path]:
    """The vector files of a space: by their names, or by their headers if they were renamed."""
    return [path for path in _named_so(folder) if _is_own(path)]


def others(folder: Path) -> list[Path]:
    """The files that are named like vector files, but were not made by a memory."""
    return [path for path in _named_so(folder) if not _is_own(path)]


def _named_so(folder: Path) -> list[Path]:
    return sorted((folder / VECTORS).glob(f"*{VECTORS_SUFFIX}"))


def _is_own(path: Path) -> bool:
    if _NAME.fullmatch(path.name):
        return True
    try:
        with open(path, "rb", opener=opener) as file:
            return read_header(file.fileno()) is not None
    except OSError:
        return False


def clear(seam: Seam, folder: Path) -> None:
    """Removes every vector file: the numbers of their texts are no longer valid."""
    for path in files(folder):
        seam.unlink(path)


def clear_all(seam: Seam, folder: Path) -> None:
    """The same, waiting for a process that adds rows: afterwards none of them has a name."""
    for path in files(folder):
        with locked(seam, path):
            seam.unlink(path)


def blank(seam: Seam, folder: Path, seqs: Collection[int]) -> tuple[int, list[Path]]:
    """Overwrites the vectors of some texts in every file of a space.

    They are overwritten in place, so that a process with the file mapped does not keep them. An
    unreadable file is removed. Returns how many files are clean, and those that could neither be
    changed nor removed.
    """
    missed: list[Path] = []
    found = files(folder)
    for path in found:
        try:
            _blank_all(seam, path, seqs)
        except OSError:
            try:
                seam.unlink(path)
            except OSError:
                missed.append(path)
    return len(found) - len(missed), missed


def _blank_all(seam: Seam, path: Path, seqs: Collection[int]) -> None:
    with locked(seam, path) as fd:
        header = read_header(fd)
        if header is None:
            seam.unlink(path)
            return
        for seq in sorted(seqs):
            _blank(seam, fd, header, seq)
        end = HEADER_BYTES + header.rows * header.row_bytes
        if os.fstat(fd).st_size > end:  # rows of a process that stopped before writing the header
            seam.ftruncate(fd, end)
        seam.fsync(fd)


def _blank(seam: Seam, fd: int, header: Header, seq: int) -> None:
    """Overwrites the vectors of a text with zeros; its rows stay."""
    place = _place_of(fd, header, seq)
    zeros = bytes(header.row_bytes - SEQ_BYTES)
    while place < header.rows and _seq_at(fd, header, place) == seq:
        write_all(seam, fd, zeros, HEADER_BYTES + place * header.row_bytes + SEQ_BYTES)
        place += 1


def _place_of(fd: int, header: Header, seq: int) -> int:
    """The first row whose text has this number or a higher one."""
    low, high = 0, header.rows
    while low < high:
        middle = (low + high) // 2
        if _seq_at(fd, header, middle) < seq:
            low = middle + 1
        else:
            high = middle
    return low


def _seq_at(fd: int, header: Header, place: int) -> int:
    raw = os.pread(fd, SEQ_BYTES, HEADER_BYTES + place * header.row_bytes)
    return int.from_bytes(raw, "little")


def examine(folder: Path, events: int) -> list[Finding]:
    """The findings of ``doctor`` about a space's vector files."""
    return [_finding(path, events) for path in files(folder)]


def _finding(path: Path, events: int) -> Finding:
    with open(path, "rb") as file:
        header = read_header(file.fileno())
    where = f"{VECTORS}/{path.name}"
    fix = (
        "nothing to do: the next recall or `recollect admin embed` rebuilds it; or delete the file"
    )
    if header is None or path_of(path.parent.parent, header.name) != path:
        return Finding(level="note", what="vectors", detail=f"{where} could not be read", fix=fix)
    if header.through > events:
        detail = f"{where} knows texts up to event {header.through:,}, which the ledger has not"
        return Finding(level="note", what="vectors", detail=detail, fix=fix)
    detail = f"{header.name}: {header.rows:,} rows, every text up to event {header.through:,}"
    return Finding(level="ok", what="vectors", detail=detail)


def _is_at(fd: int, path: Path) -> bool:
    """True if an open file still has its name."""
    with suppress(FileNotFoundError):
        mine, there = os.fstat(fd), os.stat(path)
        return (mine.st_dev, mine.st_ino) == (there.st_dev, there.st_ino)
    return False


def _checksum(data: bytes) -> bytes:
    return f"{crc32(data):08x}".encode()
