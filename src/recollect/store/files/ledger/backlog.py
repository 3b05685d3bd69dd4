"""The backlog: rows of events that are durable in the ledger and not yet in the index.

Responsible for keeping the rows of plain writes in memory for a moment, so that the index takes
many in one transaction, and for what this process owes its readers. Leaves when to fold them to
``store.files.open_files`` and ``store.files.ledger.quiet``, and the lock, which the caller holds,
to ``store.files.lock``. Invariants: every event of a backlog is in the ledger and synced; rows are
sent only together with the position that they lead to; any read through a backlog, except by a name
that none of its rows touches, begins with sending them.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from recollect.index.reads import Reads
from recollect.index.rows import PositionRow, Row
from recollect.index.tables import Names, Params
from recollect.store.sqlite import FileId, Moved, SqliteDb
from recollect.store.write_path import Ground

if TYPE_CHECKING:  # loaded only when a filter is used
    from recollect.index.filter import Filter

EVENTS_MAX_COUNT: Final = 64
_MAX_BYTES: Final = 1 << 20  # of their lines in the ledger
_FEW: Final = 4

# For each active file, the last event that this process acknowledged before the index had it.
_OWED: Final[dict[FileId, int]] = {}
# What closes such a file that is used no more: until then no other file gets its number.
_KEPT: Final[dict[FileId, Callable[[], None]]] = {}


def owe(ledger: FileId, seq: int) -> None:
    """Notes, before a write is acknowledged, that the index lacks its rows."""
    _OWED[ledger] = seq


def settle(ledger: FileId, seq: int) -> None:
    """Notes that the index has the events up to this one."""
    if _OWED.get(ledger, seq) <= seq:
        _OWED.pop(ledger, None)
        close = _KEPT.pop(ledger, None)
        if close is not None:
            close()


def owed(ledger: FileId | None) -> int:
    """The event up to which a read of this process must see the ledger; 0 if there is none."""
    return 0 if ledger is None else _OWED.get(ledger, 0)


def close_or_keep(ledger: FileId, close: Callable[[], None]) -> None:
    """Closes a file, or keeps it open until the index has what its readers are owed."""
    if ledger in _OWED and ledger not in _KEPT:
        _KEPT[ledger] = close
    else:
        close()


class Pace:
    """Whether it pays to let rows wait: not while a read follows on each write or two."""

    def __init__(self) -> None:
        self._skips = 0  # how many more appends do not wait
        self._last = 0  # how many did not, the last time

    def lets_wait(self) -> bool:
        """True if the rows of this append may wait."""
        if self._skips == 0:
            return True
        self._skips -= 1
        return False

    def was_read(self, waiting: int) -> None:
        """Notes that a read had to fold so many events."""
        few = waiting < _FEW
        self._last = min(2 * self._last or _FEW, EVENTS_MAX_COUNT) if few else 0
        self._skips = self._last


class Backlog:
    """An index with its waiting rows, as the ``Db`` in which the next append is decided.

    It begins empty, where ledger and index stand at the same event.
    """

    def __init__(self, db: SqliteDb, position: PositionRow, left: str) -> None:
        self.db = db
        self.position = position  # where the ledger stands
        self.left = left  # the stamp of the active file there
        self.ground = Ground.on(self, settled=db)
        self.tables = self.ground.tables
        self._base = position  # where the index stands
        self.since_s = 0.0  # when the first row began to wait

    def __len__(self) -> int:
        return self.position.seq - self._base.seq

    def has_room(self, events: int, size_bytes: int) -> bool:
        """True if so many more events, with lines of this size, may wait."""
        waiting = self.position.offset - self._base.offset
        return len(self) + events < EVENTS_MAX_COUNT and waiting + size_bytes < _MAX_BYTES

    @property
    def is_sent(self) -> bool:
        """True once rows were sent: then the transaction must be committed or rolled back."""
        return self.db.in_transaction

    def add(self, position: PositionRow, left: str) -> None:
        """Notes that the events of the rows in ``tables`` are in the ledger."""
        if not self:
            self.since_s = time.monotonic()
        self.position, self.left = position, left

    def look_up(self, names: Names) -> None:
        """Looks up in one query what deciding about one new sentence will look for.

        An act that names anything else is left to the reads by name.
        """
        if names.episodes or names.keys or len(names.records) != 1 or len(names.contents) != 1:
            return
        (id,), (content,) = names.records, names.contents
        found = self.tables.settle(id, content).one("is_there", (id, content))
        if found == (0, 0):
            self.tables.lack(names)

    def send(self, position: PositionRow) -> None:
        """Sends all rows and moves the index to a position; the caller commits."""
        self.tables.flush()
        self._begun().many("move_position", [(*position[2:7],)])

    def fold(self) -> None:
        """Brings the index up to the ledger, in one transaction."""
        try:
            self._begun()
            self.tables.flush()
            self.db.many("leave_active", [(self.left,)])
            self.db.run("commit")
        except BaseException:
            if self.db.in_transaction:
                with suppress(sqlite3.Error):
                    self.db.run("rollback")
            raise

    def _begun(self) -> SqliteDb:
        """The index in a transaction, at the position at which the ledger stands."""
        if not self.db.in_transaction:
            if not self.db.is_in_place:
                raise Moved("the index was deleted or replaced")
            self.db.run("begin_write")
            if Reads(self.db).position() != self._base:
                raise Moved("another process has folded these events")
            if self.position != self._base:
                self.db.many("move_position", [(*self.position[2:7],)])
        return self.db

    def _whole(self) -> SqliteDb:
        """The index with every row."""
        self.tables.flush()
        return self.db

    # The methods of ``Db``.

    def rows(self, name: str, params: Params, where: Filter | None = None) -> list[Row]:
        """All rows of a read; with a filter, at least those that it matches."""
        return self._whole().rows(name, params, where)

    def one(self, name: str, params: Params) -> Row | None:
        """The first row of a read, or None."""
        return self._whole().one(name, params)

    def ones(self, name: str, params: Sequence[Params]) -> list[Row | None]:
        """The first row of the same read for each of these parameters."""
        return self._whole().ones(name, params)

    def stream(self, name: str, params: Params) -> Iterable[Row]:
        """The rows of a read, without holding them all."""
        return self._whole().stream(name, params)

    def many(self, name: str, rows: Sequence[Row]) -> None:
        """Runs one write for each of these rows, in order."""
        self._begun().many(name, rows)

    def run(self, name: str) -> None:
        """Runs a statement without rows, such as the end of a transaction."""
        self._begun().run(name)
