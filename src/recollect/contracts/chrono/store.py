"""``ChronoStore``: records by their ids, in a chain that can be checked.

Responsible for the calls of the store. Leaves where a field is stored to ``records``, the snapshot
to ``snapshot`` and what the original left to ``taking_over``. Invariants: a write is durable when
its call returns; a record that is written again unchanged leaves no event; nothing is compacted,
copied or deleted unless it is called for.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from recollect.contracts.chrono import snapshot, taking_over
from recollect.contracts.chrono.originals import (
    REQUIREMENTS,
    TESTCASES,
    items_in,
    require_folder,
)
from recollect.contracts.chrono.reads import Shown
from recollect.contracts.chrono.records import ChronoRecord, acts_for, record_id
from recollect.contracts.chrono.snapshot import Snapshot, render, require_known
from recollect.errors import (
    Changed,
    ConfigError,
    Conflict,
    IntegrityError,
    InvalidInput,
    NotFound,
    RecollectError,
    Unsupported,
)
from recollect.exchange.importers import specsmith
from recollect.exchange.importers.chrono import ACTIVE
from recollect.exchange.items import RecordItem, Trouble
from recollect.index.rows import VersionRow
from recollect.lifecycle.commands import Act, Forget
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of
from recollect.model import validate
from recollect.model.events import Trust
from recollect.model.values.records import SURE_MIN
from recollect.store.disk.disk import make_folder, replace_file
from recollect.store.disk.layout import SEALED, SEGMENT_SUFFIX, SNAPSHOT
from recollect.store.seam import REAL, Seam

FOLDER: Final = ".chronomemory"
_TRIES: Final = 100  # how often another program may write in between


class ChronoStore:
    """The records of a project, in ``.chronomemory`` of its folder.

    Writes have the trust ``trust``, by default an agent's: such a store cannot change what a
    person wrote.
    """

    def __init__(
        self,
        project_path: str | os.PathLike[str],
        *,
        trust: Trust = "agent",
        embedder: str = "none",
        seam: Seam = REAL,
    ) -> None:
        """Name the root of a project. Nothing is read or created before ``open``."""
        self.folder: Path | None = Path(project_path).expanduser().absolute() / FOLDER
        self._trust = trust
        self._embedder = embedder
        self._seam = seam
        self._whole: Memory | None = None  # with the trust of who opened the files
        self._memory: Memory | None = None

    @classmethod
    def over(cls, memory: Memory) -> Self:
        """The records of a memory that is open, on any engine; closing closes it."""
        made = cls.__new__(cls)
        made.folder, made._seam = None, REAL
        made._trust, made._embedder = memory.scope.trust, "none"
        made._whole = made._memory = memory
        return made

    def open(self) -> Self:
        """Open the store; a log of the original is taken over. Opening twice is fine."""
        if self._memory is not None:
            return self
        if self.folder is None:
            raise Conflict("the store is closed", hint="open the memory again, then use over()")
        if not self.folder.parent.is_dir():
            raise ConfigError(f"{self.folder.parent} is not a folder", hint="create it first")
        make_folder(self._seam, self.folder)
        taking_over.move_aside(self._seam, self.folder)
        self._whole = Memory.open(self.folder, embedder=self._embedder)
        try:
            self._memory = self._whole.scoped(trust=self._trust)
            taking_over.take_over(self._memory, self.folder)
        except IntegrityError:
            pass  # a damaged store opens, so that chain_valid() can say so; other calls fail
        except RecollectError:
            self.close()
            raise
        return self

    def close(self) -> None:
        """Release the files; closing twice is fine."""
        if self._whole is not None:
            if self.folder is not None:
                snapshot.note(self._seam, self._whole, self.folder)
            self._whole.close()
        self._whole = self._memory = None

    @property
    def memory(self) -> Memory:
        """The memory that holds the records."""
        if self._memory is None:
            raise Conflict(
                "the store is not open", hint="call open(), or use `with ChronoStore(…) as store:`"
            )
        return self._memory

    # Writing.

    def upsert(self, record: ChronoRecord) -> None:
        """Store a record; one with this id becomes what this one says, and is not reinforced."""
        if not isinstance(record, ChronoRecord):
            raise InvalidInput(
                f"upsert takes a ChronoRecord, not {type(record).__name__}",
                hint="ChronoRecord(**fields) makes one of a mapping",
            )
        id = record_id(record.id)
        handle = handle_of(self.memory)
        self._write(id, lambda row: acts_for(handle, row, record))

    def delete(self, id: str) -> None:
        """Tombstone a record: it leaves ``query``, and ``get`` still returns it."""
        record_id(id)
        handle = handle_of(self.memory)

        def acts(row: VersionRow | None) -> list[Act]:
            if row is None or not handle.may_see(row):
                raise NotFound(
                    f"no record has the id {validate.shown(id)}", hint="query() has them all"
                )
            return [] if row.status == "forgotten" else [Forget(id=id)]

        self._write(id, acts, Shown(handle).row(id))

    def _write(
        self, id: str, acts: Callable[[VersionRow | None], list[Act]], row: VersionRow | None = None
    ) -> None:
        """Submits what is to be done to a record as it is now, however many programs write.

        A new record is written without a read before it; the memory refuses an id that it has.
        """
        for _ in range(_TRIES):
            try:
                self.memory.events.submit(*acts(row), expect=None if row is None else (id, row.seq))
                return
            except Conflict as error:
                is_known = row is not None
                row = Shown(handle_of(self.memory)).row(id)
                if row is None or (is_known and not isinstance(error, Changed)):
                    raise
        raise Conflict("other programs did not stop writing", hint="try again")

    # Reading.

    def get(self, id: str) -> ChronoRecord | None:
        """The record with exactly this id, also a tombstone; None if there is none."""
        found = Shown(handle_of(self.memory)).one(id)
        return None if found is None else found[0]

    def query(
        self,
        kind: str | None = None,
        min_confidence: float = 0.0,
        rag_filter: bool = False,
        *,
        status: str | None = ACTIVE,
    ) -> list[ChronoRecord]:
        """The records that are active, the first written first.

        Args:
            kind: Only those of this kind.
            min_confidence: Only those with at least this confidence.
            rag_filter: Only those that may go into a prompt: with a confidence of 0.6 or more.
            status: Another status, such as ``tombstone``; None for all.
        """
        least = validate.fraction(min_confidence, "min_confidence")
        if validate.flag(rag_filter, "rag_filter"):
            least = max(least, SURE_MIN)  # rule H18
        return Shown(handle_of(self.memory)).all(kind, least, status)

    # Upkeep.

    def chain_valid(self) -> bool:
        """True if nothing was changed behind the store's back.

        Every line of the ledger is checked and folded again; the index and the snapshot must have
        exactly what comes of it. It must have the last event that a store saw when it was closed,
        and no lines were moved aside but what a crash leaves.
        """
        memory = self.memory
        try:
            kept = self._snapshot()
            if memory.events.position == 0:
                return kept is None and not self._was_changed()
            anchor = None if kept is None else kept.anchor
            if not memory.admin.verify(deep=True, anchor=anchor).ok:
                return False
            return (kept is None or kept.is_of(memory)) and not self._was_changed()
        except (IntegrityError, InvalidInput, OSError):
            return False

    def _was_changed(self) -> bool:
        folder, memory = self.folder, self.memory
        return folder is not None and (
            snapshot.is_cut(memory, folder) or snapshot.was_added_to(folder)
        )

    def compact(self) -> int:
        """Close the active file into a segment and write a snapshot; returns how many events.

        Afterwards ``events.wal`` has one line. The events before it are in ``sealed/``.
        """
        memory = self._for_upkeep("compacting")
        if self.folder is not None:
            require_known(self.folder / SNAPSHOT, memory, memory.events.position)
        done = memory.admin.seal()
        if self.folder is not None and done.seq:
            self.snapshot()
        return done.events

    def snapshot(self) -> str:
        """Write ``snapshot.json``: every record as it is now; returns its path.

        Raises:
            Conflict: There is one that was not made from this memory, or was changed.
        """
        if self.folder is None:
            raise Unsupported("this memory has no folder", hint="use ChronoStore(project)")
        status = self._for_upkeep("a snapshot").status()
        path = self.folder / SNAPSHOT
        require_known(path, self.memory, status.seq)
        if path.is_symlink():  # its author would choose the file to overwrite
            self._seam.unlink(path)
        replace_file(self._seam, path, [render(self.memory, status.seq, status.head)])
        return str(path)

    def backup(self) -> str:
        """Copy the ledger to ``backup/<YYYYMMDDTHHMMSS>``; returns the path."""
        return self._for_upkeep("a backup").admin.backup().path

    def _for_upkeep(self, what: str) -> Memory:
        """The memory with the trust of who opened its files, unless the store has none."""
        memory = self.memory
        if memory.scope.trust == "unverified" or self._whole is None:
            handle_of(memory).require_person(what)
        return self._whole or memory

    def _snapshot(self) -> Snapshot | None:
        path = None if self.folder is None else self.folder / SNAPSHOT
        there = path is not None and os.path.lexists(path)
        return Snapshot(path) if path is not None and there else None

    @property
    def epoch(self) -> int:
        """How often the store was compacted."""
        if self.folder is None:
            return 0
        return len(list((self.folder / SEALED).glob(f"*{SEGMENT_SUFFIX}")))

    # Migrating.

    def migrate_from_json(self, folder: str | os.PathLike[str]) -> dict[str, int]:
        """Take over ``requirements.json`` and ``testcases.json`` of a folder.

        What has no id, or an id that the store has already, is skipped. ``recollect import`` does
        the same, so both can be run, in any order.
        """
        place = require_folder(Path(folder).expanduser())
        counts = {"requirements": 0, "testcases": 0, "skipped": 0}
        for name, file in (("requirements", REQUIREMENTS), ("testcases", TESTCASES)):
            found = items_in(place, file).found
            counts[name] = taking_over.take(self.memory, specsmith.FORMAT, found).records
            elements = sum(type(one) in (RecordItem, Trouble) for one in found)
            counts["skipped"] += elements - counts[name]
        return counts

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        where = "over a memory" if self.folder is None else str(self.folder.parent)
        return f"{type(self).__name__}({where!r})"
