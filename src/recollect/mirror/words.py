"""Words of a memory inside Markdown: bodies, tags, links and local time.

Responsible for writing a text so that it cannot be taken for a part of the page, and for reading it
back. Leaves the layout of a page to ``mirror.render`` and ``mirror.parse``. Invariants: a body has
no line that begins an entry, and nothing in it hides what follows; what was written is read back as
``normal`` says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

from recollect.model import instants

STRIKE: Final = "~~"
_MINUTES_MAX: Final = 24 * 60  # of an offset; a ledger from elsewhere may hold any number

# Lines that mean something to this format or take the lines below with them: a heading with a
# time, a fence, a strike-through, HTML, and a line that turns the one above into a heading.
_MEANS: Final = re.compile(r"( {0,3})(\\*)(##[ \t]+\[|```|~~|<[A-Za-z/!?]|(?:-+|=+)[ \t]*$)")
_MEANS_LINE: Final = re.compile(f"^{_MEANS.pattern}", re.MULTILINE)
# Struck through, one tilde is enough: together with a mark it would be a fence.
_MEANS_STRUCK: Final = re.compile(_MEANS.pattern.replace("~~", "~~?"))
_START: Final = re.compile(r" {0,3}\\*~*")  # of a line: what _MEANS_STRUCK takes care of
_MARKS: Final = re.compile(r"(?<!\\)\\*~~+")
_ESCAPED_MARKS: Final = re.compile(r"(?<!\\)\\(\\*~~+)")
_OPEN_MARKS: Final = re.compile(r"(?<![\\~])~~")
_EMPTIED: Final = re.compile(r"~~(?:~~|[ \t\n])*")
_FENCE_MARK: Final = "```"
_FENCE: Final = re.compile(r" {0,3}(?:`{3}|~{3})")
_FENCE_LINE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)", re.MULTILINE)
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
    text = normal(text)
    if struck:
        lines = text.split("\n")
        return _struck(
            "\n".join(_guarded_struck(line, above) for line, above in _with_above(lines))
        )
    guard_from = _unclosed(text)
    parts: list[str] = []
    end = 0
    for found in _MEANS_LINE.finditer(text):  # one search, because a text may be all short lines
        start, at = found.start(), found.end(1)
        if found[3] == _FENCE_MARK and not found[2] and start < guard_from:
            continue  # a fence that is closed
        line = text[at : at + len(_FENCE_MARK)]
        if found[2] or _needs_guard(found[3], line, _above(text, start), start >= guard_from):
            parts += (text[end:at], "\\")
            end = at
    return "".join([*parts, text[end:]])


def _above(text: str, start: int) -> str | None:
    """The line above the one that begins here; None if it is the first."""
    return text[text.rfind("\n", 0, start - 1) + 1 : start - 1] if start else None


def _with_above(lines: list[str]) -> Iterator[tuple[str, str | None]]:
    return zip(lines, (None, *lines[:-1]), strict=True)


def _struck(body: str) -> str:
    """Each paragraph struck through: Markdown ends a strike-through where a paragraph ends."""
    parts = _GAP.split(body)
    return "".join(
        part if number % 2 else f"{STRIKE}{part}{STRIKE}" for number, part in enumerate(parts)
    )


def unstruck(body: str) -> str | None:
    """A body without its marks; None unless every paragraph or the whole of it is struck."""
    by_paragraph = _each_inside(_GAP.split(body))
    return _inside(body) if by_paragraph is None else by_paragraph


def _each_inside(parts: list[str]) -> str | None:
    """Paragraphs without their marks, with the gaps between them; None if one is not struck."""
    inner = [part if number % 2 else _paragraph(part) for number, part in enumerate(parts)]
    plain = [part for part in inner if part is not None]
    return "".join(plain) if len(plain) == len(parts) else None


def _paragraph(part: str) -> str | None:
    """A paragraph that is struck as a whole or line by line, without the marks."""
    whole = _inside(part)
    if whole is not None:
        return whole
    lines = [inner for line in part.split("\n") if (inner := _inside(line)) is not None]
    return "\n".join(lines) if len(lines) == part.count("\n") + 1 else None


def _inside(part: str) -> str | None:
    """What stands between two marks: not with more marks there, and a fence is not a mark."""
    inner = _between(part)
    return None if inner is None or inner[0] == "~" or _OPEN_MARKS.search(inner) else inner


def _between(part: str) -> str | None:
    part = part.rstrip(" \t")
    marks = len(STRIKE)
    is_struck = len(part) > 2 * marks and part.startswith(STRIKE) and part.endswith(STRIKE)
    return part[marks:-marks] if is_struck else None


def is_emptied(body: str) -> bool:
    """True if nothing but marks is left of a body."""
    return _EMPTIED.fullmatch(body) is not None


def text_of(body: str, *, struck: bool = False) -> str:
    """The text of a body, without the marks that ``body`` adds to each line."""
    unguarded = _unguarded_struck if struck else _unguarded
    return normal("\n".join(unguarded(line) for line in body.split("\n")))


def strikes(body: str, text: str) -> bool:
    """True if a body is this text struck through, even where the marks alone are ambiguous.

    Earlier renderings did not escape the marks inside a text, and neither does a person.
    """
    parts = _GAP.split(body)
    inner = [part if number % 2 else _between(part) for number, part in enumerate(parts)]
    by_paragraph = None if None in inner else "".join(part or "" for part in inner)
    return any(
        text in (text_of(plain), text_of(plain, struck=True), _text_before(plain))
        for plain in (by_paragraph, _between(body))
        if plain is not None
    )


def _text_before(plain: str) -> str:
    """A struck text in which only the start of a line was escaped."""
    return normal("\n".join(_unguarded(line, _MEANS_STRUCK) for line in plain.split("\n")))


def _guarded(line: str, above: str | None, fences: bool) -> str:
    found = _MEANS.match(line)
    if found is None or not (found[2] or _needs_guard(found[3], line, above, fences)):
        return line
    return f"{found[1]}\\{line[found.end(1) :]}"


def _guarded_struck(line: str, above: str | None) -> str:
    """A line in which nothing ends the strike-through around it."""
    start = _START.match(line)
    at = start.end() if start else 0
    line = line[:at] + _MARKS.sub(r"\\\g<0>", line[at:])
    found = _MEANS_STRUCK.match(line)
    if found is not None and found[3][0] == "~":
        return f"{found[1]}\\{line[found.end(1) :]}"
    return _guarded(line, above, fences=True)


def _needs_guard(start: str, line: str, above: str | None, fences: bool) -> bool:
    if start[0] in "`~" and _FENCE.match(line):
        return fences
    if start == STRIKE:
        return above is None
    if start[0] in "-=":
        return above is not None and bool(above.strip())
    return True


def _unguarded(line: str, means: re.Pattern[str] = _MEANS) -> str:
    found = means.match(line)
    if found is None or not found[2]:
        return line
    return found[1] + line[found.end(1) + 1 :]


def _unguarded_struck(line: str) -> str:
    start = _START.match(line)
    at = start.end() if start else 0
    return _unguarded(line[:at] + _ESCAPED_MARKS.sub(r"\1", line[at:]), _MEANS_STRUCK)


def _unclosed(text: str) -> int:
    """Where fences begin that are not closed; after the text, if all are."""
    first = _MEANS_LINE.match(text)
    if first is not None and first[3] == STRIKE:  # guarded itself, so that it opens nothing
        return 0
    fence, began = "", len(text) + 1
    if _FENCE_MARK not in text and "~~~" not in text:
        return began
    for found in _FENCE_LINE.finditer(text):
        if not fence:
            fence, began = found[1], found.start()
        elif found[1].startswith(fence) and not found[2].strip():
            fence = ""
    return began if fence else len(text) + 1


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
    return instants.local(at, _zone(tz_minutes))


def clock_time(moment: datetime) -> str:
    """A local time as entries show it."""
    return moment.replace(tzinfo=None).isoformat(timespec="seconds")


def with_offset(moment: datetime) -> str:
    """A local time as the frontmatter shows it."""
    return moment.isoformat(timespec="seconds")


def date_of(text: str) -> datetime | None:
    """A date as a page gives it, with or without a time and an offset; None if it is not one."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    is_near = instants.FIRST_YEAR < found.year < instants.LAST_YEAR  # in every zone
    return found if is_near or instants.is_dated(_in_utc(found)) else None


def _in_utc(found: datetime) -> str:
    return instants.local(found.replace(tzinfo=found.tzinfo or UTC).isoformat(), UTC).isoformat()


def clock_of(text: str, tz_minutes: int) -> str | None:
    """The same as entries show it: local, with seconds; None if it is not a date."""
    found = date_of(text)
    if found is None:
        return None
    if found.tzinfo is None:
        return clock_time(found)
    try:
        return clock_time(found.astimezone(_zone(tz_minutes)))
    except OverflowError:
        return None


def instant_of(text: str, tz_minutes: int) -> datetime | None:
    """The moment of a date on a page, whose local time has this offset."""
    found = date_of(text)
    if found is None or found.tzinfo is not None:
        return found
    return found.replace(tzinfo=_zone(tz_minutes))


def offset_of(text: str) -> int | None:
    """The offset that a date gives, in minutes; None if it gives none that can be used."""
    found = date_of(text)
    offset = None if found is None else found.utcoffset()
    minutes = None if offset is None else offset // timedelta(minutes=1)
    return minutes if minutes is not None and abs(minutes) < _MINUTES_MAX else None


def _zone(tz_minutes: int) -> timezone:
    return timezone(timedelta(minutes=tz_minutes)) if abs(tz_minutes) < _MINUTES_MAX else UTC
