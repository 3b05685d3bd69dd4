"""Checks of arguments, made before anything is decided or written.

Responsible for refusing input that could not be stored, hashed or read back exactly. Leaves
meaning to ``lifecycle``. Invariant: a checked value is valid UTF-8 without U+0000, finite, within
``model.limits``, of a plain type (a subclass of ``str`` or ``int`` is converted), and is read back
from the ledger unchanged.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec

from recollect.errors import InvalidInput, LimitExceeded
from recollect.model import limits

if TYPE_CHECKING:
    Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
else:
    Json = object  # decoders need the type at run time and do not support its recursion

_ID: Final = re.compile(r"[A-Za-z0-9_.:@/+~#=-]+", re.ASCII)
# The id of a command that a merge of two ledgers brought: its id where it was written, whether it
# was shown to be this person's, the hash of its first line there, and which of its events came.
BROUGHT: Final = re.compile(
    r"(?P<id>.+)~(?P<how>[xu])(?P<mark>[0-9a-f]{16})(?::(?P<places>[0-9+-]+))?", re.ASCII
)
_DOCUMENT_TYPE: Final = re.compile(r"[a-z][a-z0-9_.-]*", re.ASCII)


def plain(value: str, what: str) -> str:
    """The plain ``str`` of a subclass of ``str``: encoders refuse the subclasses of libraries."""
    if type(value) is str:
        return value
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be text, not {type(value).__name__}")
    return str.__str__(value)  # not the class's own ``__str__``, such as an enum's


def text(value: str, what: str = "text") -> str:
    """Content, kept as given; it must not be blank."""
    value = plain(value, what)
    if not value.strip():
        raise InvalidInput(f"{what} is empty")
    _check_characters(value, what)
    # A character has at most four bytes, so most texts need not be encoded to be measured.
    if 4 * len(value) > limits.TEXT_MAX_BYTES and len(value.encode()) > limits.TEXT_MAX_BYTES:
        raise LimitExceeded(
            f"{what} is longer than {limits.TEXT_MAX_BYTES:,} bytes",
            hint="split it into several episodes or records",
        )
    return value


def question(value: str) -> str:
    """A query: any text, even an empty one; a very long one is cut."""
    value = plain(value, "query")[: limits.QUESTION_MAX_CHARS]
    _check_characters(value, "query")
    return value


def questions(values: Iterable[str]) -> list[str]:
    """Several queries; a single string, which would be split into its letters, is refused."""
    if isinstance(values, str):
        raise InvalidInput("queries must be a list of strings", hint="`recall` takes one string")
    found = [question(value) for value in islice(values, limits.RECALL_MAX_QUERIES + 1)]
    if len(found) > limits.RECALL_MAX_QUERIES:
        raise LimitExceeded(f"more than {limits.RECALL_MAX_QUERIES:,} queries in one call")
    return found


_AUTHORS_WITHOUT_NAME: Final = ("person", "agent", "unverified", "system")
_BLANK: Final = "\u115f\u1160\u2800\u3164\uffa0"  # letters and signs that show as nothing


def name(value: str, what: str) -> str:
    """An identifier a person chose (key, tag, user …): NFC, one line, not empty."""
    value = plain(value, what)
    _check_characters(value, what)
    # NFC joins at most four characters into one. Check first: normalising many marks is slow.
    _check_length(value.strip(), what, 4)
    value = unicodedata.normalize("NFC", value).strip()
    if not value:
        raise InvalidInput(f"{what} is empty")
    _check_length(value, what)
    if any(unicodedata.category(c) == "Cc" for c in value):
        raise InvalidInput(f"{what} contains a control character")
    return value


def own_name(value: str) -> str:
    """What a person calls themselves: not what lists say of an author without a name."""
    value = name(value, "your name")
    if value.startswith("(") or value.split()[0].lower() in _AUTHORS_WITHOUT_NAME:
        raise InvalidInput(
            f"{value!r} cannot be your name: lists write it of authors without one",
            hint="give another name, or - for none",
        )
    if any(unicodedata.category(c) == "Cf" or c in _BLANK for c in value):
        raise InvalidInput("your name contains an invisible character")
    return value


def is_own_name(value: str) -> bool:
    """True if a person may call themselves so."""
    try:
        return own_name(value) == value
    except InvalidInput:
        return False


def is_name(value: str) -> bool:
    """True if a person can have chosen this name."""
    try:
        return name(value, "name") == value
    except InvalidInput:
        return False


def _check_length(value: str, what: str, times: int = 1) -> None:
    if len(value) > times * limits.NAME_MAX_CHARS:
        raise LimitExceeded(f"{what} is longer than {limits.NAME_MAX_CHARS} characters")


def optional_name(value: str | None, what: str) -> str | None:
    """``name``, or None."""
    return None if value is None else name(value, what)


def reason(value: str | None) -> str | None:
    """A reason in a person's words, or None."""
    if value is None:
        return None
    value = text(value, "reason")
    if len(value) > limits.REASON_MAX_CHARS:
        raise LimitExceeded(f"reason is longer than {limits.REASON_MAX_CHARS:,} characters")
    return value


def identifier(value: str, what: str = "id") -> str:
    """An id: short ASCII without blanks, safe in a line's header, a URL and a shell."""
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"{what} is empty", hint="omit it to have one generated")
    value = plain(value, what)
    if len(value) > limits.ID_MAX_CHARS:
        raise LimitExceeded(f"{what} is longer than {limits.ID_MAX_CHARS} characters")
    if not _ID.fullmatch(value):
        raise InvalidInput(
            f"{what} {value!r} contains a character that is not allowed in an id",
            hint="use letters, digits and _ . : @ / + ~ # = -",
        )
    return value


def command_key(value: str) -> str:
    """A caller's own id of a call; those that a merge gives are its own."""
    value = identifier(value, "idempotency_key")
    if BROUGHT.fullmatch(value):
        raise InvalidInput(
            f"idempotency_key {value!r} ends like that of a merged command",
            hint="leave out what follows the last ~",
        )
    return value


def reference(value: str) -> str:
    """What names a record or an episode: an id, the beginning of one, or a key."""
    return name(value, "id")


def asked(value: str) -> str:
    """What a read is asked for: anything that every engine can look up."""
    value = plain(value, "id")
    _check_characters(value, "id")
    return value


def document(type: str, name: str) -> tuple[str, str]:
    """A document's type and name: both short enough for one id, the type without a slash."""
    type = document_type(type)
    name = identifier(name, "the name of a document")
    identifier(f"{type}/{name}", "type and name of a document together")
    return type, name


def is_document(type: str, name: str) -> bool:
    """True if a document can have this type and name."""
    try:
        return document(type, name) == (type, name)
    except InvalidInput:
        return False


def document_type(value: str) -> str:
    """The type of a document."""
    if not isinstance(value, str) or not _DOCUMENT_TYPE.fullmatch(value):
        raise InvalidInput(
            f"{shown(value)} cannot be the type of a document",
            hint="use lower-case letters, digits and _ . -, beginning with a letter",
        )
    return plain(value, "the type of a document")


def document_id(value: str, what: str) -> tuple[str, str]:
    """The type and the name in a document's id."""
    type, _, name = plain(value, what).partition("/")
    if not name:
        raise InvalidInput(
            f"{what} is the id of a document, not {shown(value)}", hint='such as "rules/mail"'
        )
    return document(type, name)


def expected(value: tuple[str, int] | int | None) -> tuple[str, int] | int | None:
    """What a write expects: a position, or an id with the seq that it was read at."""
    if value is None or (_is_seq(value) and isinstance(value, int)):
        return value
    if isinstance(value, tuple | list) and len(value) == 2 and _is_seq(value[1]):
        return identifier(value[0], "id in expect"), value[1]
    raise InvalidInput(
        f"expect is a position, or an id with its seq, not {shown(value)}",
        hint="pass memory.events.position, or (record.id, record.seq)",
    )


def _is_seq(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def space_name(value: str) -> str:
    """The name of a space."""
    value = name(value, "space")
    if len(value.encode()) > limits.SPACE_NAME_MAX_BYTES:
        raise LimitExceeded(f"space is longer than {limits.SPACE_NAME_MAX_BYTES} bytes")
    return value


def names(values: Iterable[str], what: str, *, at_most: int) -> tuple[str, ...]:
    """Several names, each once, in the order given."""
    if isinstance(values, str):
        raise InvalidInput(
            f"{what} must be a list of strings, not one string", hint=f"pass [{values!r}]"
        )
    if not isinstance(values, Iterable):
        raise InvalidInput(f"{what} must be a list of strings, not {type(values).__name__}")
    checked = tuple(dict.fromkeys(name(value, what) for value in values))
    if len(checked) > at_most:
        raise LimitExceeded(f"more than {at_most} {what}")
    return checked


def fraction(value: float, what: str) -> float:
    """A number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(f"{what} must be a number, not {type(value).__name__}")
    if not 0.0 <= value <= 1.0:  # also false for NaN, and for any size of integer
        raise InvalidInput(f"{what} must be between 0 and 1, not {shown(value)}")
    return float(int(value)) if isinstance(value, int) else float.__float__(value)


def flag(value: bool, what: str) -> bool:
    """True or False; any other value, such as the text "false", would count as true."""
    if not isinstance(value, bool):
        raise InvalidInput(f"{what} must be True or False, not {shown(value)}")
    return value


def count(value: int, what: str, *, at_most: int) -> int:
    """A positive number of things."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidInput(f"{what} must be a positive whole number, not {shown(value)}")
    if value > at_most:
        raise LimitExceeded(f"{what} is more than {at_most:,}")
    return int.__int__(value)


def position(value: int, what: str) -> int:
    """A position of the ledger; one beyond every event means the present."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidInput(f"{what} is a position, 0 or more, not {shown(value)}")
    return min(value, limits.INTEGER_MAX)


def data(value: Mapping[str, Json] | None, what: str = "data") -> dict[str, Json]:
    """A JSON object of the caller's own."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{what} must be a mapping, not {type(value).__name__}")
    checked = _Checker(what).mapping(value, 1)
    if len(msgspec.json.encode(checked)) > limits.DATA_MAX_BYTES:
        raise LimitExceeded(f"{what} is longer than {limits.DATA_MAX_BYTES:,} bytes")
    return checked


def parse_json(source: str, what: str) -> Json:
    """The value of a JSON text; a key given twice, NaN and the infinities are refused."""
    import json  # few calls parse JSON, and every import delays a hook

    try:
        parsed: Json = json.loads(source, object_pairs_hook=_unique, parse_constant=_not_a_number)
    except (ValueError, RecursionError) as error:  # also an integer of thousands of digits
        raise InvalidInput(f"{what} is not JSON that can be stored: {error}") from error
    return parsed


def parse_json_object(source: str, what: str = "data") -> dict[str, Json]:
    """The JSON object in a text; a key given twice is refused."""
    parsed = parse_json(source, what)
    if not isinstance(parsed, dict):
        raise InvalidInput(f"{what} must be a JSON object")
    return data(parsed, what)


def shown(value: object) -> str:
    """A value for a message; a description if it is too large to write out."""
    try:
        return repr(value)[:80]
    except (ValueError, RecursionError):
        return f"a {type(value).__name__} that is too large to show"


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """An object whose keys are all different."""
    result = dict(pairs)
    if len(result) != len(pairs):
        raise InvalidInput("a JSON object contains the same key twice")
    return result


def _not_a_number(constant: str) -> Json:
    """Refuses NaN and the infinities, which JSON does not have."""
    raise InvalidInput(f"{constant} is not a number that JSON can store")


def _check_characters(value: str, what: str) -> None:
    """Refuses U+0000 (engines differ on it) and lone surrogates (not valid UTF-8)."""
    if "\0" in value:
        raise InvalidInput(f"{what} contains U+0000")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{what} is not valid UTF-8: it contains a lone surrogate") from error


class _Checker:
    """Walks one JSON value, counting keys and depth."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.keys = 0

    def mapping(self, value: Mapping[str, Json], depth: int) -> dict[str, Json]:
        self._check_depth(depth)
        self.keys += len(value)
        if self.keys > limits.DATA_MAX_KEYS:
            raise LimitExceeded(f"{self.what} has more than {limits.DATA_MAX_KEYS:,} keys")
        return {self._key(key): self._value(item, depth) for key, item in value.items()}

    def _value(self, value: Json, depth: int) -> Json:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int):
            if abs(value) > limits.INTEGER_MAX:
                raise InvalidInput(f"{self.what} contains an integer beyond ±(2^53 - 1)")
            return int.__int__(value)
        if isinstance(value, float):
            if not math.isfinite(value):
                raise InvalidInput(f"{self.what} contains {value}, which is not a JSON number")
            return float.__float__(value)
        if isinstance(value, Mapping):
            return self.mapping(value, depth + 1)
        if isinstance(value, list | tuple):
            self._check_depth(depth + 1)
            return [self._value(item, depth + 1) for item in value]
        raise InvalidInput(f"{self.what} contains a {type(value).__name__}, which is not JSON")

    def _key(self, key: str) -> str:
        if not isinstance(key, str):
            raise InvalidInput(f"{self.what} has a key that is not text: {shown(key)}")
        return self._text(key)

    def _text(self, value: str) -> str:
        value = plain(value, self.what)
        _check_characters(value, self.what)
        return value

    def _check_depth(self, depth: int) -> None:
        if depth > limits.DATA_MAX_DEPTH:
            raise LimitExceeded(f"{self.what} is nested deeper than {limits.DATA_MAX_DEPTH}")


def arguments(call: str, given: Mapping[str, object], kind: type) -> Mapping[str, object]:
    """The arguments that a call passes on; others are refused, as any function does."""
    names = kind.__annotations__.keys()
    if given.keys() <= names:
        return given
    raise TypeError(f"{call}() got an unexpected keyword argument {min(given.keys() - names)!r}")
