"""Event logs: in memory, and in a file of lines.

Responsible for appending and listing events, and for telling which lines could not be used. Leaves
what events lead to to ``replay``. Invariants: events are never changed, and their order is that
of the log; one bad line hides no other.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Final

from recollect.contracts.graph.lines import LineFile
from recollect.contracts.graph.protocols import MemoryGraphStore
from recollect.contracts.graph.replay import replayed
from recollect.contracts.graph.values import Snapshot
from recollect.errors import Conflict, InvalidInput
from recollect.exchange.workspace import EVENT_SCHEMA, line, parse
from recollect.model import validate
from recollect.model.validate import Json
from recollect.model.values import Finding
from recollect.store.seam import REAL, Seam

List = list  # ``list`` is also the name of a call
SCHEMA: Final = "schema_version"
_NAMED_MAX_COUNT: Final = 100  # lines that are named; the others are counted


class InMemoryEventLog:
    """An event log that is gone when the program ends."""

    def __init__(self) -> None:
        self._events: dict[str, dict[str, Json]] = {}

    def append(self, event: Mapping[str, Json]) -> None:
        """Append an event; ``Conflict`` if its id is in the log."""
        made = checked(event)
        _check_new(str(made["id"]), self._events)
        self._events[str(made["id"])] = made

    def list(self, kind: str | None = None) -> List[dict[str, Json]]:
        """The events, of one kind or of all, in the order in which they were appended."""
        return _of_kind(self._events, kind)

    def replay(self, source: MemoryGraphStore | None = None) -> Snapshot:
        """The graph that the events lead to, after them what the ledger of ``source`` says.

        What the events only name comes from ``source`` too.
        """
        return replayed(self.list(), source)

    def diagnostics(self) -> List[Finding]:
        """Nothing: every event was checked when it was appended."""
        return []


class JsonlMemoryEventLog:
    """An event log in a file: one JSON object on each line, with ``id`` and ``kind``."""

    def __init__(self, path: str | os.PathLike[str], *, seam: Seam = REAL) -> None:
        """Over a file, which is created with the first event."""
        self.path = Path(path).expanduser().absolute()
        self._file = LineFile(self.path, self._take, self._restart, seam)
        self._restart()

    def append(self, event: Mapping[str, Json]) -> None:
        """Append an event; ``Conflict`` if its id is in the log. It is durable on return."""
        made = checked(event)

        def new_line() -> bytes:
            _check_new(str(made["id"]), self._events)
            return line({**made, SCHEMA: EVENT_SCHEMA})

        self._file.append(new_line)

    def list(self, kind: str | None = None) -> List[dict[str, Json]]:
        """The events, of one kind or of all, in the order of their lines."""
        self._file.refresh()
        return _of_kind(self._events, kind)

    def replay(self, source: MemoryGraphStore | None = None) -> Snapshot:
        """The graph that the events lead to, after them what the ledger of ``source`` says.

        What the events only name comes from ``source`` too.
        """
        return replayed(self.list(), source)

    def diagnostics(self) -> List[Finding]:
        """The lines that could not be used, each with its number."""
        self._file.refresh()
        found = self._problems[:_NAMED_MAX_COUNT]
        if self._file.tail:
            detail = f"the end of {self.path.name}, {len(self._file.tail):,} bytes, is not a line"
            found = [*found, _problem("lines", detail)]
        rest = len(self._problems) - _NAMED_MAX_COUNT
        if rest > 0:
            found.append(_problem("lines", f"{rest:,} more lines of {self.path.name}"))
        return found

    def _restart(self) -> None:
        self._events: dict[str, dict[str, Json]] = {}
        self._numbers: dict[str, int] = {}
        self._problems: List[Finding] = []

    def _take(self, number: int, raw: bytes) -> None:
        where = f"line {number} of {self.path.name}"
        try:
            given = parse(raw, where)
            schema = given.pop(SCHEMA, EVENT_SCHEMA)
            if schema != EVENT_SCHEMA:
                detail = f"{where} says {schema!r}, and this release knows {EVENT_SCHEMA!r}"
                self._problems.append(_problem("schema", detail))
                return
            event = checked(given)
        except InvalidInput as error:
            detail = error.message if where in error.message else f"{where}: {error.message}"
            self._problems.append(_problem("lines", detail))
            return
        id = str(event["id"])
        if id in self._events:
            detail = f"{where} repeats the id {id!r} of line {self._numbers[id]}, which counts"
            self._problems.append(_problem("duplicates", detail))
            return
        self._events[id], self._numbers[id] = event, number


def checked(event: Mapping[str, Json]) -> dict[str, Json]:
    """An event that can be written and read again; its ``id`` and ``kind`` are texts."""
    made = validate.data(event, "an event")
    validate.identifier(_text(made, "id"), "the id of an event")
    validate.name(_text(made, "kind"), "the kind of an event")
    schema = made.pop(SCHEMA, EVENT_SCHEMA)
    if schema != EVENT_SCHEMA:
        raise InvalidInput(f"the event {made['id']!r} says {schema!r}, not {EVENT_SCHEMA!r}")
    return made


def _text(made: Mapping[str, Json], name: str) -> str:
    value = made.get(name)
    if not isinstance(value, str):
        raise InvalidInput(f"an event needs {name!r}, a text")
    return value


def _check_new(id: str, known: Mapping[str, object]) -> None:
    if id in known:
        raise Conflict(
            f"the log has an event with the id {id!r}",
            hint="events are appended once; use a new id",
        )


def _of_kind(events: Mapping[str, dict[str, Json]], kind: str | None) -> list[dict[str, Json]]:
    """Copies, so that a caller changes nothing here."""
    return [deepcopy(event) for event in events.values() if kind in (None, event["kind"])]


def _problem(what: str, detail: str) -> Finding:
    fix = {
        "schema": "update Recollect: another release wrote this line",
        "duplicates": "nothing has to be done: the first one counts. Write each event once",
    }.get(what, "correct the line, or remove it from a copy of the file. The others are used")
    return Finding(level="problem", what=what, detail=detail, fix=fix)
