"""The search for secrets, and the text without them.

Responsible for the place and kind of each secret in a text, and for removing it. Leaves when to
search to its callers. Invariants: the time depends only on the text's length; searching a redacted
text again finds nothing; a text without secrets is returned unchanged. Only the shape is examined:
a secret in plain words ("my dog's name") is not found.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

import msgspec

from recollect.errors import InvalidInput
from recollect.exchange.redaction import blocks, calls, commands, names, structure
from recollect.exchange.redaction.shape import Shape
from recollect.exchange.redaction.table import TOKENS

_BLOCK: Final = "-----"
_APART: Final = "\n" + " " * 70 + "\n"  # longer than any shape looks back


_Group = tuple[str, bool, tuple[Shape, ...]]  # how its shapes begin, in lower case if a name


class Secret(msgspec.Struct, frozen=True):
    """The place of a secret in a text, and its kind."""

    kind: str
    start: int
    end: int


def find(text: str, groups: Sequence[_Group] | None = None) -> tuple[Secret, ...]:
    """Every secret, in order, none overlapping another; ``groups`` are those that can occur.

    Escaped JSON is searched both as written and unescaped, so a secret is found whether its quotes,
    slashes and line ends are escaped or not.
    """
    found = list(_scan(text, groups))
    for views in _readings(text):
        found += [_place(each, views) for each in _scan_changed(views[-1])]
    return _apart(found)


def redact(text: str) -> tuple[str, dict[str, int]]:
    """The text with ``[redacted:<kind>]`` for each secret, and how many there were of each kind."""
    counts: Counter[str] = Counter()
    for _ in range(_PASSES_MAX_COUNT):  # text beside a removed secret may now look like one
        found = find(text)
        if not found:
            break
        text = _without(text, found)
        counts.update(each.kind for each in found)
    return text, dict(sorted(counts.items()))


def with_secrets(texts: Sequence[str]) -> set[int]:
    """Which of many texts may hold a secret; each of these is to be redacted by itself.

    They are searched as one text, because most of a search is the same for a short text and a long
    one. A long blank line keeps them apart; what reaches over it names both.
    """
    starts = [0, *accumulate(len(text) + len(_APART) for text in texts)]
    # A block is found by both its ends, and another text may have one of them.
    some = {place for place, text in enumerate(texts) if _BLOCK in text}
    # What is not in the texts is not looked for in the longer text that keeps them apart.
    close = "\n".join(texts)
    small = close.replace("\u0130", "i").lower()
    groups = [group for group in _GROUPS if group[0] in (small if group[1] else close)]
    for each in find(_APART.join(texts), groups):
        first = bisect_right(starts, each.start) - 1
        some.update(range(first, bisect_right(starts, each.end - 1)))
    return {place for place in some if place < len(texts)}


def refuse_secrets(value: object) -> None:
    """Raises if a value holds a secret; searches mappings and lists, including their keys."""
    kinds = sorted({found.kind for text in _texts(value) for found in find(text)})
    if kinds:
        raise InvalidInput(
            f"not stored: this looks like a secret ({', '.join(kinds)})",
            hint="write where the secret is kept instead of the secret",
        )


def _texts(value: object) -> Iterator[str]:
    """Every text in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from _texts(name)
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)


_ESCAPES_MAX_DEPTH: Final = 3  # JSON in JSON in JSON
_REACH_CHARS: Final = 1_000  # the most characters between an escape and a secret that it hid
_PASSES_MAX_COUNT: Final = 8


def _without(text: str, found: tuple[Secret, ...]) -> str:
    parts: list[str] = []
    end = 0
    for each in found:
        parts += [text[end : each.start], f"[redacted:{each.kind}]"]
        end = each.end
    return "".join([*parts, text[end:]])


def _apart(found: list[Secret]) -> tuple[Secret, ...]:
    """Merges overlapping secrets into one of the first and widest one's kind."""
    merged: list[Secret] = []
    for each in sorted(found, key=lambda each: (each.start, -each.end)):
        last = merged[-1] if merged else None
        if last is None or each.start >= last.end:
            merged.append(each)
        elif each.end > last.end:
            merged[-1] = Secret(last.kind, last.start, each.end)
    return tuple(merged)


# --- escaped text


class _View(NamedTuple):
    """A text with one level of escapes undone, and the mapping of its positions to the original.

    ``here`` has both ends of every escape in this text, ``there`` the same in the original.
    """

    text: str
    here: list[int]
    there: list[int]


_ESCAPE: Final = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_READS: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_ENCODED: Final = re.compile(r"%(2[0-9A-F]|3[A-F]|5[BD]|7[BD])|&(quot|apos|amp|lt|gt|#39|#34);")
_ENTITIES: Final = {
    "quot": '"',
    "apos": "'",
    "amp": "&",
    "lt": "<",
    "gt": ">",
    "#39": "'",
    "#34": '"',
}
_UNSEEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)


def _escaped(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else _READS.get(match[2], match[2])


def _encoded(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else _ENTITIES[match[2]]


def _nothing(match: re.Match[str]) -> str:
    return ""


def _undone(text: str, pattern: re.Pattern[str], becomes: Callable[[re.Match[str]], str]) -> _View:
    """The text with each match unescaped, to one character or none."""
    parts: list[str] = []
    here, there = [0], [0]
    end = length = 0
    for match in pattern.finditer(text):
        start, reads = match.start(), becomes(match)
        parts += (text[end:start], reads)
        length += start - end + len(reads)
        end = match.end()
        here += (length - len(reads), length)
        there += (start, end)
    return _View("".join([*parts, text[end:]]), here, there)


def _readings(text: str) -> Iterator[list[_View]]:
    """The text as a reader may see it: JSON escapes undone up to three times, then those of URLs
    and HTML, then without invisible characters."""
    views: list[_View] = []
    read = text
    while len(views) < _ESCAPES_MAX_DEPTH and "\\" in read:
        view = _undone(read, _ESCAPE, _escaped)
        if view.text == read:
            break
        views = [*views, view]
        read = view.text
        yield views
    for pattern, becomes in ((_ENCODED, _encoded), (_UNSEEN, _nothing)):
        if pattern.search(text):
            yield [_undone(text, pattern, becomes)]


def _scan_changed(view: _View) -> Iterator[Secret]:
    """Searches only near the escapes: the rest is unchanged and was searched before."""
    for start, end in _near_escapes(view):
        for each in _scan(view.text[start:end]):
            yield Secret(each.kind, start + each.start, start + each.end)


def _near_escapes(view: _View) -> Iterator[tuple[int, int]]:
    """Whole lines around the escapes of a view, in order; no line is searched twice."""
    start = end = 0
    for place in view.here[1::2]:
        if place + _REACH_CHARS <= end:
            continue
        line = view.text.rfind("\n", end, max(end, place - _REACH_CHARS))
        if line >= 0:
            if end:
                yield start, end
            start = line + 1
        end = view.text.find("\n", place + _REACH_CHARS)
        end = len(view.text) if end < 0 else end
    if end:
        yield start, end


def _place(found: Secret, views: list[_View]) -> Secret:
    """A secret found in the last view, as a position in the original text."""
    start, end = found.start, found.end
    for view in reversed(views):
        start, end = _before(view, start), _before(view, end)
    return Secret(found.kind, start, end)


def _before(view: _View, place: int) -> int:
    nearest = bisect_right(view.here, place) - 1
    return view.there[nearest] + place - view.here[nearest]


# --- looking


def _scan(text: str, groups: Sequence[_Group] | None = None) -> Iterator[Secret]:
    # One letter becomes longer in lower case, which would shift every position after it.
    small = text.replace("\u0130", "i").lower()
    if groups is None:
        groups = _ASCII_GROUPS if text.isascii() else _GROUPS
    for begins, is_name, shapes in groups:
        searched = small if is_name else text
        if begins in searched:  # most are absent, and this is the fastest check
            for shape in shapes:
                yield from _shaped(text, searched, shape)
    for kind, start, end in blocks.found(text, small):
        yield Secret(kind, start, end)


def _shaped(text: str, searched: str, shape: Shape) -> Iterator[Secret]:
    start = searched.find(shape.begins)
    while start >= 0:
        span = shape.match(text, start)
        after = start + 1
        if span is not None and span[1] > start:
            after = span[1]
            yield Secret(shape.kind, *span)
        start = searched.find(shape.begins, after)


def _token(kind: str, begins: str, rest: str, after: str) -> Shape:
    """A format with a fixed prefix, if it is not part of a longer word."""
    whole = rf"(?<![A-Za-z0-9])(?P<value>{re.escape(begins)}{rest})(?!{after})"
    return Shape(kind, begins, whole)


_SHAPES: Final = (
    *(_token(*row) for row in TOKENS),
    *structure.SHAPES,
    *names.SHAPES,
    *commands.SHAPES,
    *calls.SHAPES,
)


def _grouped(shapes: tuple[Shape, ...]) -> tuple[_Group, ...]:
    """Groups shapes with the same prefix, so that a prefix is searched once."""
    groups: dict[tuple[str, bool], list[Shape]] = {}
    for shape in shapes:
        groups.setdefault((shape.begins, shape.is_name), []).append(shape)
    return tuple((*begins, tuple(group)) for begins, group in groups.items())


_GROUPS: Final = _grouped(_SHAPES)
_ASCII_GROUPS: Final = tuple(group for group in _GROUPS if group[0].isascii())
