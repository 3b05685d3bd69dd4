"""``EsdbBridge``: the requirements and test cases of a project, from wherever it has them.

Responsible for choosing the source: a memory, a log of the original, or the JSON of specsmith.
Leaves reading to ``store`` and ``originals``. Invariant: a bridge changes nothing; it creates no
memory and takes none over.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from recollect.contracts.chrono.originals import (
    REQUIREMENTS,
    TESTCASES,
    is_original,
    items_in,
    read_original,
)
from recollect.contracts.chrono.records import ChronoRecord, records_in
from recollect.contracts.chrono.store import FOLDER, ChronoStore
from recollect.errors import RecollectError
from recollect.exchange.importers.chrono import ACTIVE, items_of
from recollect.model.validate import Json
from recollect.store.disk.layout import LEDGER, SNAPSHOT, is_empty

WAL: Final = "ChronoStore WAL"
JSON: Final = ".specsmith/ JSON (run esdb migrate to upgrade)"
SPECSMITH: Final = ".specsmith"


@dataclass(frozen=True)
class BridgeStatus:
    """What a bridge reads from, and in which state that is."""

    available: bool
    backend: str
    record_count: int
    wal_seq: int = 0
    epoch: int = 0
    chain_valid: bool = True

    def to_dict(self) -> dict[str, Json]:
        """The six fields as JSON-ready data."""
        return asdict(self)


class EsdbBridge:
    """The records of a project: from its log if it has one, else from ``.specsmith/*.json``."""

    def __init__(self, project_dir: str | os.PathLike[str]) -> None:
        """Name the root of a project; nothing is read or created before it is asked for."""
        self.project = Path(project_dir).expanduser().absolute()

    def status(self) -> BridgeStatus:
        """Where the records are, how many are active, and whether the chain holds.

        Without a log ``record_count`` counts the objects in both files, also those without an id.
        """
        if self._is_original():
            found = read_original(self._folder / LEDGER, self._folder / SNAPSHOT)
            count = sum(record.status == ACTIVE for record in records_in(items_of(found.state)))
            return BridgeStatus(True, WAL, count, found.state.seq, 0, found.is_sound)
        if self._has_log():
            return self._of_store()
        files = [items_in(self._json, which) for which in (REQUIREMENTS, TESTCASES)]
        is_there = any((self._json / name).is_file() for name in (REQUIREMENTS, TESTCASES))
        return BridgeStatus(is_there, JSON, sum(one.objects for one in files))

    def requirements(self) -> list[ChronoRecord]:
        """The active requirements."""
        return self._records(REQUIREMENTS, "requirement")

    def testcases(self) -> list[ChronoRecord]:
        """The active test cases."""
        return self._records(TESTCASES, "testcase")

    def _records(self, file: str, kind: str) -> list[ChronoRecord]:
        if self._is_original():
            found = read_original(self._folder / LEDGER, self._folder / SNAPSHOT)
            every = records_in(items_of(found.state))
        elif self._has_log():
            with ChronoStore(self.project) as store:
                return store.query(kind=kind)
        else:
            every = records_in(items_in(self._json, file).found)
        return [one for one in every if (one.kind, one.status) == (kind, ACTIVE)]

    def _of_store(self) -> BridgeStatus:
        with ChronoStore(self.project) as store:
            is_valid = store.chain_valid()
            try:
                count, seq = len(store.query()), store.memory.events.position
            except RecollectError:  # a damaged store answers nothing else
                count, seq = 0, 0
            return BridgeStatus(True, WAL, count, seq, store.epoch, is_valid)

    @property
    def _folder(self) -> Path:
        return self.project / FOLDER

    @property
    def _json(self) -> Path:
        return self.project / SPECSMITH

    def _is_original(self) -> bool:
        return is_original(self._folder / LEDGER)

    def _has_log(self) -> bool:
        return not is_empty(self._folder)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.project)!r})"
