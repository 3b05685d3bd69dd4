"""Vectors in a file beside a ledger.

Responsible for which rows exist and whether they belong to this ledger. Leaves the bytes to
``store.files.vector_file`` and the search to ``store.nearest``. Invariants: adding checks for
recorded erasures under the file's lock, and erasing takes the same lock afterwards, so that no
vector of an erased text stays; the ledger's lock is never taken under the file's lock.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from recollect.errors import Unavailable
from recollect.index.reads import Reads
from recollect.store.files import vector_file
from recollect.store.files.vector_file import HEADER_BYTES, Header
from recollect.store.nearest import Nearest, ScoredText
from recollect.store.seam import Seam
from recollect.store.sqlite import FileId, SqliteDb, file_id

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recollect.store.port import Accept, Matrix, Vector

    Numbers = NDArray[np.int64]

Asking = Callable[[], AbstractContextManager[SqliteDb]]  # a transaction that reads the index
_CHECK: Final = "check the disk and the owner of the file, or delete it; it will be rebuilt"
_INDEX_TRIES: Final = 8  # how often the index may be replaced while adding rows


class _View:
    """A file at a moment; its rows are read when they are searched."""

    def __init__(self, id: FileId, header: Header, whole: Matrix, old: _View | None) -> None:
        self.id = id
        self.header = header
        self._whole = whole  # two columns for the number of the text, then the vector
        self._known = old.seqs if old and "seqs" in old.__dict__ else np.zeros(0, np.int64)

    @cached_property
    def seqs(self) -> Numbers:
        """The text number of each row; those already known are not read again."""
        added = np.ascontiguousarray(self._whole[len(self._known) :, :2]).view("<i8").ravel()
        return np.concatenate([self._known, added])

    @cached_property
    def nearest(self) -> Nearest:
        """The search over these rows."""
        return Nearest(self.seqs, self._whole[:, 2:])


class FileVectors:
    """The vectors of one embedder in one folder. Safe to share between threads."""

    keeps = True

    def __init__(
        self, folder: Path, name: str, dimensions: int, asking: Asking, index: Path, seam: Seam
    ) -> None:
        self._path = vector_file.path_of(folder, name)
        self._fresh = vector_file.fresh(name, dimensions)
        self._asking = asking
        self._index = index
        self._seam = seam
        self._turn = threading.Lock()
        self._view: _View | None = None

    def through(self) -> int:
        """The position up to which every text has its rows."""
        view = self._looked()
        return view.header.through if view else 0

    def expect(self, queries: Matrix) -> None:
        """Announces the next queries, so that all of them are scored in one pass."""
        view = self._looked()
        if view:
            view.nearest.expect(queries)

    def best(self, query: Vector, n: int, accept: Accept) -> list[ScoredText]:
        """The accepted texts that are nearest to a row, best first."""
        view = self._looked()
        return view.nearest.best(query, n, accept) if view else []

    def scores(self, query: Vector, seqs: Iterable[int]) -> dict[int, float]:
        """The scores of those of these texts that have rows."""
        view = self._looked()
        return view.nearest.scores(query, seqs) if view else {}

    def add(self, after: int, through: int, texts: Sequence[tuple[int, Matrix]]) -> None:
        """Adds the rows of all texts after one position, up to another."""
        try:
            for _ in range(_INDEX_TRIES):
                with self._asking() as db, vector_file.locked(self._seam, self._path) as fd:
                    if db.file_id == file_id(self._index):
                        db.run("rollback")  # a new transaction sees newer erasures
                        db.run("begin_read")
                        if self._add(fd, Reads(db), after, through, texts):
                            return
                    # Otherwise the index was replaced, and the new one may have a recorded erasure.
                    elif file_id(self._index) is None and not os.fstat(fd).st_size:
                        self._seam.unlink(self._path)  # the space may have been dropped
        except OSError as error:
            raise Unavailable(f"{self._path} could not be written: {error}", hint=_CHECK) from error

    def _add(
        self,
        fd: int,
        reads: Reads,
        after: int,
        through: int,
        texts: Sequence[tuple[int, Matrix]],
    ) -> bool:
        """Adds rows under the lock; false if the file belongs to another ledger and was removed."""
        header = vector_file.read_header(fd)
        if header is None and os.fstat(fd).st_size == 0:
            header = self._fresh
        if header is None or not self._is_ours(header, reads):
            self._seam.unlink(self._path)  # other processes may map it, so it is replaced, not cut
            return False
        if not after <= header.through < through:
            return True
        gone = reads.erased_between(header.through, through)
        fresh = [(seq, rows) for seq, rows in texts if seq > header.through and seq not in gone]
        moved = msgspec.structs.replace(
            header,
            rows=header.rows + sum(len(rows) for _, rows in fresh),
            through=through,
            mark=_mark(reads, through),
        )
        vector_file.append(self._seam, fd, header, _packed(fresh), moved)
        return True

    def _looked(self) -> _View | None:
        """The current file; None if there is none for this ledger."""
        with self._turn:
            try:
                with open(self._path, "rb") as file:
                    return self._mapped(file.fileno())
            except FileNotFoundError:
                self._view = None
            except OSError as error:
                raise Unavailable(
                    f"{self._path} could not be read: {error}", hint=_CHECK
                ) from error
            return None

    def _mapped(self, fd: int) -> _View | None:
        """Opens and maps the file, in constant time."""
        status = os.fstat(fd)
        id, old = (status.st_dev, status.st_ino), self._view
        header = vector_file.read_header(fd) or vector_file.read_header_locked(fd)
        if header is None:
            self._view = None
        elif old is None or old.id != id:
            with self._asking() as db:  # begins after the header was read, so it is at least as new
                ours = self._is_ours(header, Reads(db))
            self._view = _view(fd, id, header, None) if ours else None
        elif old.header != header:
            self._view = _view(fd, id, header, old)
        return self._view

    def _is_ours(self, header: Header, reads: Reads) -> bool:
        """True for a file of this embedder for this ledger."""
        mine = self._fresh
        return (header.name, header.dimensions) == (mine.name, mine.dimensions) and (
            header.through == 0 or header.mark == _mark(reads, header.through)
        )


def _view(fd: int, id: FileId, header: Header, old: _View | None) -> _View:
    """Maps the rows that the header includes."""
    columns = header.row_bytes // 4
    whole: Matrix = np.zeros((0, columns), "<f4")
    if header.rows:
        with open(fd, "rb", closefd=False) as file:
            mapped = np.memmap(file, "<f4", "r", HEADER_BYTES, (header.rows, columns))
            whole = np.asarray(mapped)  # the same bytes, without the overhead of memmap slices
    return _View(id, header, whole, old)


def _packed(texts: Sequence[tuple[int, Matrix]]) -> bytes:
    """Rows in the format of the file."""
    pieces: list[bytes] = []
    for seq, rows in texts:
        for row in np.asarray(rows, "<f4"):
            pieces += (seq.to_bytes(vector_file.SEQ_BYTES, "little"), row.tobytes())
    return b"".join(pieces)


def _mark(reads: Reads, seq: int) -> str:
    """The last command at a position; it differs in another ledger."""
    command = reads.command_at(seq)
    return f"{command.seq} {command.at} {command.id}" if command else ""
