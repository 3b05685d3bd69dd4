"""The log of chronomemory: ``events.wal``, a chain of JSON lines, with a snapshot beside it.

Responsible for checking the chain and for the state that it leads to. Leaves storing to
``memory.exchange.imports`` and ``contracts.chrono``. Invariants: nothing after the first damaged
line is read; a record keeps its id; what was deleted there is forgotten here. Both dialects of the
hash are read: JSON with blanks after its marks, and without.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple, get_args

from recollect.exchange.importers.statuses import standing
from recollect.exchange.injected import storable
from recollect.exchange.items import (
    Chain,
    Found,
    RecordItem,
    Source,
    Trouble,
    data_of,
    fraction_of,
    kept,
    lines_of,
    moment_of,
    name_of,
    named,
    names_of,
    once,
)
from recollect.exchange.json_stream import BrokenJsonError, elements
from recollect.model.events import Archival, SourceType
from recollect.model.validate import Json

FORMAT: Final = "chrono"
_SNAPSHOT: Final = "snapshot.json"
_TAKEN_OVER: Final = ".wal.original"  # what a memory has made of a log's name
_LOGS: Final = (".wal", _TAKEN_OVER)
_OURS: Final = b'{"v":'
_COMPACTED: Final = "__compact__"
_BACKUP: Final = "backup/"
_DIALECTS: Final = {"spaced": (", ", ": "), "compact": (",", ":")}
KEY: Final = "chrono"  # of a record's data: what a memory has no field for
ACTIVE: Final = "active"
TOMBSTONE: Final = "tombstone"
DELETED: Final = (TOMBSTONE, "deleted")
DEFAULT_CONFIDENCE: Final = 0.7
STORED_BESIDE: Final = ("epistemic_boundary", "model_assumptions", "recursion_depth")
_SOURCE_TYPES: Final = get_args(SourceType)
_OTHER_SOURCE: Final[SourceType] = "told"
_OF_THE_MEMORY: Final = ("held", "expired", "inbox")  # statuses that no record can ask for
_LABEL_MAX_CHARS: Final = 200_000


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
    """True if a file is such a log. The first record, between the two keys, may be long.

    A ledger of ours, which begins otherwise, may have both keys in the data of a record.
    """
    first = head[:4000]
    is_ours = not first.startswith(b"{") or first.startswith(_OURS)
    has_key = b'"record_id"' in first or b'"prev_hash"' in first
    return name.endswith(_LOGS) and has_key and not is_ours


def read(sources: Sequence[Source]) -> Iterator[Found]:
    """The records that a log leads to, and how far its chain holds."""
    chosen = [one for one in sources if _BACKUP not in one.name]
    by_name = {one.name: one for one in chosen}
    logs = (one for one in chosen if one.name.endswith(_LOGS))
    yield from once(found for source in logs for found in _log(source, _beside(source, by_name)))


def _beside(log: Source, by_name: Mapping[str, Source]) -> Source | None:
    """The snapshot of a log; one that was taken over has it under the log's name."""
    if log.name.endswith(_TAKEN_OVER):
        return by_name.get(f"{log.name}-snapshot")
    folder, slash, _ = log.name.rpartition("/")
    return by_name.get(f"{folder}{slash}{_SNAPSHOT}")


def _log(source: Source, snapshot: Source | None) -> Iterator[Found]:
    if next(iter(source.chunks()), b"").startswith(_OURS):
        why = (
            "this is a ledger of Recollect; copy what was written in it with `recollect admin push`"
        )
        yield Trouble(where=source.name, why=why)
        return
    state = state_of(source, snapshot)
    yield state.chain
    yield from state.troubles
    if state.chain.broken_at is not None:
        why = "the chain is broken here; this line and those after it were not read"
        yield Trouble(where=f"{source.name}:{state.chain.broken_at}", why=why)
    yield from items_of(state)


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


def items_of(state: LogState) -> Iterator[RecordItem]:
    """The records that a log leads to; a tombstone is one that is forgotten."""
    return (_item(id, entry) for id, entry in state.entries.items())


def _item(id: str, entry: Entry) -> RecordItem:
    fields = entry.fields()
    is_gone = entry.is_deleted or fields.get("status") in DELETED
    return belief(FORMAT, id, fields, entry.where, said_at=entry.said_at, is_gone=is_gone)


def belief(
    format: str,
    id: str,
    fields: Mapping[str, object],
    where: str,
    *,
    said_at: str | None = None,
    is_gone: bool = False,
) -> RecordItem:
    """A record of S0, whatever its fields say, as ``contracts.chrono`` stores it."""
    own_id = kept(format, id)
    status = name_of(fields.get("status")) or ACTIVE
    said = {name: read(fields.get(name)) for name, read in _READ.items()} | {"status": status}
    text, source_type, beside = stored_as(own_id, said)
    confidence = fraction_of(fields.get("confidence"))
    data = data_of(fields.get("data"), KEY)
    return RecordItem(
        id=own_id,
        name=named(format, id),
        text=text,
        where=where,
        kind=name_of(fields.get("kind")) or "fact",
        confidence=DEFAULT_CONFIDENCE if confidence is None else confidence,
        evidence=names_of(fields.get("evidence") or []),
        is_hypothesis=fields.get("is_hypothesis") is True,
        source_type=source_type,
        data=data | ({KEY: beside} if beside else {}),
        said_at=said_at,
        status="forgotten" if is_gone else leaving(status) or "active",
    )


def stored_as(id: str, said: Mapping[str, Any]) -> tuple[str, SourceType, dict[str, Json]]:
    """The text and the source of a record here, and its fields that a memory does not have."""
    label, status, source = said["label"], said["status"], said["source_type"]
    beside: dict[str, Json] = {name: said[name] for name in STORED_BESIDE if said[name]}
    if not label.strip():  # a memory has no blank texts
        beside["label"] = label
    if status not in (ACTIVE, TOMBSTONE, *_OF_THE_MEMORY):
        beside["status"] = status
    if source not in _SOURCE_TYPES:
        beside["source_type"], source = source, _OTHER_SOURCE
    return label if label.strip() else id, source, beside


def leaving(status: str) -> Archival | None:
    """Why a record with this status is archived; None if it holds."""
    why = standing(status)
    if why == "active":
        return None
    return "decayed" if why == "inbox" else why


def _label(value: object) -> str:
    return storable(value)[:_LABEL_MAX_CHARS] if isinstance(value, str) else ""


def _list(value: object) -> Json:
    """A list as JSON that can be stored."""
    return data_of({"list": value})["list"] if isinstance(value, list) else []


def _depth(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < 1 << 31 else 0


# How each field is read that a memory does not have, or not as it stands.
_READ: Final[Mapping[str, Callable[[object], Json]]] = {
    "label": _label,
    "source_type": lambda value: name_of(value) or "observed",
    "epistemic_boundary": _list,
    "model_assumptions": data_of,
    "recursion_depth": _depth,
}
