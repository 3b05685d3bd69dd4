"""Audit sinks: in memory, and in a file of lines.

Responsible for appending what a runtime did. Leaves what a record says to ``runtime``. Invariant: a
record is durable when ``write`` returns, and is never changed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from recollect.contracts.graph.lines import LineFile
from recollect.errors import InvalidInput
from recollect.exchange.workspace import AUDIT_SCHEMA, line, parse
from recollect.model import validate
from recollect.model.counts import counted
from recollect.model.validate import Json
from recollect.model.values import Finding
from recollect.store.seam import REAL, Seam

List = list  # ``list`` is also the name of a call


class InMemoryAuditSink:
    """An audit sink that is gone when the program ends."""

    def __init__(self) -> None:
        self._records: List[dict[str, Json]] = []

    def write(self, record: Mapping[str, Json]) -> None:
        """Append a record."""
        self._records.append(validate.data(record, "an audit record"))

    def list(self) -> List[dict[str, Json]]:
        """The records, in order."""
        return [dict(record) for record in self._records]

    def diagnostics(self) -> List[Finding]:
        """Nothing: every record was checked when it was written."""
        return []


class JsonlAuditSink:
    """An audit sink in a file: one JSON object on each line."""

    def __init__(self, path: str | os.PathLike[str], *, seam: Seam = REAL) -> None:
        """Over a file, which is created with the first record."""
        self.path = Path(path).expanduser().absolute()
        self._file = LineFile(self.path, self._take, self._restart, seam)
        self._restart()

    def write(self, record: Mapping[str, Json]) -> None:
        """Append a record; it is durable on return."""
        made = line({**validate.data(record, "an audit record"), "schema_version": AUDIT_SCHEMA})
        self._file.append(lambda: made)

    def list(self) -> List[dict[str, Json]]:
        """The records, in order; a line that could not be parsed is left out."""
        self._file.refresh()
        return [dict(record) for record in self._records]

    def diagnostics(self) -> List[Finding]:
        """The lines that could not be parsed, as one finding."""
        self._file.refresh()
        if not self._broken and not self._file.tail:
            return []
        first = f"line {self._broken[0]}" if self._broken else "the end"
        count = counted(len(self._broken) + bool(self._file.tail), "line")
        detail = f"{self.path.name} has {count} that could not be parsed, the first is {first}"
        fix = "correct a copy of the file. The other records are used"
        return [Finding(level="problem", what="lines", detail=detail, fix=fix)]

    def _restart(self) -> None:
        self._records: List[dict[str, Json]] = []
        self._broken: List[int] = []

    def _take(self, number: int, raw: bytes) -> None:
        try:
            given = parse(raw, f"line {number} of {self.path.name}")
        except InvalidInput:
            self._broken.append(number)
            return
        given.pop("schema_version", None)
        self._records.append(given)
