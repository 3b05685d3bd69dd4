"""What readers of an index ask for: bringing it up to date, or reading on without that.

Responsible for taking the turn and the lock for it, and for an index in memory where nothing can be
written. Leaves the connections to ``store.files.readers`` and the index itself to
``store.files.index``. Invariant: a writer at work, or a disk that takes no writes, does not keep an
index that is there from being read.
"""

from __future__ import annotations

from contextlib import closing

from recollect.errors import NotFound, Unavailable
from recollect.store.files.build import known_head
from recollect.store.files.check import difference
from recollect.store.files.held import Held
from recollect.store.files.index import SpaceIndex, warn_of_damage
from recollect.store.files.lock import ReadOnly
from recollect.store.files.read_only import index_aside, is_readable, is_up_to_date
from recollect.store.files.segments import OpenedLedger
from recollect.store.port import Progress
from recollect.store.sqlite import FOREIGN, FileId, SqliteDb, as_ours, file_id, open_index


class Healing:
    """The ``Healer`` of one space."""

    def __init__(self, held: Held, index: SpaceIndex) -> None:
        self._held = held
        self._index = index
        self.ledger_path = held.ledger_path
        self.index_path = held.index_path

    @property
    def is_opened(self) -> bool:
        """True once this process has compared the index with the ledger."""
        return self._held.active is not None

    def is_stale(self, index: FileId | None) -> bool:
        """True if the index that this process writes is another file than this one."""
        own = self._held.index
        return own is not None and own.file_id != index

    @property
    def is_lasting(self) -> bool:
        """True if an index is there that can be read as it is, whatever process holds the lock."""
        return self._held.aside is not None or is_readable(self.index_path)

    def open_index(self) -> SqliteDb:
        """A connection that reads: to the file, or to what stands in for it."""
        aside = self._held.aside
        return open_index(self.index_path) if aside is None else aside.another()

    def check_usable(self) -> None:
        """Neither closed nor inherited: a child must not use its parent's locks."""
        self._held.check_usable()

    def heal(self, *, wait: bool) -> None:
        """Brings the index up to date, unless somebody is writing and will do so."""
        held = self._held
        if held.failed is not None or held.group.is_mine:
            return  # a stopped writer changes nothing; what is indexed can still be read
        if not held.group.turn.acquire(blocking=wait):
            return
        try:
            with held.locked(None if wait else 0):
                self._index.attempt(self._index.refresh)
        except BlockingIOError:
            return
        except FOREIGN as error:
            raise as_ours(error) from error
        finally:
            held.group.turn.release()

    def heal_or_read_on(self, *, wait: bool) -> None:
        """A disk that takes no writes must not keep an index that is there from being read."""
        try:
            self.heal(wait=wait)
        except ReadOnly:
            self._read_without_writing()
        except Unavailable:
            if known_head(self.index_path) is None:
                raise

    def mend(self, damaged: FileId | None, error: Exception) -> None:
        """Builds a new index in the place of a damaged one, unless another did so since."""
        warn_of_damage(self._held.folder, error)
        try:
            with self._held.exclusive():
                if file_id(self.index_path) == damaged:
                    self._index.drop(build=True)
                self._index.attempt(self._index.refresh)
        except ReadOnly:
            self._build_aside()

    def index_problem(self, progress: Progress | None = None) -> str | None:
        """How the index differs from a fresh fold of the ledger; None if it does not."""
        if self._held.aside is not None:
            return None  # folded from the ledger by this very process
        try:
            return difference(self.index_path, self.ledger_path, self._held.name, progress)
        except FOREIGN as error:
            raise as_ours(error) from error

    def _read_without_writing(self) -> None:
        """Where nothing can be written, an index that is missing or old is made in memory."""
        if self._held.aside is None and not is_up_to_date(self.index_path, self.ledger_path):
            self._build_aside()

    def _build_aside(self) -> None:
        held = self._held
        if not held.ledger_path.exists():
            raise NotFound(f"there is no space {held.name!r} in {held.folder}")
        with closing(OpenedLedger(held.ledger_path)) as opened:
            held.aside = index_aside(held.name, opened.pieces(), held.ledger_path)
