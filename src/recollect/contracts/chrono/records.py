"""Records of S0 as records of a memory, and back.

Responsible for where each field is stored and for the acts that bring a record about. Leaves
submitting them to ``store``. Invariants: a field that the memory has is stored there, and any other
under the key ``chrono`` of the data; what is as it was becomes no act.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, cast

from recollect.errors import Conflict, InvalidInput
from recollect.exchange.cleaned import Cleaning
from recollect.exchange.importers.chrono import (
    ACTIVE,
    DEFAULT_CONFIDENCE,
    KEY,
    STORED_BESIDE,
    TOMBSTONE,
    leaving,
    stored_as,
)
from recollect.exchange.items import Found, RecordItem
from recollect.index.rows import VersionRow
from recollect.index.values import record_of
from recollect.lifecycle import commands as c
from recollect.memory.handle.fields import evidence as checked_evidence
from recollect.memory.handle.handle import Handle
from recollect.model import validate
from recollect.model.record_fields import RecordFields
from recollect.model.validate import Json
from recollect.model.values import Record
from recollect.model.words import COLUMNS

_LIVE: Final = ("active", "inbox", "held")
_SAID: Final = {"replaced": "superseded", "expired": "expired", "waiting": "held"}


@dataclass
class ChronoRecord:
    """A belief. It can be changed freely; ``upsert`` stores it as it is then."""

    id: str
    kind: str = "fact"
    status: str = ACTIVE
    label: str = ""
    confidence: float = DEFAULT_CONFIDENCE
    source_type: str = "observed"
    evidence: list[str] = field(default_factory=list)
    epistemic_boundary: list[str] = field(default_factory=list)
    is_hypothesis: bool = False
    model_assumptions: dict[str, Json] = field(default_factory=dict)
    recursion_depth: int = 0
    data: dict[str, Json] = field(default_factory=dict)
    about: str | None = None

    def __post_init__(self) -> None:
        record_id(self.id)

    def to_dict(self) -> dict[str, Json]:
        """The record as JSON-ready data, as a snapshot has it."""
        plain: dict[str, Json] = asdict(self)
        if self.about is None:
            del plain["about"]
        return plain


def record_id(id: object) -> str:
    """A checked id."""
    if not isinstance(id, str):
        raise InvalidInput(f"an id must be text, not {type(id).__name__}")
    if not id:
        raise InvalidInput("a record needs an id", hint='such as ChronoRecord(id="FACT-001")')
    return validate.identifier(id)


# Reading.


def record_from(handle: Handle, row: VersionRow) -> ChronoRecord:
    """A row of the memory as a record of its own, which shares nothing with it."""
    record = record_of(row)
    return _shown(record, _word(handle, row, _beside(record)))


def records_in(found: Iterable[Found]) -> list[ChronoRecord]:
    """What an importer found, as the records that it becomes in a memory."""
    items = Cleaning().clean([one for one in found if isinstance(one, RecordItem)])
    return [_shown(one, _word_in(one)) for one in cast("list[RecordItem]", items)]


def _word_in(item: RecordItem) -> str:
    said = _beside(item).get("status")
    if item.status == "forgotten":
        return TOMBSTONE
    return said if isinstance(said, str) else ACTIVE


def _shown(record: Record | RecordItem, status: str) -> ChronoRecord:
    beside = _beside(record)
    label = beside.get("label")
    source_type = beside.get("source_type")
    return ChronoRecord(
        id=record.id,
        kind=record.kind or "fact",
        status=status,
        label=label if isinstance(label, str) and record.text == record.id else record.text,
        confidence=DEFAULT_CONFIDENCE if record.confidence is None else record.confidence,
        source_type=source_type if isinstance(source_type, str) else str(record.how_known),
        evidence=list(record.evidence),
        is_hypothesis=bool(record.is_hypothesis),
        data={key: value for key, value in record.data.items() if key != KEY},
        about=record.about,
        **cast("dict[str, Any]", {name: beside[name] for name in STORED_BESIDE if name in beside}),
    )


def _beside(record: Record | RecordItem) -> Mapping[str, Json]:
    """The fields that the memory does not have; anything may have written them."""
    found = record.data.get(KEY)
    if not isinstance(found, dict):
        return {}
    kinds = {"epistemic_boundary": list, "model_assumptions": dict, "recursion_depth": int}
    return {key: part for key, part in found.items() if isinstance(part, kinds.get(key, object))}


def _word(handle: Handle, row: VersionRow, beside: Mapping[str, Json]) -> str:
    """The status of a record in the words of S0."""
    hidden = handle.why_hidden(row)
    said = beside.get("status")
    if hidden == "forgotten":
        return TOMBSTONE
    if hidden in _SAID:
        return _SAID[hidden]
    if not isinstance(said, str) or (leaving(said) is None) != (hidden is None):
        return "archived" if hidden else row.status  # it has changed since the word was said
    return said


# Writing.


def fields_of(record: ChronoRecord) -> dict[str, Any]:
    """What is stored of a record, each field checked, by the names of ``remember``."""
    said = {name: validate.name(getattr(record, name), name) for name in ("status", "source_type")}
    said |= {name: getattr(record, name) for name in STORED_BESIDE}
    label = validate.plain(record.label, "label")
    text, source_type, beside = stored_as(record.id, {**said, "label": label})
    if KEY in record.data:
        raise InvalidInput(f"the key {KEY!r} of data is used by this API", hint="use another key")
    about = None if record.about is None else validate.name(record.about, "about")
    return {
        "text": validate.text(text, "label"),
        "kind": validate.name(record.kind, "kind"),
        "confidence": validate.fraction(record.confidence, "confidence"),
        "how_known": source_type,
        "is_hypothesis": validate.flag(record.is_hypothesis, "is_hypothesis"),
        "about": about,
        "data": validate.data({**record.data, **({KEY: beside} if beside else {})}),
        "evidence": checked_evidence(record.evidence)["evidence"],
    }


def acts_for(handle: Handle, row: VersionRow | None, record: ChronoRecord) -> list[c.Act]:
    """What is done to the memory so that it has this record; ``row`` is what it has now."""
    fields = fields_of(record)
    if row is None:
        return [new(handle, record.id, fields), *_leaving(record)]
    if not handle.may_see(row):
        raise Conflict(f"the id {record.id!r} is already used", hint="use another id")
    known = record_from(handle, row)
    stays = known.status == record.status
    is_same = fields == (fields_of(known) if stays else _stored(record_of(row)))
    if is_same and stays:
        return []
    _require_changeable(handle, known, record)
    back = [] if row.status in _LIVE else [c.Restore(id=record.id)]
    coded = {COLUMNS.get(name, name): value for name, value in fields.items()}
    revised = [] if is_same else [c.Revise(id=record.id, regrounds=True, **coded)]
    return [*back, *revised, *_leaving(record)]


def _stored(record: Record) -> dict[str, Any]:
    """The fields as the memory has them, also a word for a status that it had before."""
    names = ("text", "kind", "confidence", "how_known", "is_hypothesis", "about", "data")
    return {name: getattr(record, name) for name in (*names, "evidence")}


def new(handle: Handle, id: str, fields: Mapping[str, Any], said_at: str | None = None) -> c.Act:
    """The act that adds a record; an id that is already used is a conflict."""
    rest = {name: value for name, value in fields.items() if name != "text"}
    given = cast(RecordFields, {**rest, "id": id, "said_at": said_at})
    return handle.acts.remember(fields["text"], given, fresh=True)


def _leaving(record: ChronoRecord) -> list[c.Act]:
    """What takes a record out of default reads, if its status says so."""
    if record.status == TOMBSTONE:
        return [c.Forget(id=record.id)]
    why = leaving(record.status)
    return [] if why is None else [c.Archive(id=record.id, why=why)]


def _require_changeable(handle: Handle, known: ChronoRecord, record: ChronoRecord) -> None:
    """Refuses a change after which the record would not have the status that it asks for."""
    if known.status == "superseded" and record.status == "superseded":
        raise Conflict(
            f"{record.id} was superseded", hint='upsert it with status="active" to bring it back'
        )
    waits = known.status == "held" and handle.actor.trust != "unverified"
    if (waits or known.status == "expired") and record.status != known.status:
        raise Conflict(
            f"{record.id} is {known.status}",
            hint="`recollect review` shows what is held; write what expired under another id",
        )
