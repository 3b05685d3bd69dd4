"""What an importer finds: records, episodes and links, each with an id made from its foreign id.

Responsible for the shapes that every importer gives and for turning another program's words into
values that a memory accepts. Leaves reading files and storing to ``memory.exchange.imports``.
Invariants: the same foreign id always gives the same id; nothing here raises because of what a file
says.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime
from hashlib import sha256
from typing import Final, Literal, Protocol

import msgspec

from recollect.errors import InvalidInput
from recollect.exchange.injected import storable
from recollect.model import limits, validate
from recollect.model.events import Archival, Role, SourceType, Status, Tier, Trust
from recollect.model.instants import from_microseconds, instant, is_dated
from recollect.model.reasons import Reason
from recollect.model.validate import Json
from recollect.model.values import EpisodeStatus

Standing = Literal["active", "inbox"] | Archival
_ID: Final = re.compile(r"[A-Za-z0-9_.:@/+~#=-]+")
_ID_MAX_CHARS: Final = 90  # an id is also the beginning of a command's name
_DIGEST_CHARS: Final = 32
_UNSEEN: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_SECONDS_MAX: Final = 100_000_000_000  # a larger number counts milliseconds
_LAST_SECOND: Final = 253_402_300_799
_LIST_MAX_COUNT: Final = 10_000
_NO_NUMBER: Final = "a number that cannot be stored; its digits are kept as text"


class Digits(msgspec.Struct, frozen=True):
    """A number that no program computes with, as it is written."""

    text: str


class Source(Protocol):
    """One file, or one member of an archive."""

    @property
    def name(self) -> str:
        """Its path inside the folder or archive, with slashes."""
        ...

    def chunks(self) -> Iterator[bytes]:
        """Its bytes from the beginning, in pieces of limited size."""
        ...


class State(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How another memory of ours had something; no other program says this."""

    trust: Trust
    status: Status | EpisodeStatus = "active"
    reason: Reason | None = None
    key: str | None = None
    expires: str | None = None
    decay_tier: Tier = "standard"
    replaced_by: str | None = None
    reinforced: int = 0
    why: str | None = None  # it ended there, in words
    name: str | None = None  # of a link


class RecordItem(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A statement of another program."""

    id: str  # from ``named``, or from ``kept``
    text: str
    name: str | None = None  # from ``named``, if the id is from ``kept``
    where: str = ""  # for people: the file and the line
    kind: str | None = None
    about: str | None = None
    tags: tuple[str, ...] = ()
    data: dict[str, Json] = {}
    embedding: bytes | None = None  # of a block: part of its data, but numbers and no text
    confidence: float | None = None
    evidence: tuple[str, ...] = ()
    said_at: str | None = None
    valid_from: str | None = None
    valid_to: str | None = None
    how_known: SourceType | None = None
    is_hypothesis: bool | None = None
    noted: dict[str, str] = {}  # what no rule looks at, by its name here
    replaces: str | None = None  # from ``named``
    status: Standing | Literal["forgotten"] = "active"
    user: str | None = None
    session: str | None = None
    agent: str | None = None
    tz_minutes: int | None = None  # of local times there, if something tells it
    earlier_id: str | None = None  # from ``named``: what earlier releases called it
    state: State | None = None
    command: str | None = None  # what its command is known by, if that is not its id


class EpisodeItem(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Something that was said elsewhere, verbatim."""

    id: str  # from ``named``, or from ``kept``
    text: str
    name: str | None = None  # from ``named``, if the id is from ``kept``
    where: str = ""
    role: Role = "user"
    said_at: str | None = None
    session: str | None = None
    metadata: dict[str, Json] = {}
    user: str | None = None
    agent: str | None = None
    state: State | None = None


class LinkItem(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A relation between two records, which may be found later than the relation."""

    source: str  # from ``named``, or from ``kept``
    target: str
    kind: str
    names: tuple[str, str] | None = None  # of both ends, if they are from ``kept``
    may_dangle: bool = False  # the target may be something that nobody wrote yet
    where: str = ""
    weight: float = 1.0
    user: str | None = None
    state: State | None = None
    edge: str | None = None  # its id as an edge of a graph
    data: dict[str, Json] = {}  # the other fields of an edge
    earlier: tuple[str, str] | None = None  # its ends, as an earlier release named them


class SessionItem(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A session that was opened there, or one that ended."""

    id: str  # its name, which is not made from a foreign id
    task_type: str
    start_active_hours: float | None = None
    closes: bool = False
    where: str = ""
    user: str | None = None
    state: State | None = None


class GoneItem(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An episode of another memory of ours that was hidden there."""

    id: str
    state: State
    where: str = ""
    user: str | None = None


class SettingItem(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A preset or a document of another memory of ours, or what becomes a document here, such as
    what a page says about itself.

    With a ``command`` it is brought up to date when it has changed there, if nothing but imports
    has written it here.
    """

    id: str  # the name of a preset; type and name of a document
    data: dict[str, Json]
    is_preset: bool = False
    fills: bool = False  # only what the document does not say yet is added to it
    where: str = ""
    user: str | None = None
    command: str | None = None  # what its command is known by


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """Something that could not be read."""

    where: str
    why: str


class Altered(Trouble, frozen=True, kw_only=True):
    """Something that is imported, and is not as it was there."""


class LeftOut(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Things that were read and are not imported, such as images."""

    what: str  # for people, in the plural
    count: int = 1


class Entity(msgspec.Struct, frozen=True, kw_only=True):
    """A thing of another program with all that is said of it there now.

    What an earlier import brought of it, and is not in it any more, has ended there.
    """

    record: RecordItem  # its name
    says: tuple[RecordItem, ...] = ()
    links: tuple[LinkItem, ...] = ()  # from it
    key: str = ""  # a field of the record's data that no two things share


class Chain(msgspec.Struct, frozen=True, kw_only=True):
    """How far a foreign chain of hashes holds."""

    where: str
    lines: int
    dialect: str
    broken_at: int | None = None  # the number of the line


Item = RecordItem | EpisodeItem | LinkItem | SessionItem | GoneItem | SettingItem
Found = Item | Entity | LeftOut | Trouble | Chain


def named(format: str, *foreign: object) -> str:
    """The name of what has this id elsewhere, or of what has none, by what it says.

    The driver removes secrets from it and then calls ``short``.
    """
    return storable(f"{format}-{'/'.join(str(part) for part in foreign)}")


def names_in(item: Item) -> tuple[str, ...]:
    """The names of what has here the id that it has elsewhere."""
    if isinstance(item, LinkItem):
        return item.names or ()
    name = item.name if isinstance(item, RecordItem | EpisodeItem) else None
    return () if name is None else (name,)


def kept(format: str, id: str) -> str:
    """The id that something has elsewhere, if a memory can have it; else its name."""
    return id if is_id(id) else named(format, id)


def is_id(text: str) -> bool:
    """True if a memory can have a text as an id, exactly as it stands."""
    try:
        return validate.identifier(text) == text
    except InvalidInput:
        return False


def short(name: str) -> str:
    """A name as an id: as it is, if it can be one, else with a digest."""
    if usable(name):
        return name
    head = name.partition("-")[0]
    format = head if _ID.fullmatch(head) else "id"  # of a graph, whose ids have no format
    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()  # it may be half a character
    return f"{format}-{digest[:_DIGEST_CHARS]}"


def once(found: Iterable[Found]) -> Iterator[Found]:
    """The same, with each record once: another one that has its id there is reported."""
    seen: set[str] = set()
    for one in found:
        if isinstance(one, RecordItem):
            if one.id in seen:
                yield Trouble(where=one.where, why=f"there is another record with the id {one.id}")
                continue
            seen.add(one.id)
        yield one


def usable(name: str) -> bool:
    """True if a name can be an id as it is."""
    return len(name) <= _ID_MAX_CHARS and _ID.fullmatch(name) is not None


def text_of(value: object) -> str:
    """A text without the few characters that a memory refuses; empty if it is not one."""
    return storable(value).strip() if isinstance(value, str) else ""


def name_of(value: object) -> str | None:
    """A word for ``kind``, ``about``, a tag or a user: one line of limited length."""
    if isinstance(value, Digits):
        value = value.text
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value) if abs(value) <= limits.INTEGER_MAX else ""
    if not isinstance(value, str):
        return None
    if value.isalnum() and value.isascii() and len(value) <= limits.NAME_MAX_CHARS:
        return value
    line = " ".join(_UNSEEN.sub(" ", storable(value)).split())
    # NFC, as a memory stores names, joins at most four characters into one.
    line = unicodedata.normalize("NFC", line[: 4 * limits.NAME_MAX_CHARS])
    return line[: limits.NAME_MAX_CHARS].strip() or None


def names_of(values: object, at_most: int = limits.TAGS_MAX_COUNT) -> tuple[str, ...]:
    """The usable words of a list, each once; a text is one word."""
    some = values if isinstance(values, list | tuple) else [values]
    found = (name_of(one) for one in some[:_LIST_MAX_COUNT])
    known = dict.fromkeys(one for one in found if one is not None)
    return tuple(known)[:at_most]


def fraction_of(value: object) -> float | None:
    """A number from 0 to 1; None if it is something else."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value <= 1 else None  # type: ignore[operator,arg-type]


def moment_of(value: object) -> str | None:
    """When something was said: ISO 8601, or seconds since 1970. Without a zone it is UTC."""
    try:
        if isinstance(value, str):
            return in_years(_written(value.strip()))
        if isinstance(value, int | float) and not isinstance(value, bool):
            return in_years(_counted(value))
    except (InvalidInput, ValueError, OverflowError):
        pass
    return None


def in_years(instant_text: str | None) -> str | None:
    """A date, unless no writer could give it: "never" and "always" are written so elsewhere."""
    found = None if instant_text is None else instant(instant_text)
    return found if found is not None and is_dated(found) else None


def _written(text: str) -> str | None:
    if not text or len(text) > limits.NAME_MAX_CHARS:
        return None
    found: datetime | date = datetime.fromisoformat(text)
    if isinstance(found, datetime) and found.tzinfo is None:
        found = found.replace(tzinfo=UTC)
    return instant(found)


def _counted(number: float) -> str | None:
    if not math.isfinite(number):
        return None
    seconds = number / 1000 if abs(number) > _SECONDS_MAX else number
    return from_microseconds(round(seconds * 1_000_000)) if 0 < seconds < _LAST_SECOND else None


def data_of(
    value: object, *leave_out: str, lost: dict[str, str] | None = None, inside: int = 0
) -> dict[str, Json]:
    """An object as data, ``inside`` so many others: what JSON cannot store is written as text.

    ``lost`` gets the path of each part that is not as it was, and why.
    """
    if type(value) is not dict and not isinstance(value, Mapping):
        return {}
    kept = {key: part for key, part in value.items() if key not in leave_out}
    found = _Kept({} if lost is None else lost).json(kept, limits.DATA_MAX_DEPTH - inside, "")
    return found if isinstance(found, dict) else {}


class _Kept:
    """Turns values into JSON that a memory stores, and notes what they lose."""

    def __init__(self, lost: dict[str, str]) -> None:
        self._lost = lost

    def json(self, value: object, levels: int, path: str) -> Json:
        """A value; ``levels`` of objects and lists may be inside each other."""
        if isinstance(value, str):
            return self._text(value, path)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float | Digits):
            return self._number(value, path)
        if not isinstance(value, Mapping | list | tuple):
            self._lost[path] = f"JSON has no {type(value).__name__}"
            return None
        if levels < 1:
            return self._too_deep(value, path)
        if not isinstance(value, Mapping):
            parts = enumerate(value)
            return [self.json(part, levels - 1, f"{path}[{at}]") for at, part in parts]
        before = f"{path}." if path else ""
        found: dict[str, Json] = {}
        for name, part in value.items():
            key = storable(str(name))
            if key != name or key in found:
                self._lost[before + key] = "the key cannot be stored as it is"
            found[key] = self.json(part, levels - 1, before + key)
        return found

    def _text(self, value: str, path: str) -> str:
        found = storable(value)
        if found != value:
            self._lost[path] = "characters that cannot be stored; \ufffd stands for them"
        return found

    def _number(self, value: float | Digits, path: str) -> Json:
        if isinstance(value, int) and abs(value) <= limits.INTEGER_MAX:
            return value
        if isinstance(value, float) and math.isfinite(value):
            return value
        self._lost[path] = _NO_NUMBER
        return value.text if isinstance(value, Digits) else str(value)

    def _too_deep(self, value: object, path: str) -> Json:
        try:
            found = json.dumps(value, ensure_ascii=False, default=_digits)
        except (RecursionError, TypeError, ValueError):
            self._lost[path] = "it is nested too deeply, and was left out"
            return None
        self._lost[path] = "it is nested too deeply; its JSON is kept as text"
        return storable(found)


def _digits(value: object) -> str:
    """The digits of a number inside JSON that is kept as text."""
    if isinstance(value, Digits):
        return value.text
    raise TypeError


def lines_of(source: Source) -> Iterator[tuple[int, bytes | None]]:
    """The numbered lines of a file, split at line feeds alone; None for one that is too long."""
    rest, number, is_long = b"", 0, False
    for chunk in source.chunks():
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            number += 1
            yield number, None if is_long else line
            is_long = False
        if len(rest) > limits.LINE_MAX_BYTES:
            rest, is_long = b"", True
    if rest or is_long:
        yield number + 1, None if is_long else rest


def whole(source: Source, at_most: int = limits.LINE_MAX_BYTES) -> bytes | None:
    """All bytes of a small file; None if there are more than ``at_most``."""
    found = bytearray()
    for chunk in source.chunks():
        found += chunk
        if len(found) > at_most:
            return None
    return bytes(found)


_OBJECT: Final = msgspec.json.Decoder(dict[str, object])


def object_of(line: bytes) -> dict[str, object] | None:
    """A line of JSON that holds an object; None if it holds anything else."""
    try:
        return _OBJECT.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError):
        return None


def objects_of(source: Source) -> Iterator[tuple[str, dict[str, object]] | Trouble]:
    """The objects of a file with one on each line, each with where it stands."""
    for number, line in lines_of(source):
        where = f"{source.name}:{number}"
        if line is None:
            yield Trouble(where=where, why="the line is too long")
        elif line.strip():
            found = object_of(line)
            yield Trouble(where=where, why="not a JSON object") if found is None else (where, found)


def listed(value: object) -> Iterable[object]:
    """The parts of a list; nothing if it is not one."""
    return value if isinstance(value, list) else ()
