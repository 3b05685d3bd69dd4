"""The log of chronomemory: ``events.wal``, a chain of JSON lines, with a snapshot beside it.

Responsible for checking the chain and for the state that it leads to. Leaves storing to
``memory.importing`` and ``contracts.chrono``. Invariants: nothing after the first damaged line is
read; what was deleted there is never imported. Both dialects of the hash are read: JSON with blanks
after its marks, and without.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Final, NamedTuple

from recollect.exchange.items import (
    Chain,
    Found,
    GoneItem,
    RecordItem,
    Source,
    Trouble,
    data_of,
    fraction_of,
    lines_of,
    moment_of,
    name_of,
    named,
    names_of,
    text_of,
)
from recollect.exchange.json_stream import BrokenJsonError, elements
from recollect.exchange.statuses import standing
from recollect.model.events import SourceType

FORMAT: Final = "chrono"
_SNAPSHOT: Final = "snapshot.json"
_COMPACTED: Final = "__compact__"
_BACKUP: Final = "backup/"
_DIALECTS: Final = {"spaced": (", ", ": "), "compact": (",", ":")}
_SOURCES: Final[Mapping[object, SourceType]] = {"observed": "observed", "inferred": "inferred"}
_OWN: Final = ("id", "kind", "status", "label", "confidence", "source_type", "is_hypothesis")
DELETED: Final = ("tombstone", "deleted")


class Entry(NamedTuple):
    """What a log says last of an id: where, when, its record as JSON, and whether it is deleted."""

    where: str
    said_at: str | None
    record: bytes | None
    is_deleted: bool = False

    def fields(self) -> dict[str, object]:
        """The record as the log has it; empty if it has none."""
        found = None if self.record is None else json.loads(self.record)
        return found if isinstance(found, dict) else {}


class LogState(NamedTuple):
    """Where a log leads: its entries by id, the seq of its last event and how far it holds."""

    entries: dict[str, Entry]
    seq: int
    chain: Chain
    troubles: list[Trouble]


def recognizes(name: str, head: bytes) -> bool:
    """True if a file is such a log."""
    first = head[:4000]
    return name.endswith(".wal") and b'"prev_hash"' in first and b'"record_id"' in first


def read(sources: Sequence[Source]) -> Iterator[Found]:
    """The records that a log leads to, and how far its chain holds."""
    chosen = [one for one in sources if _BACKUP not in one.name]
    snapshots = {_folder(one): one for one in chosen if one.name.endswith(_SNAPSHOT)}
    for source in chosen:
        if source.name.endswith(".wal"):
            yield from _log(source, snapshots.get(_folder(source)))


def _folder(source: Source) -> str:
    return source.name.rpartition("/")[0]


def _log(source: Source, snapshot: Source | None) -> Iterator[Found]:
    state = state_of(source, snapshot)
    yield state.chain
    yield from state.troubles
    if state.chain.broken_at is not None:
        why = "the chain is broken here; this line and those after it were not read"
        yield Trouble(where=f"{source.name}:{state.chain.broken_at}", why=why)
    for id, entry in state.entries.items():
        yield _item(id, entry)


def state_of(source: Source, snapshot: Source | None) -> LogState:
    """Follows a log as far as its chain holds, from its snapshot if it was compacted."""
    entries: dict[str, Entry] = {}
    troubles: list[Trouble] = []
    before, number, seq, broken = "", 0, 0, None
    dialects: set[str] = set()
    for number, line in lines_of(source):
        event, dialect = _checked(line or b"", before)
        if event is None:
            broken = number
            break
        if number == 1 and event.get("record_id") == _COMPACTED and snapshot is not None:
            troubles += _snapshot(snapshot, entries)
        dialects.add(dialect)
        before, seq = str(event.get("hash")), _seq_of(event, seq)
        _apply(entries, f"{source.name}:{number}", event)
    dialect = "mixed" if len(dialects) > 1 else "".join(dialects) or "no"
    held = number if broken is None else number - 1
    chain = Chain(where=source.name, lines=held, dialect=dialect, broken_at=broken)
    return LogState(entries, seq, chain, troubles)


def _seq_of(event: Mapping[str, object], before: int) -> int:
    seq = event.get("seq")
    return seq if isinstance(seq, int) and not isinstance(seq, bool) else before + 1


def _checked(line: bytes, before: str) -> tuple[dict[str, object] | None, str]:
    """An event whose hash holds and follows the one before, and the dialect of its hash."""
    try:
        event = json.loads(line)
        if not isinstance(event, dict) or event.get("prev_hash") != before:
            return None, ""
        hashed = {key: value for key, value in event.items() if key != "hash"}
        for dialect, separators in _DIALECTS.items():
            text = json.dumps(hashed, sort_keys=True, ensure_ascii=False, separators=separators)
            if sha256(text.encode()).hexdigest() == event.get("hash"):
                return event, dialect
    except (ValueError, RecursionError):
        pass
    return None, ""


def _apply(entries: dict[str, Entry], where: str, event: Mapping[str, object]) -> None:
    id = name_of(event.get("record_id"))
    if id is None or id == _COMPACTED:
        return
    said_at = moment_of(event.get("ts"))
    if event.get("op") == "delete":  # its record is blank
        known = entries.get(id)
        entries[id] = Entry(where, said_at, known.record if known else None, is_deleted=True)
    else:
        entries[id] = Entry(where, said_at, json.dumps(event.get("record")).encode())


def _snapshot(source: Source, entries: dict[str, Entry]) -> Iterator[Trouble]:
    said_at = None
    try:
        for key, element in elements(source.chunks()):
            if key == "ts":
                said_at = moment_of(element)
            elif key == "records" and isinstance(element, Mapping):
                id = name_of(element.get("id"))
                if id is not None:
                    entries[id] = Entry(source.name, said_at, json.dumps(element).encode())
    except BrokenJsonError as error:
        yield Trouble(where=source.name, why=str(error))


def _item(id: str, entry: Entry) -> Found:
    record, where = entry.fields(), entry.where
    if entry.is_deleted or not record or record.get("status") in DELETED:
        return GoneItem(id=named(FORMAT, id), where=where)
    text = text_of(record.get("label"))
    if not text:
        return Trouble(where=where, why=f"{id} has no label")
    rest = {
        key: value for key, value in data_of(record, *_OWN, "evidence", "data").items() if value
    }
    return RecordItem(
        id=named(FORMAT, id),
        text=text,
        where=where,
        kind=name_of(record.get("kind")),
        confidence=fraction_of(record.get("confidence")),
        evidence=names_of(record.get("evidence") or []),
        is_hypothesis=record.get("is_hypothesis") is True,
        source_type=_SOURCES.get(record.get("source_type")),
        data=data_of(record.get("data")) | rest | {"status": text_of(record.get("status"))},
        said_at=entry.said_at,
        status=standing(record.get("status")),
    )
