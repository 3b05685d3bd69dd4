"""One member of an object in the text of a JSON file: added, replaced or removed.

Responsible for positions in a text that may contain comments and trailing commas, as the settings
of editors do. Leaves which file and which member to ``clients``. Invariant: every other character
stays unchanged, comments too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, Final, NamedTuple

_SPACE: Final = " \t\r\n"
# A string, a comment that ends with its line, or one between marks. A string or a comment that does
# not end is matched to the end of its line or text, or the search would begin again at each sign.
_STRING: Final = r'"(?:[^"\\\n]|\\.)*+(?:"|\\?(?=\n|\Z))'
_PARTS: Final = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMA: Final = re.compile(rf"{_STRING}|,(?=\s*+[}}\]])", re.DOTALL)


class Member(NamedTuple):
    """One member of an object: the positions of its start and of its value."""

    key: str
    begin: int
    value_begin: int
    value_end: int


class Text(NamedTuple):
    """A file's text, and the same with spaces instead of comments and of trailing commas."""

    raw: str
    uncommented: str
    plain: str

    @classmethod
    def of(cls, raw: str) -> Text:
        """Reads a text; positions are the same in all three."""
        uncommented = _PARTS.sub(lambda found: _blank(found[0], '"'), raw)
        plain = _LAST_COMMA.sub(lambda found: _blank(found[0], '"'), uncommented)
        return cls(raw, uncommented, plain)


def parse(raw: str) -> Any:
    """The value; raises ``ValueError`` if it cannot be parsed or a key is there twice."""
    return json.loads(Text.of(raw).plain, object_pairs_hook=_once)


def with_member(raw: str, section: str, name: str, value: object) -> str:
    """The text with a member in a section of its root, which is created if missing."""
    text = Text.of(raw)
    root = _skip(text.plain, 0)
    step = _step(text)
    known = _member(text, root, section)
    if known is None:
        return _put(text, root, section, {name: value}, "", step)
    there = _member(text, known.value_begin, name)
    if there is not None:
        spelled = _spelled(value, step * 2, step)
        return raw[: there.value_begin] + spelled + raw[there.value_end :]
    return _put(text, known.value_begin, name, value, step, step)


def without_member(raw: str, section: str, name: str) -> str:
    """The text without a member of a section of its root."""
    text = Text.of(raw)
    known = _member(text, _skip(text.plain, 0), section)
    return raw if known is None else _without(text, known.value_begin, name)


def _blank(found: str, kept: str) -> str:
    """Spaces of the same length, except for what begins with ``kept`` and for line ends.

    A comment that does not end stays too, so that the text cannot be parsed.
    """
    is_open = found.startswith("/*") and not (len(found) > 3 and found.endswith("*/"))
    return found if is_open or found.startswith(kept) else re.sub(r"[^\r\n]", " ", found)


def _members(text: Text, begin: int) -> Iterator[Member]:
    """The members of the object that begins here; the text must be valid."""
    plain = text.plain
    at = _skip(plain, begin + 1)
    while plain[at] != "}":
        key, end = scanstring(plain, at + 1, True)
        value_begin = _skip(plain, _skip(plain, end) + 1)
        _, value_end = json.JSONDecoder().raw_decode(plain, value_begin)
        yield Member(key, at, value_begin, value_end)
        at = _skip(plain, value_end)
        if plain[at] == ",":
            at = _skip(plain, at + 1)


def _skip(plain: str, at: int) -> int:
    while at < len(plain) and plain[at] in _SPACE:
        at += 1
    return at


def _member(text: Text, begin: int, key: str) -> Member | None:
    return next((member for member in _members(text, begin) if member.key == key), None)


def _put(text: Text, begin: int, key: str, value: object, outer: str, step: str) -> str:
    """Adds a last member to the object that begins here."""
    raw, inner = text.raw, outer + step
    line = f"\n{inner}{json.dumps(key)}: {_spelled(value, inner, step)}"
    members = list(_members(text, begin))
    if not members:
        end = text.plain.index("}", begin)
        comments = raw[begin + 1 : end].rstrip()
        return f"{raw[: begin + 1]}{comments}{line}\n{outer}{raw[end:]}"
    at = members[-1].value_end
    comma = "" if text.uncommented[_skip(text.uncommented, at)] == "," else ","
    end = text.plain.find("\n", at)
    if end < 0 or text.plain[at:end].strip():  # something else follows on the same line
        return f"{raw[:at]},{line}{raw[at:]}"
    kept = raw[at:end].rstrip("\r")  # a comment about the value before stays beside it
    return f"{raw[:at]}{comma}{kept}{line}{raw[at + len(kept) :]}"


def _without(text: Text, begin: int, name: str) -> str:
    """The object that begins here, without one of its members."""
    raw, members = text.raw, list(_members(text, begin))
    place = [member.key for member in members].index(name)
    ours = members[place]
    if place + 1 < len(members):
        end = text.uncommented.index(",", ours.value_end) + 1
        return raw[: ours.begin] + raw[_skip(raw, end) :]
    start = members[place - 1].value_end if place else begin + 1
    between = raw[start : ours.begin]
    if between != text.uncommented[start : ours.begin]:  # comments stay
        comma = text.uncommented.find(",", start, ours.begin)
        if comma >= 0:
            between = raw[start:comma] + raw[comma + 1 : ours.begin]
        return raw[:start] + between.rstrip() + raw[ours.value_end :]
    return raw[:start] + raw[ours.value_end :]


def _spelled(value: object, indent: str, step: str) -> str:
    """A value as it would be written at this depth."""
    return json.dumps(value, indent=step).replace("\n", f"\n{indent}")


def _step(text: Text) -> str:
    """How the file indents: as its first member does."""
    first = next(_members(text, _skip(text.plain, 0)), None)
    before = text.raw[: first.begin] if first else ""
    indent = before.rpartition("\n")[2]
    return indent if "\n" in before and indent and not indent.strip() else "  "


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    whole = dict(pairs)
    if len(whole) != len(pairs):
        raise ValueError("duplicate key")
    return whole
