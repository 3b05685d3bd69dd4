"""Items without secrets, with ids that a memory accepts.

Responsible for every text of an item: what it says, what it is about, its tags, its data, and the
names that ids are made from. Leaves recognizing a secret to ``exchange.redaction``. Invariant: a
secret is removed before anything is hashed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, cast

import msgspec

from recollect.exchange.importers.blocks import KEY, embedded
from recollect.exchange.items import (
    EpisodeItem,
    GoneItem,
    Item,
    LinkItem,
    RecordItem,
    SessionItem,
    SettingItem,
    State,
    is_id,
    names_in,
    short,
)
from recollect.exchange.redaction import redact, with_secrets
from recollect.model.validate import Json

_GONE: Final = "[redacted]"
_NAMES: Final = ("kind", "user", "session", "agent")
_OF_STATE: Final = ("key", "name", "replaced_by", "why")
# A short word, or a format's name with a number or a UUID.
_SURELY_NONE: Final = re.compile(
    r"[a-z]{0,16}|[a-z0-9-]{1,16}-(?:\d{1,20}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
)

_Named = RecordItem | EpisodeItem | LinkItem | GoneItem


class Cleaning:
    """Cleans items, many at once, and counts what was removed."""

    def __init__(self) -> None:
        self.redacted: Counter[str] = Counter()
        self._plain: dict[str, str] = {}  # the texts that held a secret

    def clean(self, items: Sequence[Item]) -> list[Item]:
        """The same items without secrets."""
        found_in = (text for item in items for text in _texts(item))
        texts = list(dict.fromkeys(text for text in found_in if not _SURELY_NONE.fullmatch(text)))
        self._plain = {}
        for place in with_secrets(texts):
            text, found = redact(texts[place])
            if found:
                self._plain[texts[place]] = text
                self.redacted.update(found)
        return [_with_embedding(self._clean(item)) for item in items]

    def _clean(self, item: Item) -> Item:
        if not self._plain and type(item) is RecordItem and item.replaces is None:
            id = self._id(item.id, item)  # most items hold no secret
            name = None if item.name is None else short(item.name)
            is_same = (id, name) == (item.id, item.name)
            text = id if item.text == item.id else item.text
            return item if is_same else msgspec.structs.replace(item, id=id, name=name, text=text)
        if isinstance(item, SettingItem):
            command = None if item.command is None else short(self._text(item.command))
            return msgspec.structs.replace(
                item, id=self._text(item.id), data=self._data(item.data), command=command
            )
        item = msgspec.structs.replace(item, **self._names(item))
        if isinstance(item, LinkItem):
            ends = {name: self._id(getattr(item, name), item) for name in ("source", "target")}
            names = self._short_names(item)
            state = self._state(item.state)
            edge = None if item.edge is None else self._text(item.edge)
            data = self._data(item.data)
            return msgspec.structs.replace(
                item, **ends, names=names or None, state=state, edge=edge, data=data
            )
        if isinstance(item, SessionItem):
            words = {name: self._text(getattr(item, name)) for name in ("id", "task_type")}
            return msgspec.structs.replace(item, **words)
        id = self._id(item.id, item)
        if isinstance(item, GoneItem):
            return msgspec.structs.replace(item, id=id)
        if isinstance(item, EpisodeItem):
            return msgspec.structs.replace(
                item,
                id=id,
                name=next(iter(self._short_names(item)), None),
                text=self._text(item.text),
                metadata=self._data(item.metadata),
            )
        return msgspec.structs.replace(
            item,
            id=id,
            name=next(iter(self._short_names(item)), None),
            text=id if item.text == item.id else self._text(item.text),
            about=None if item.about is None else self._text(item.about),
            tags=tuple(map(self._text, item.tags)),
            evidence=tuple(map(self._text, item.evidence)),
            replaces=None if item.replaces is None else self._id(item.replaces, item),
            data=self._data(item.data),
            earlier_id=None if item.earlier_id is None else self._text(item.earlier_id),
            state=self._state(item.state),
            command=None if item.command is None else short(self._text(item.command)),
        )

    def _names(self, item: Item) -> dict[str, str]:
        """The names of an item that held a secret, without it."""
        found = ((part, getattr(item, part, None)) for part in _NAMES)
        return {part: self._plain[name] for part, name in found if name in self._plain}

    def _id(self, name: str, item: _Named) -> str:
        """An id; one that is kept, and one of another memory of ours, can be one here as it is."""
        text = self._text(name)
        keeps = item.state is not None or (bool(names_in(item)) and is_id(text))
        return text if keeps and text == name else short(text)

    def _short_names(self, item: _Named) -> tuple[str, ...]:
        return tuple(short(self._text(name)) for name in names_in(item))

    def _state(self, state: State | None) -> State | None:
        said = {} if state is None else {name: getattr(state, name) for name in _OF_STATE}
        kept = {name: self._text(text) for name, text in said.items() if text is not None}
        return msgspec.structs.replace(state, **kept) if state is not None and kept else state

    def _text(self, text: str) -> str:
        return self._plain.get(text, text)

    def _data(self, data: dict[str, Json]) -> dict[str, Json]:
        if not data or _encoded(data) not in self._plain:
            return data
        return cast(dict[str, Json], _without(data))


def _with_embedding(item: Item) -> Item:
    """An item whose embedding is in its data. It holds no words that a secret could be in."""
    if not isinstance(item, RecordItem) or item.embedding is None:
        return item
    whole = {**cast(dict[str, Json], item.data.get(KEY, {})), **embedded(item.embedding)}
    return msgspec.structs.replace(item, data={**item.data, KEY: whole}, embedding=None)


def _texts(item: Item) -> Iterator[str]:
    if isinstance(item, SettingItem):
        yield from (item.id, item.command or "", _encoded(item.data))
        return
    yield from (name for part in _NAMES if (name := getattr(item, part, None)))
    if item.state is not None:
        yield from (getattr(item.state, name) or "" for name in _OF_STATE)
    if isinstance(item, LinkItem):
        yield from (item.source, item.target, item.edge or "", *names_in(item))
        if item.data:
            yield _encoded(item.data)
        return
    yield from (item.id, *names_in(item))
    if isinstance(item, SessionItem):
        yield item.task_type
        return
    if isinstance(item, GoneItem):
        return
    yield item.text
    data = item.metadata if isinstance(item, EpisodeItem) else item.data
    if data:
        yield _encoded(data)
    if isinstance(item, RecordItem):
        yield from (item.about or "", item.replaces or "", item.command or "")
        yield from (*item.tags, *item.evidence, item.earlier_id or "")


def _encoded(data: dict[str, Json]) -> str:
    return msgspec.json.encode(data).decode()


def _without(value: Json, key: str = "") -> Json:
    """Data without secrets; a key such as ``password`` says what its value is."""
    if isinstance(value, str):
        return _GONE if key and redact(f"{key}={value}")[1] else redact(value)[0]
    if isinstance(value, dict):
        return {redact(name)[0]: _without(part, name) for name, part in value.items()}
    if isinstance(value, list):
        return [_without(part, key) for part in value]
    return value
