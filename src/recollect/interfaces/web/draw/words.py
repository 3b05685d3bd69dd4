"""Two texts compared by their words, and quoted words in the text that they come from.

Responsible for which words were added and removed, and for where a quote begins and how much around
it is shown. Leaves showing them to the templates.
Invariants: joined without what was added, the pieces give the old text, and without what was
removed the new one; it takes a bounded time: what both begin and end with is left out, long texts
are compared line by line, and in the rest words that come again and again do not count.
"""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher
from typing import Final, Literal

import msgspec

Change = Literal["same", "added", "removed"]

# A time, a number or a key such as alice.seat is one word.
_WORDS: Final = re.compile(r"\s+|\w+(?:[.:,]\w+)*|[^\w\s]")
_LINES: Final = re.compile(r"[^\n]*\n|[^\n]+")
_WORDS_MAX_COUNT: Final = 5_000
_LINES_MAX_COUNT: Final = 10_000
_PAIRS_MAX_COUNT: Final = 250_000
_MATCHES_MAX_COUNT: Final = 100_000
AROUND_CHARS: Final = 240


class Piece(msgspec.Struct, frozen=True):
    """A part of one of the texts or of both."""

    change: Change
    text: str


def compared(old: str, new: str) -> tuple[Piece, ...]:
    """What became of the old text, in order."""
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    if max(len(before), len(after)) > _WORDS_MAX_COUNT:
        before, after = _LINES.findall(old), _LINES.findall(new)
    if max(len(before), len(after)) > _LINES_MAX_COUNT:
        return _pieces([("removed", old), ("added", new)])
    same = _alike(before, after)
    rest = min(len(before), len(after)) - same
    alike = _alike(before[::-1][:rest], after[::-1][:rest])
    head, tail = "".join(before[:same]), "".join(before[len(before) - alike :])
    before, after = before[same : len(before) - alike], after[same : len(after) - alike]
    found: list[tuple[Change, str]] = [("same", head)]
    if _matches(before, after) > _MATCHES_MAX_COUNT:  # few different words, again and again
        found += [("removed", "".join(before)), ("added", "".join(after)), ("same", tail)]
        return _pieces(found)
    is_long = len(before) * len(after) > _PAIRS_MAX_COUNT
    for kind, i, j, k, m in SequenceMatcher(None, before, after, autojunk=is_long).get_opcodes():
        if kind == "equal":
            found.append(("same", "".join(before[i:j])))
        else:
            found += [("removed", "".join(before[i:j])), ("added", "".join(after[k:m]))]
    return _pieces(_joined([*found, ("same", tail)]))


def _matches(before: list[str], after: list[str]) -> int:
    """How many pairs of equal words there are: comparing takes as many steps at least."""
    counts = Counter(after)
    return sum(count * counts[word] for word, count in Counter(before).items())


def _alike(before: list[str], after: list[str]) -> int:
    """How many words both begin with."""
    pairs = enumerate(zip(before, after, strict=False))
    return next((place for place, (b, a) in pairs if b != a), min(len(before), len(after)))


def _joined(found: list[tuple[Change, str]]) -> list[tuple[Change, str]]:
    """A space between two changed words belongs to the change: else a phrase reads as confetti."""
    out: list[tuple[Change, str]] = []
    for change, text in found:
        if not text:
            continue
        is_gap = change == "same" and text.isspace() and "\n" not in text
        if is_gap and len(out) > 1 and {out[-1][0], out[-2][0]} == {"removed", "added"}:
            out[-2:] = [(each, said + text) for each, said in out[-2:]]
            continue
        out.append((change, text))
    return _merged(out)


def _merged(found: list[tuple[Change, str]]) -> list[tuple[Change, str]]:
    """Between two texts that stay, one removed and one added piece."""
    out: list[tuple[Change, str]] = []
    removed, added = "", ""
    for change, text in [*found, ("same", "")]:
        if change == "removed":
            removed += text
        elif change == "added":
            added += text
        else:
            out += [("removed", removed), ("added", added), ("same", text)]
            removed, added = "", ""
    return out


def _pieces(found: list[tuple[Change, str]]) -> tuple[Piece, ...]:
    return tuple(Piece(change, text) for change, text in found if text)


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """A text in three parts: before the quoted words, the words, after them."""

    before: str
    words: str
    after: str


def span(text: str, words: str) -> Span:
    """The quoted words, with a little of what stands around them."""
    start = text.find(words)
    if not words or start < 0:
        return Span(before="", words=words, after="")
    end = start + len(words)
    before, after = text[:start], text[end:]
    if len(before) > AROUND_CHARS:
        before = "… " + before[-AROUND_CHARS:].partition(" ")[2]
    if len(after) > AROUND_CHARS:
        after = after[:AROUND_CHARS].rpartition(" ")[0] + " …"
    return Span(before=before, words=words, after=after)
