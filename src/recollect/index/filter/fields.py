"""The fields of a filter, and the literals it compares them with.

Responsible for their names, types and canonical text. Leaves which operators a field supports to
``index.filter.checks``. Invariant: a field is either a known column or a path in the caller's JSON.
"""

from __future__ import annotations

import re
from typing import Final, Literal, get_args

import msgspec

from recollect.errors import InvalidInput
from recollect.model import limits
from recollect.model.events import NOTED, Origin, Role, SourceType, Tier, Trust
from recollect.model.values import Unit
from recollect.model.words import RecordStatus

Type = Literal["text", "name", "word", "number", "boolean", "instant", "names", "json"]
Op = Literal["=", "!=", "<", "<=", ">", ">="]
Verb = Literal[Op, "in", "contains", "starts with"]
Scalar = str | int | float | bool
Units = Unit | Literal["any"]
Root = Literal["data", "metadata"]

TYPES: Final[dict[str, Type]] = {
    "id": "text",
    "key": "name",
    "kind": "name",
    "text": "text",
    "about": "name",
    "tags": "names",
    "status": "word",
    "reason": "text",
    "trust": "word",
    "by": "word",
    "role": "word",
    "user": "name",
    "session": "name",
    "agent": "name",
    "confidence": "number",
    "how_known": "word",
    "is_hypothesis": "boolean",
    "valid_from": "instant",
    "valid_to": "instant",
    "expires": "instant",
    "reinforcement_count": "number",
    "decay_tier": "word",
    "created_at": "instant",
    "said_at": "instant",
    "at": "instant",
    "replaces": "text",
    "replaced_by": "text",
    **dict.fromkeys(NOTED, "name"),
}
WORDS: Final[dict[str, tuple[str, ...]]] = {
    "status": get_args(RecordStatus),
    "trust": get_args(Trust),
    "by": get_args(Origin),
    "role": get_args(Role),
    "how_known": get_args(SourceType),
    "decay_tier": get_args(Tier),
}
FIELDS: Final[dict[Units, tuple[str, ...]]] = {
    "record": tuple(name for name in TYPES if name != "role"),
    "episode": ("id", "text", "trust", "role", "user", "session", "agent", "said_at", "at"),
    "any": tuple(TYPES),
}
OBJECTS: Final[dict[Units, tuple[Root, ...]]] = {
    "record": ("data",),
    "episode": ("metadata",),
    "any": ("data", "metadata"),
}

# Which signs of (value - literal) each comparison accepts.
HOLDS: Final[dict[Op, tuple[int, ...]]] = {
    "=": (0,),
    "!=": (-1, 1),
    "<": (-1,),
    "<=": (-1, 0),
    ">": (1,),
    ">=": (0, 1),
}

BARE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


class Column(msgspec.Struct, frozen=True):
    """A field that every row of its unit has."""

    name: str

    def __post_init__(self) -> None:
        if self.name not in TYPES:
            raise InvalidInput(f"unknown field {self.name!r}", hint=known("any"))

    def __str__(self) -> str:
        return self.name


class Path(msgspec.Struct, frozen=True):
    """A path in the caller's JSON object."""

    root: Root
    keys: tuple[str, ...]

    def __post_init__(self) -> None:
        if not 0 < len(self.keys) <= limits.DATA_MAX_DEPTH:
            raise InvalidInput(
                f"{self.root} needs 1 to {limits.DATA_MAX_DEPTH} keys after it",
                hint=f"write for example {self.root}.topic = 'travel'",
            )
        for key in self.keys:
            check_characters(key)

    def __str__(self) -> str:
        keys = (key if BARE_NAME.fullmatch(key) else quoted(key) for key in self.keys)
        return ".".join((self.root, *keys))


Field = Column | Path


def has(unit: Unit, field: Field) -> bool:
    """True if rows of a unit have a field."""
    if isinstance(field, Path):
        return field.root in OBJECTS[unit]
    return field.name in FIELDS[unit]


def type_of(field: Field) -> Type:
    """The type of a field's values."""
    return "json" if isinstance(field, Path) else TYPES[field.name]


def known(units: Units) -> str:
    """The fields to choose from, as a hint."""
    names = [*FIELDS[units], *(f"{root}.<key>" for root in OBJECTS[units])]
    return f"use one of {', '.join(names)}"


def check_characters(value: str) -> None:
    """Refuses characters that stored text cannot contain, and that SQL treats otherwise."""
    if "\0" in value or any("\ud800" <= c <= "\udfff" for c in value):
        raise InvalidInput("a text contains U+0000 or a lone surrogate")


def literal(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return quoted(value) if isinstance(value, str) else repr(value)


def quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
