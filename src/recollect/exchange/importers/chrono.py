"""The log of chronomemory: ``events.wal``, a chain of JSON lines, with a snapshot beside it.

Responsible for checking the chain, for the state that it leads to, and for what each status of
another program is here: a word that is not in the table counts as active. Leaves storing to
``memory.exchange.imports`` and ``contracts.chrono``. Invariants: nothing after the first damaged
line is read; a record keeps its id; what was deleted there is forgotten here. Both dialects of the
hash are read: JSON with blanks after its marks, and without.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple, get_args

import msgspec

from recollect.exchange.given import Given
from recollect.exchange.injected import storable
from recollect.exchange.items import (
    Altered,
    Chain,
    Found,
    RecordItem,
    Source,
    Standing,
    Trouble,
    kept,
    lines_of,
    moment_of,
    name_of,
    named,
    once,
)
from recollect.exchange.json_stream import BrokenJsonError, elements, value_of
from recollect.model import limits
from recollect.model.events import Archival, SourceType
from recollect.model.validate import Json

STATUSES: Final[Mapping[str, Standing]] = {
    # chronomemory and specsmith
    "active": "active",
    "implemented": "active",
    "accepted": "active",
    "hypothesis": "active",
    "proposed": "inbox",
    "draft": "inbox",
    "deprecated": "decayed",
    "superseded": "decayed",
    "invalidated": "rejected",
    "rejected": "rejected",
    "archived": "decayed",
    # OpenChronicle: the status of a page
    "dormant": "active",
}
_DEPRECATED: Final = "deprecat"


def standing(word: object) -> Standing:
    """What a status of another program is here."""
    status = word.strip().lower() if isinstance(word, str) else ""
    if _DEPRECATED in status:
        return "decayed"
    return STATUSES.get(status, "active")


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
_WITHOUT_ID: Final = "a record without an id, which is left out"
_BESIDE_INSIDE: Final = 2  # these fields lie in the data, under a key


class Entry(NamedTuple):
    """What a log says last of an id: where, when, its record as JSON, and whether it is deleted."""

    where: str
    said_at: str | None
    record: bytes | None
    is_deleted: bool = False
    is_undated: bool = False

    def fields(self) -> dict[str, object]:
        """The record as the log has it; empty if it has none."""
        found = None if self.record is None else value_of(self.record)
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
        troubles += _apply(entries, f"{source.name}:{number}", event)
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


def _apply(entries: dict[str, Entry], where: str, event: Mapping[str, object]) -> Iterator[Altered]:
    id = _id_of(event.get("record_id"))
    if id == _COMPACTED:
        return
    if id is None:
        yield Altered(where=where, why=_WITHOUT_ID)
        return
    said_at, known = moment_of(event.get("ts")), entries.get(id)
    is_deleted = event.get("op") == "delete"  # then its record is blank
    before = known.record if known else None
    record = before if is_deleted else json.dumps(event.get("record")).encode()
    is_undated = said_at is None and event.get("ts") is not None
    entries[id] = Entry(where, said_at, record, is_deleted, is_undated)


def _id_of(given: object) -> str | None:
    """The id of a record, exactly as it stands; None if there is none."""
    return given if isinstance(given, str) and given.strip() else name_of(given)


def _snapshot(source: Source, entries: dict[str, Entry]) -> Iterator[Trouble]:
    said_at = None
    try:
        for key, element in elements(source.chunks()):
            if key == "ts":
                said_at = moment_of(element)
            elif key == "records":
                id = _id_of(element.get("id")) if isinstance(element, Mapping) else None
                if id is None:
                    yield Altered(where=source.name, why=_WITHOUT_ID)
                else:
                    entries[id] = Entry(source.name, said_at, _encoded(element))
    except BrokenJsonError as error:
        yield Trouble(where=source.name, why=str(error))


def _encoded(element: object) -> bytes:
    try:
        return msgspec.json.encode(element, enc_hook=lambda one: msgspec.Raw(one.text.encode()))
    except UnicodeEncodeError:  # it has half of a character
        return json.dumps(element, default=lambda number: math.nan).encode()


def items_of(state: LogState) -> Iterator[RecordItem | Altered]:
    """The records that a log leads to; a tombstone is one that is forgotten."""
    for id, entry in state.entries.items():
        fields = entry.fields()
        is_gone = entry.is_deleted or fields.get("status") in DELETED
        if not fields and not entry.is_deleted:
            yield Altered(where=entry.where, why="a record without fields; its id is kept")
        if entry.is_undated:
            yield Altered(where=entry.where, why="its 'ts' was not kept: it is not a date")
        yield from belief(FORMAT, id, fields, entry.where, said_at=entry.said_at, is_gone=is_gone)


def belief(
    format: str,
    id: str,
    fields: Mapping[str, object],
    where: str,
    *,
    said_at: str | None = None,
    is_gone: bool = False,
) -> Iterator[RecordItem | Altered]:
    """A record of S0, whatever its fields say, as ``contracts.chrono`` stores it.

    What of it is not stored as it is comes first.
    """
    given = Given(where, fields)
    own_id = kept(format, id)
    if own_id != id:
        given.note("id", "it cannot be an id here, so it has another one")
    given.known("id")
    status = given.name("status") or ACTIVE
    text, source_type, beside = stored_as(own_id, {**_said(given), "status": status})
    confidence = given.fraction("confidence")
    data = given.data("data", KEY)
    item = RecordItem(
        id=own_id,
        name=named(format, id),
        text=text,
        where=where,
        kind=given.name("kind") or "fact",
        about=given.name("about"),
        confidence=DEFAULT_CONFIDENCE if confidence is None else confidence,
        evidence=given.names("evidence", limits.EVIDENCE_MAX_COUNT),
        is_hypothesis=given.flag("is_hypothesis"),
        how_known=source_type,
        data=data | ({KEY: beside} if beside else {}),
        said_at=said_at,
        status="forgotten" if is_gone else leaving(status) or "active",
    )
    yield from given.changes()
    yield item


def _said(given: Given) -> dict[str, Json]:
    """The fields that a memory does not have, or not as they stand."""
    label, depth = given.get("label"), given.get("recursion_depth")
    text = storable(label)[:_LABEL_MAX_CHARS] if isinstance(label, str) else ""
    if label is not None and text != label:
        given.note("label", "it is not a text, too long, or has characters that cannot be stored")
    is_depth = isinstance(depth, int) and not isinstance(depth, bool) and 0 <= depth < 1 << 31
    if depth is not None and not is_depth:
        given.note("recursion_depth", "it is not a whole number from 0")
    return {
        "label": text,
        "source_type": given.name("source_type") or "observed",
        "epistemic_boundary": given.list("epistemic_boundary", inside=_BESIDE_INSIDE),
        "model_assumptions": given.data("model_assumptions", inside=_BESIDE_INSIDE),
        "recursion_depth": depth if isinstance(depth, int) and is_depth else 0,
    }


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
