"""Our own exports: ``ndjson`` and ``json``, as ``exchange.outward`` writes them.

Responsible for reading everything back that they say. Leaves storing to
``memory.exchange.imports``. Invariants: ids stay as they are; a file is read three times and
never held: what was said comes before the records that rest on it, and what was hidden there is
looked at again at the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from recollect.errors import InvalidInput
from recollect.exchange.given import Given
from recollect.exchange.injected import storable
from recollect.exchange.items import (
    Altered,
    EpisodeItem,
    Found,
    GoneItem,
    LinkItem,
    RecordItem,
    SettingItem,
    Source,
    State,
    Trouble,
    data_of,
    in_years,
    objects_of,
)
from recollect.exchange.json_stream import BrokenJsonError, elements
from recollect.exchange.outward import VERSION
from recollect.model.events import NOTED, Role, SourceType, Tier, Trust
from recollect.model.values import Document, Episode, EpisodeStatus, Link, Record
from recollect.model.words import RecordReason, RecordStatus, reason_code, status_code

FORMAT: Final = "recollect"
_SIGN: Final = re.compile(rb'\s*\{\s*"(?:export"\s*:\s*\{\s*")?format"\s*:\s*"recollect"')
_LINES: Final = re.compile(rb'\s*\{\s*"export"')
_HEAD_BYTES: Final = 64
Fields = Mapping[str, object]
_FIELDS: Final = {
    "record": Record.__struct_fields__,
    "episode": Episode.__struct_fields__,
    "link": Link.__struct_fields__,
    "document": Document.__struct_fields__,
}
Part = tuple[str, str, object]  # where it stands, what it is, and its value


class _Scope(msgspec.Struct, frozen=True):
    user: str | None = None
    session: str | None = None
    agent: str | None = None


class _Record(msgspec.Struct, frozen=True):
    id: str
    text: str
    status: RecordStatus
    trust: Trust
    kind: str | None = None
    key: str | None = None
    about: str | None = None
    tags: tuple[str, ...] = ()
    scope: _Scope = _Scope()
    confidence: float | None = None
    how_known: SourceType = "told"
    evidence: tuple[str, ...] = ()
    is_hypothesis: bool = False
    reason: RecordReason | None = None
    valid_from: str | None = None
    valid_to: str | None = None
    expires: str | None = None
    replaces: str | None = None
    replaced_by: str | None = None
    reinforcement_count: int = 0
    decay_tier: Tier = "standard"
    data: dict[str, object] = {}
    created_at: str | None = None
    said_at: str | None = None


class _Episode(msgspec.Struct, frozen=True):
    id: str
    text: str
    role: Role
    trust: Trust
    status: EpisodeStatus
    said_at: str
    scope: _Scope = _Scope()
    metadata: dict[str, object] = {}


class _Link(msgspec.Struct, frozen=True):
    source: str
    target: str
    kind: str
    trust: Trust
    weight: float = 1.0
    reinforcement_count: int = 0
    name: str | None = None


class _Document(msgspec.Struct, frozen=True):
    type: str
    name: str
    data: dict[str, object] = {}


def recognizes(name: str, head: bytes) -> bool:
    """True if a file begins like one of these."""
    return _SIGN.match(head) is not None


def read(sources: Sequence[Source]) -> Iterator[Found]:
    """Everything that an export says."""
    for source in sources:
        is_later = False
        for where, what, value in _parts(source, []):
            if what == "episode":
                yield from _changed(where, what, value)
                yield _item(_episode, where, value)
            elif what == "version" and value != VERSION:
                is_later = True
                break
        if is_later:
            yield Trouble(where=source.name, why="it was written by a later release of Recollect")
            continue
        damage: list[Trouble] = []
        for where, what, value in _parts(source, damage):
            make = _MAKERS.get(what)
            if make is not None:
                yield from _changed(where, what, value)
                yield _item(make, where, value)
        yield from damage
        for where, what, value in _parts(source, []):
            if what == "episode":
                found = _item(_hidden, where, value)
                if isinstance(found, GoneItem):
                    yield found


def _parts(source: Source, damage: list[Trouble]) -> Iterator[Part]:
    """What a file says, part by part; what cannot be read is added to ``damage``."""
    if _is_lines(source):
        yield from _parts_of_lines(source, damage)
        return
    number = 0
    try:
        for key, value in elements(source.chunks()):
            number += 1
            yield f"{source.name}, element {number}", (key or "").removesuffix("s"), value
    except BrokenJsonError as error:
        damage.append(Trouble(where=source.name, why=str(error)))


def _is_lines(source: Source) -> bool:
    head = b""
    for chunk in source.chunks():
        head += chunk
        if len(head.lstrip()) >= _HEAD_BYTES:
            break
    return _LINES.match(head) is not None


def _parts_of_lines(source: Source, damage: list[Trouble]) -> Iterator[Part]:
    for found in objects_of(source):
        if isinstance(found, Trouble):
            damage.append(found)
            continue
        where, line = found
        for what, value in line.items():
            if what == "export" and isinstance(value, Mapping):
                yield where, "version", value.get("version")
            else:
                yield where, what, value


def _changed(where: str, what: str, value: object) -> Iterator[Altered]:
    """What an export of ours cannot say: someone has edited it."""
    if isinstance(value, Mapping) and what in _FIELDS:
        given = Given(where, value)
        given.data("metadata" if what == "episode" else "data")
        given.known(*_FIELDS[what])
        for field in ("said_at", "valid_from", "valid_to", "expires"):
            if _is_beyond(value.get(field)):
                given.note(field, "no writer could give this date")
        yield from given.changes()


def _is_beyond(moment: object) -> bool:
    """True for an instant that is left out; anything else is refused with its record."""
    try:
        return isinstance(moment, str) and in_years(moment) is None
    except InvalidInput:
        return False


def _item(make: Callable[[str, Fields], Found | None], where: str, value: object) -> Found:
    try:
        found = make(where, msgspec.convert(value, dict[str, object]))
    except msgspec.ValidationError as error:
        return Trouble(where=where, why=storable(str(error)))
    return found if found is not None else Trouble(where=where, why="it says nothing")


def _record(where: str, value: Fields) -> RecordItem:
    given = msgspec.convert(value, _Record)
    state = State(
        trust=given.trust,
        status=status_code(given.status),
        reason=reason_code(given.reason),
        key=_plain(given.key),
        expires=_plain(given.expires),
        decay_tier=given.decay_tier,
        replaced_by=_plain(given.replaced_by),
        reinforced=max(0, given.reinforcement_count),
    )
    return RecordItem(
        id=storable(given.id),
        text=storable(given.text),
        where=where,
        kind=_plain(given.kind),
        about=_plain(given.about),
        tags=tuple(map(storable, given.tags)),
        data=data_of(given.data),
        confidence=given.confidence,
        evidence=tuple(map(storable, given.evidence)),
        said_at=_plain(given.said_at or given.created_at),
        valid_from=_plain(given.valid_from),
        valid_to=_plain(given.valid_to),
        how_known=given.how_known,
        is_hypothesis=given.is_hypothesis,
        noted={name: storable(said) for name in NOTED if isinstance(said := value.get(name), str)},
        replaces=_plain(given.replaces),
        user=_plain(given.scope.user),
        session=_plain(given.scope.session),
        agent=_plain(given.scope.agent),
        state=state,
    )


def _episode(where: str, value: Fields) -> EpisodeItem:
    given = msgspec.convert(value, _Episode)
    return EpisodeItem(
        id=storable(given.id),
        text=storable(given.text),
        where=where,
        role=given.role,
        said_at=_plain(given.said_at),
        session=_plain(given.scope.session),
        metadata=data_of(given.metadata),
        user=_plain(given.scope.user),
        agent=_plain(given.scope.agent),
        state=State(trust=given.trust, status=given.status),
    )


def _hidden(where: str, value: Fields) -> GoneItem | None:
    """An episode that was forgotten, or is hidden: by words, perhaps, that no record has now."""
    given = msgspec.convert(value, _Episode)
    if given.status == "visible":
        return None
    state = State(trust=given.trust, status=given.status)
    user = _plain(given.scope.user)
    return GoneItem(id=storable(given.id), where=where, user=user, state=state)


def _link(where: str, value: Fields) -> LinkItem:
    given = msgspec.convert(value, _Link)
    return LinkItem(
        source=storable(given.source),
        target=storable(given.target),
        kind=storable(given.kind),
        where=where,
        weight=given.weight,
        state=State(
            trust=given.trust,
            name=_plain(given.name),
            reinforced=max(0, given.reinforcement_count),
        ),
    )


def _preset(where: str, value: Fields) -> SettingItem:
    name = msgspec.convert(value.get("name"), str)
    return SettingItem(id=storable(name), data=data_of(value), is_preset=True, where=where)


def _document(where: str, value: Fields) -> SettingItem:
    given = msgspec.convert(value, _Document)
    id = storable(f"{given.type}/{given.name}")
    return SettingItem(id=id, data=data_of(given.data), where=where)


def _plain(text: str | None) -> str | None:
    return None if text is None else storable(text)


_MAKERS: Final[dict[str, Callable[[str, Fields], Found | None]]] = {
    "record": _record,
    "link": _link,
    "preset": _preset,
    "document": _document,
}
