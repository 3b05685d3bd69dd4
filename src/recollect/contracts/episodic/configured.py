"""Stores from a configuration: ``stores: {memory: "sqlite:./.memory"}``.

Responsible for the part of YAML that such a configuration needs, and for turning its addresses into
stores. Leaves everything else in the document to its owner. Invariants: only the top-level key
``stores`` is read; what is not a plain name and a plain text is refused, so nothing in a document
runs, refers to another part or grows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from recollect.contracts.episodic.facts import SQLiteFactStore
from recollect.contracts.episodic.store import SQLiteMemoryStore
from recollect.errors import ConfigError

Store = SQLiteMemoryStore | SQLiteFactStore
_KINDS: Final[dict[str, type[Store]]] = {
    "memory": SQLiteMemoryStore,
    "fact": SQLiteFactStore,
}
_SCHEME: Final = "sqlite:"
_MAX_CHARS: Final = 65_536
_EXAMPLE: Final = "write for example  memory: sqlite:./.memory"
_TOP: Final = re.compile(r"""(?:stores|'stores'|"stores")[ ]*:(?:[ ]+(?P<rest>.*))?""")
_ENTRY: Final = re.compile(
    r"""(?P<name>[\w-]+|'[\w-]+'|"[\w-]+")[ ]*:[ ]+(?P<value>.+)""", re.ASCII
)
# Signs with which YAML begins something other than a plain text.
_SPECIAL: Final = tuple("&*!|>[]{}@`%#,?-'\"")


def load_stores(
    source: str | Mapping[str, object], *, base: Path | None = None
) -> dict[str, Store]:
    """The stores of a configuration, by name: its YAML text, or what a YAML reader made of it.

    Nothing is opened before ``bootstrap``. A relative path counts from ``base``, by default the
    current folder.
    """
    given = dict(_in_yaml(source)) if isinstance(source, str) else _in_mapping(source)
    return {name: _store(name, address, base or Path()) for name, address in given.items()}


def _store(name: str, address: object, base: Path) -> Store:
    kind = _KINDS.get(name)
    if kind is None:
        raise ConfigError(f"unknown store {name!r}", hint=f"use {' or '.join(_KINDS)}")
    if not isinstance(address, str) or not address.startswith(_SCHEME):
        raise ConfigError(f"the store {name!r} has no address sqlite:PATH", hint=_EXAMPLE)
    path = address.removeprefix(_SCHEME)
    if not path.strip() or "\0" in path:
        raise ConfigError(f"{path[:80]!r} is not the path of a store", hint=_EXAMPLE)
    return kind(base / path)


def _in_mapping(source: Mapping[str, object]) -> dict[str, object]:
    stores = source.get("stores")
    if not isinstance(stores, Mapping) or not all(isinstance(name, str) for name in stores):
        raise ConfigError("the configuration has no mapping `stores`", hint=_EXAMPLE)
    return dict(stores)


def _in_yaml(text: str) -> Iterator[tuple[str, str]]:
    """The entries below the top-level key ``stores``."""
    if len(text) > _MAX_CHARS:
        raise ConfigError(f"the configuration is longer than {_MAX_CHARS:,} characters")
    lines = text.split("\n")
    starts = [n for n, line in enumerate(lines) if _TOP.fullmatch(_bare(line))]
    if len(starts) != 1:
        raise ConfigError(f"the key `stores` occurs {len(starts)} times, not once", hint=_EXAMPLE)
    top = _TOP.fullmatch(_bare(lines[starts[0]]))
    flow = top["rest"] if top is not None else None
    entries = _flow(flow, starts[0] + 1) if flow else list(_block(lines, starts[0] + 1))
    names = [name for name, _ in entries]
    if len(set(names)) < len(names):
        raise ConfigError("a store is named twice", hint="keep one of the two")
    yield from entries


def _block(lines: list[str], first: int) -> Iterator[tuple[str, str]]:
    """The indented lines from here to the next key of the document."""
    indent: int | None = None
    for number, raw in enumerate(lines[first:], first + 1):
        line = _bare(raw)
        if not line.strip():
            continue
        if line.startswith("\t"):
            raise _malformed(number)
        depth = len(line) - len(line.lstrip(" "))
        if depth == 0:
            return
        indent = depth if indent is None else indent
        if depth != indent:
            raise _malformed(number)
        yield _entry(line.strip(" "), number)


def _flow(text: str, number: int) -> list[tuple[str, str]]:
    """The entries of ``{name: value, …}`` on one line."""
    if not (text.startswith("{") and text.endswith("}")):
        raise _malformed(number)
    inside = text[1:-1].strip(" ")
    return [_entry(part.strip(" "), number) for part in inside.split(",")] if inside else []


def _entry(text: str, number: int) -> tuple[str, str]:
    found = _ENTRY.fullmatch(text)
    if found is None:
        raise _malformed(number)
    return _scalar(found["name"], number), _scalar(found["value"], number)


def _scalar(text: str, number: int) -> str:
    """A plain or quoted text."""
    quote = text[:1]
    if quote in ("'", '"') and len(text) > 1 and text.endswith(quote):
        inside = text[1:-1]
        if quote in inside or (quote == '"' and "\\" in inside):
            raise _malformed(number)
        return inside
    if text.startswith(_SPECIAL) or ": " in text or text.endswith(":"):
        raise _malformed(number)
    return text


def _bare(line: str) -> str:
    """A line without its comment and the blanks at its end."""
    return re.sub(r"(?:^|[ \t])#.*", "", line.rstrip("\r")).rstrip(" ")


def _malformed(number: int) -> ConfigError:
    return ConfigError(f"line {number} of the configuration is not understood", hint=_EXAMPLE)
