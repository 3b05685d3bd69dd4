"""The log of the original and the JSON of specsmith, as records of this API.

Responsible for reading both without changing a file. Leaves checking the chain to
``exchange.chrono`` and storing to ``taking_over``. Invariants: an original log is recognized by
its first line; what cannot be a record is counted, never guessed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from recollect.contracts.chrono.records import (
    ACTIVE,
    DEFAULT_CONFIDENCE,
    TOMBSTONE,
    ChronoRecord,
)
from recollect.errors import InvalidInput, NotFound
from recollect.exchange import chrono
from recollect.exchange.chrono import DELETED, Entry, LogState
from recollect.exchange.injected import storable
from recollect.exchange.items import (
    data_of,
    fraction_of,
    name_of,
    named,
    names_of,
    short,
)
from recollect.exchange.json_stream import BrokenJsonError, elements
from recollect.memory.import_files import FileSource, files_at
from recollect.model import validate
from recollect.store.layout import LEDGER
from recollect.store.regular_files import read_regular

REQUIREMENTS: Final = ("requirements.json", "requirement")
TESTCASES: Final = ("testcases.json", "testcase")
_HEAD_BYTES: Final = 4_000
_LABEL_MAX_CHARS: Final = 200_000


class Original(NamedTuple):
    """An original log: where it leads, and whether its last line was cut off by a crash."""

    state: LogState
    is_torn: bool

    @property
    def is_sound(self) -> bool:
        """True if the chain holds to the end of the file."""
        return self.state.chain.broken_at is None


def is_original(path: Path) -> bool:
    """True if a file is a log of the original."""
    try:
        return chrono.recognizes(LEDGER, read_regular(path, _HEAD_BYTES))
    except OSError:
        return False


def read_original(path: Path, snapshot: Path) -> Original:
    """Follow an original log, from its snapshot if it was compacted."""
    source = _source(path)
    beside = _source(snapshot) if snapshot.is_file() else None
    state = chrono.state_of(source, beside)
    broken = state.chain.broken_at
    lines, last = 0, b"\n"
    if broken is not None:
        for piece in source.chunks():
            lines, last = lines + piece.count(b"\n"), piece[-1:]
    return Original(state, is_torn=broken is not None and last != b"\n" and broken == lines + 1)


def records_in(state: LogState) -> Iterator[tuple[ChronoRecord, str | None]]:
    """The records that a log leads to, the deleted ones as tombstones, and when each was said."""
    for id, entry in state.entries.items():
        yield _record(id, entry), entry.said_at


def _record(id: str, entry: Entry) -> ChronoRecord:
    fields = entry.fields()
    status = name_of(fields.get("status")) or ACTIVE
    depth = fields.get("recursion_depth")
    boundary = fields.get("epistemic_boundary")
    return ChronoRecord(
        id=id if _is_id(id) else short(named("chrono", id)),
        kind=name_of(fields.get("kind")) or "fact",
        status=TOMBSTONE if entry.is_deleted or status in DELETED else status,
        label=_label(fields.get("label")),
        confidence=_confidence(fields),
        source_type=name_of(fields.get("source_type")) or "observed",
        evidence=list(names_of(fields.get("evidence") or [])),
        epistemic_boundary=cast(
            "list[str]", _plain(boundary if isinstance(boundary, list) else [])
        ),
        is_hypothesis=fields.get("is_hypothesis") is True,
        model_assumptions=data_of(fields.get("model_assumptions")),
        recursion_depth=depth if isinstance(depth, int) and 0 <= depth < 1 << 31 else 0,
        data=data_of(fields.get("data"), "chrono"),
    )


class Items(NamedTuple):
    """What a file of specsmith holds: the records, and how many elements are objects or are not."""

    records: list[ChronoRecord]
    objects: int
    others: int


def items_in(folder: Path, which: tuple[str, str]) -> Items:
    """The requirements or the test cases in a folder; none if the file is not there."""
    name, kind = which
    records: dict[str, ChronoRecord] = {}
    objects, others = 0, 0
    for element in _elements(folder / name):
        is_object = isinstance(element, Mapping)
        objects += is_object
        found = _item(element, kind, name) if isinstance(element, Mapping) else None
        if found is None or found.id in records:
            others += 1
        else:
            records[found.id] = found
    return Items(list(records.values()), objects, others)


def require_folder(folder: Path) -> Path:
    """Refuses a folder that is not there, which would look like one without files."""
    if not folder.is_dir():
        raise NotFound(f"{folder} is not a folder", hint="name the folder of requirements.json")
    return folder


def _elements(path: Path) -> Iterator[object]:
    if not path.is_file():
        return
    try:
        for _, element in elements(_source(path).chunks()):
            yield element
    except BrokenJsonError as error:
        raise InvalidInput(f"{path} could not be read: {error}", hint="correct the file") from error


def _item(given: Mapping[str, object], kind: str, file: str) -> ChronoRecord | None:
    id = name_of(given.get("id"))
    if id is None:
        return None
    status = given.get("status")
    is_old = isinstance(status, str) and "deprecat" in status.lower()
    return ChronoRecord(
        id=id if _is_id(id) else short(named("specsmith", id)),
        kind=kind,
        status="deprecated" if is_old else ACTIVE,
        label=_label(given.get("title")),
        confidence=_confidence(given),
        evidence=[f"migrated from {file}"],
        data=data_of(given, "chrono"),
    )


def _is_id(id: str) -> bool:
    try:
        return validate.identifier(id) == id
    except InvalidInput:
        return False


def _label(value: object) -> str:
    return storable(value)[:_LABEL_MAX_CHARS] if isinstance(value, str) else ""


def _confidence(fields: Mapping[str, object]) -> float:
    found = fraction_of(fields.get("confidence"))
    return DEFAULT_CONFIDENCE if found is None else found


def _plain(value: list[Any]) -> Any:
    """A list as JSON that can be stored."""
    return data_of({"list": value})["list"]


def _source(path: Path) -> FileSource:
    (source,) = files_at(path, lambda count: None)
    return source
