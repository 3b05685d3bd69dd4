"""Words of a memory inside Markdown: bodies, tags, links and local time.

Responsible for writing a text so that it cannot be taken for a part of the page, and for reading it
back. Leaves the layout of a page to ``mirror.render`` and ``mirror.parse``. Invariants: a body has
no line that begins an entry, and nothing in it hides what follows; what was written is read back as
``normal`` says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

STRIKE: Final = "~~"
_MINUTES_MAX: Final = 24 * 60  # of an offset; a ledger from elsewhere may hold any number

# Lines that mean something to this format or take the lines below with them: a heading with a
# time, a fence, a strike-through, HTML, and a line that turns the one above into a heading.
_MEANS: Final = re.compile(r"( {0,3})(\\*)(##[ \t]+\[|```|~~?|<[A-Za-z/!?]|(?:-+|=+)[ \t]*$)")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$", re.DOTALL)
_BLANK_START: Final = re.compile(r"\A(?:[ \t]*\n)+")
_GAP: Final = re.compile(r"(\n(?:[ \t]*\n)+)")  # between two paragraphs
_ESCAPED: Final = re.compile(r"(?:%[0-9a-f]{2})+")
_SUPERSEDED: Final = "superseded-by:"


def normal(text: str) -> str:
    """A text without the blank lines around it and with one kind of line end."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _BLANK_START.sub("", text).rstrip(" \t\n")


def body(text: str, *, struck: bool = False) -> str:
    """A text as the body of an entry."""
    lines = normal(text).split("\n")
    guard_from = 0 if struck else _unclosed(lines)
    guarded = "\n".join(
        _guarded(line, lines[number - 1] if number else None, number >= guard_from, struck)
        for number, line in enumerate(lines)
    )
    return _struck(guarded) if struck else guarded


def _struck(body: str) -> str:
    """Each paragraph struck through: Markdown ends a strike-through where a paragraph ends."""
    parts = _GAP.split(body)
    return "".join(
        part if number % 2 else f"{STRIKE}{part}{STRIKE}" for number, part in enumerate(parts)
    )


def unstruck(body: str) -> str | None:
    """A body without the marks of ``_struck``, or with one pair around it; None if it has none."""
    parts = _GAP.split(body)
    inner = [part if number % 2 else _inside(part) for number, part in enumerate(parts)]
    if None not in inner:
        return "".join(part for part in inner if part is not None)
    # Written by an earlier release, or by hand: but not if the first paragraph is struck alone.
    return None if inner[0] is not None else _inside(body)


def _inside(part: str) -> str | None:
    part = part.rstrip(" \t")
    marks = len(STRIKE)
    is_struck = len(part) > 2 * marks and part.startswith(STRIKE) and part.endswith(STRIKE)
    return part[marks:-marks] if is_struck else None


def is_emptied(body: str) -> bool:
    """True if nothing but marks is left of a body."""
    return body.startswith(STRIKE) and not body.strip("~ \t\n")


def text_of(body: str) -> str:
    """The text of a body, without the marks that ``body`` adds."""
    return normal("\n".join(_unguarded(line) for line in body.split("\n")))


def _guarded(line: str, above: str | None, fences: bool, struck: bool) -> str:
    found = _MEANS.match(line)
    if found is None:
        return line
    is_fence = struck and found[3][0] == "~"  # it would be one together with a mark
    if not (found[2] or is_fence or _needs_guard(found[3], line, above, fences)):
        return line
    return f"{found[1]}\\{line[found.end(1) :]}"


def _needs_guard(start: str, line: str, above: str | None, fences: bool) -> bool:
    if start[0] in "`~" and _FENCE.match(line):
        return fences
    if start[0] == "~":
        return start == STRIKE and above is None
    if start[0] in "-=":
        return above is not None and bool(above.strip())
    return True


def _unguarded(line: str) -> str:
    found = _MEANS.match(line)
    if found is None or not found[2]:
        return line
    return found[1] + line[found.end(1) + 1 :]


def _unclosed(lines: Sequence[str]) -> int:
    """The line from which fences are not closed; after the last line, if all are."""
    first = _MEANS.match(lines[0])
    if first is not None and first[3] == STRIKE:  # guarded itself, so that it opens nothing
        return 0
    fence, began = "", len(lines)
    for number, line in enumerate(lines):
        found = _FENCE.match(line)
        if found is None:
            continue
        if not fence:
            fence, began = found[1], number
        elif found[1].startswith(fence) and not found[2].strip():
            fence = ""
    return began if fence else len(lines)


def hashtag(tag: str) -> str:
    """A tag as one word; what a word cannot hold is escaped."""
    written = "".join(
        letter if letter.isprintable() and letter not in " #%{}" else _percent(letter)
        for letter in tag
    )
    return written.replace(":", "%3a", 1) if written.startswith(_SUPERSEDED) else written


def tag_of(word: str) -> str:
    """The tag that a word stands for."""

    def plain(found: re.Match[str]) -> str:
        try:
            return bytes.fromhex(found[0].replace("%", "")).decode()
        except UnicodeDecodeError:
            return found[0]

    return _ESCAPED.sub(plain, word)


def _percent(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode())


def one_line(text: str, limit: int | None = None) -> str:
    """A text on one line, cut after so many characters."""
    words = " ".join(text.split())
    return words if limit is None or len(words) <= limit else words[: limit - 1].rstrip() + "…"


def link(title: str, name: str) -> str:
    """A link to another page of the same folder."""
    shown = re.sub(r"([\\\[\]<>`])", r"\\\1", one_line(title))
    return f"[{shown}]({name}.md)"


def local(at: str, tz_minutes: int) -> datetime:
    """An instant in the time of its writer."""
    moment = datetime.fromisoformat(at)
    if abs(tz_minutes) >= _MINUTES_MAX:
        return moment.astimezone(UTC)
    try:
        return moment.astimezone(timezone(timedelta(minutes=tz_minutes)))
    except OverflowError:  # the first and the last day that there is
        return moment.astimezone(UTC)


def clock_time(moment: datetime) -> str:
    """A local time as entries show it."""
    return moment.replace(tzinfo=None).isoformat(timespec="seconds")


def with_offset(moment: datetime) -> str:
    """A local time as the frontmatter shows it."""
    return moment.isoformat(timespec="seconds")
