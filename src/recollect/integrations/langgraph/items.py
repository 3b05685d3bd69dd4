"""An item of LangGraph as a record, and back.

Responsible for the record's key, text and data. Leaves reading and writing to the store.
Invariants: two places (a namespace and a key in it) never share a record key; a value is returned
as it was put, unless the record's text was corrected since.

The record's text is what recall searches: the place, then the indexed fields. The value itself is
in the record's data, with the digest of the text that was made from it, so that a correction of
the text can be told from a put.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any, Final, NamedTuple, cast
from urllib.parse import quote

from langgraph.store.base import Item, SearchItem, get_text_at_path

from recollect.integrations.langgraph.match import Namespace
from recollect.model.limits import NAME_MAX_CHARS
from recollect.model.validate import Json
from recollect.model.values import Record

KIND: Final = "item"
_ROOT: Final = "langgraph"
_LONG: Final = f"{_ROOT}#"  # starts the key of a place whose name is too long


class Stored(NamedTuple):
    """One item as the memory holds it."""

    record: Record
    namespace: Namespace
    key: str
    value: dict[str, Any]
    created_at: str
    updated_at: str
    ttl: float | None

    def item(self) -> Item:
        """What ``get`` returns."""
        return Item(
            namespace=self.namespace,
            key=self.key,
            value=self.value,
            created_at=datetime.fromisoformat(self.created_at),
            updated_at=datetime.fromisoformat(self.updated_at),
        )

    def hit(self, score: float | None) -> SearchItem:
        """What ``search`` returns."""
        return SearchItem(
            namespace=self.namespace,
            key=self.key,
            value=self.value,
            created_at=datetime.fromisoformat(self.created_at),
            updated_at=datetime.fromisoformat(self.updated_at),
            score=score,
        )


def record_key(namespace: Namespace, key: str) -> str:
    """The key of an item's record: labels escaped to ASCII, so that a slash only separates them.

    A place whose name is too long gets its digest instead.
    """
    plain = "/".join((_ROOT, *map(_escaped, (*namespace, key))))
    if len(plain) <= NAME_MAX_CHARS:
        return plain
    return _LONG + sha256(plain.encode()).hexdigest()


def where(prefix: Namespace) -> str:
    """A filter that matches every item under a prefix, and few other records."""
    begin = "/".join((_ROOT, *map(_escaped, prefix), ""))
    long = f"key starts with '{_LONG}'"
    if len(begin) > NAME_MAX_CHARS:
        return long
    return f"(key starts with '{begin}' or {long})"


def _escaped(label: str) -> str:
    return quote(label, safe="", errors="surrogatepass")


def text_of(namespace: Namespace, key: str, value: Mapping[str, Any], index: object) -> str:
    """The text by which recall finds an item."""
    return f"{_place(namespace, key)}{words_of(value, index)}"


def words_of(value: Mapping[str, Any], index: object) -> str:
    """The text of the indexed fields: all of them, those at some paths, or none."""
    if index is False:
        return ""
    if index is None:
        return "\n".join(_leaves(value))
    found: list[str] = []
    for path in cast(Sequence[str], index):
        found += _leaves(value) if path == "$" else get_text_at_path(value, path)
    return "\n".join(found)


def _leaves(value: object, path: str = "") -> Iterator[str]:
    """Each string, number and boolean inside, with its path."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(inner, path)
    elif value is not None and str(value).strip():
        yield f"{path}: {value}"


def _place(namespace: Namespace, key: str) -> str:
    return f"{'/'.join((*namespace, key))}: "


def data_of(
    namespace: Namespace, key: str, value: Mapping[str, Any], index: object, ttl: float | None
) -> dict[str, Json]:
    """The data of an item's record."""
    text = text_of(namespace, key, value, index)
    data: dict[str, Json] = {
        "namespace": list(namespace),
        "key": key,
        "value": dict(value),
        "searchable": bool(words_of(value, index)),
        "words": _digest(text),
    }
    return data if ttl is None else {**data, "ttl": ttl}


def _digest(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()


def stored(record: Record) -> Stored | None:
    """The item of a record; None if the record does not hold one."""
    data = cast(dict[str, Any], record.data)
    try:
        namespace, key, value = tuple(data["namespace"]), data["key"], data["value"]
        if record.key != record_key(namespace, key):
            return None
    except (KeyError, TypeError):
        return None
    put_at = data.get("put_at", record.at)
    return Stored(
        record=record,
        namespace=namespace,
        key=key,
        value=_corrected(record, value) if data.get("words") != _digest(record.text) else value,
        created_at=data.get("created_at", put_at if "anew" in data else record.created_at),
        updated_at=put_at,
        ttl=data.get("ttl"),
    )


def _corrected(record: Record, value: dict[str, Any]) -> dict[str, Any]:
    """The value after the text of its record was corrected.

    The new text replaces the field that the old text came from, if that is one field. Otherwise the
    value gets a note of the correction, because the wrong field cannot be identified.
    """
    namespace, key = cast(list[str], record.data["namespace"]), cast(str, record.data["key"])
    words = record.text.removeprefix(_place(tuple(namespace), key))
    texts = [name for name, inner in value.items() if isinstance(inner, str)]
    if len(value) == len(texts) == 1:
        return {texts[0]: words.removeprefix(f"{texts[0]}: ")}
    return {**value, "corrected": words}


def first_put(known: Stored) -> dict[str, Json]:
    """When the item was first put, for a new version whose record does not say it."""
    if known.created_at == known.record.created_at:
        return {}
    return {"created_at": known.created_at}
