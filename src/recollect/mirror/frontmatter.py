"""The frontmatter of a page: the few forms of YAML that pages use.

Responsible for single values, and for tags on one line or on a line each. Leaves every other line
as it stands, to be written again. Invariant: reading never fails.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final

from recollect.mirror.page import STATUSES, Page, PageStatus, Problem

FENCE: Final = "---"
FIELDS: Final = frozenset(
    "description tags status created updated entry_count needs_compact position".split()
)
_KEY: Final = re.compile(r"([a-z_]+):(?:[ \t]+(.*))?$")
_COMMENT: Final = re.compile(r"(?:^|[ \t])#.*$")
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\']|\'\')*\'')
_ITEM: Final = re.compile(rf"[ \t]*({_QUOTED.pattern}|[^,\[\]\"'{{}}]*)[ \t]*")
_ROW: Final = re.compile(r"[ \t]*-(?:[ \t]+(.*))?$")  # of a list with a line for each item
_FOLDED: Final = "description:"  # the field that other programs write over several lines
_PLAIN: Final = re.compile(r"[^\W_][^\n]*")
_WORDS: Final = frozenset(("true", "false", "yes", "no", "on", "off", "null"))


def lines_of(page: Page) -> Iterator[str]:
    """The lines of a page's frontmatter."""
    yield FENCE
    yield f"description: {_scalar(page.description)}".rstrip()
    yield f"tags: [{', '.join(_scalar(tag, inside=True) for tag in page.tags)}]"
    yield f"status: {page.status}"
    yield f"created: {page.created}"
    yield f"updated: {page.updated}"
    yield f"entry_count: {len(page.entries)}"
    yield f"needs_compact: {str(page.needs_compact).lower()}"
    yield f"position: {page.position}"
    yield from page.other
    yield FENCE


def other_lines(lines: Iterable[object]) -> tuple[str, ...]:
    """Those of these lines that a frontmatter can hold beside its own fields."""
    return tuple(line for line in lines if isinstance(line, str) and _is_other(line))


def unfolded(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Lines with their numbers from 0; a description that goes on below is put on one line."""
    number, parts = 0, list[str]()
    for at, line in enumerate(lines):
        if parts and parts[0].startswith(_FOLDED) and line[:1] in (" ", "\t") and line.strip():
            parts.append(line.strip())
            continue
        if parts:
            yield number, " ".join(parts)
        number, parts = at, [line.rstrip() if line.startswith(_FOLDED) else line]
    if parts:
        yield number, " ".join(parts)


def _is_other(line: str) -> bool:
    found = _KEY.match(line)
    is_own = found is not None and found[1] in FIELDS
    return not is_own and line.rstrip() != FENCE and not {"\n", "\r"} & set(line)


class Fields:
    """What the lines of a frontmatter say, one after the other."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[Problem] = []
        self.said: set[str] = set()  # the fields that were read
        self._is_list = False  # the lines that follow may be tags, as Obsidian writes them

    def read(self, number: int, line: str) -> None:
        """Takes in one line; one that cannot be read stays among the other lines."""
        row = _ROW.match(line) if self._is_list else None
        if row is not None:
            self._add_tag(number, line, (row[1] or "").strip())
            return
        self._is_list = False
        found = _KEY.match(line)
        key, value = (found[1], found[2] or "") if found else ("", "")
        if key in self.said:
            self._keep(number, line, f"{key} is there twice")
            return
        try:
            if self._take(key, value.strip()):
                self.said.add(key)
            else:
                self._keep(number, line, None)
        except ValueError as error:
            self._keep(number, line, f"{key}: {error}")

    def _add_tag(self, number: int, line: str, value: str) -> None:
        try:
            tag = _text(value)
        except ValueError as error:
            self._keep(number, line, f"tags: {error}")
            return
        self.page = self.page._replace(tags=(*self.page.tags, *([tag] if tag else [])))

    def _keep(self, number: int, line: str, problem: str | None) -> None:
        self.page = self.page._replace(other=(*self.page.other, line))
        if problem is not None:
            self.problems.append(Problem(number, problem))

    def _take(self, key: str, value: str) -> bool:
        page = self.page
        if key == "description":
            page = page._replace(description=_text(value))
        elif key == "created":
            page = page._replace(created=_text(value))
        elif key == "updated":
            page = page._replace(updated=_text(value))
        elif key == "tags":
            page = page._replace(tags=_list(value))
            self._is_list = not _COMMENT.sub("", value).strip()
        elif key == "status":
            page = page._replace(status=_status(_text(value)))
        elif key == "needs_compact":
            page = page._replace(needs_compact=_flag(_text(value)))
        elif key == "position":
            page = page._replace(position=_number(_text(value)))
        elif key != "entry_count":  # counted, never read
            return False
        self.page = page
        return True


def _scalar(value: str, *, inside: bool = False) -> str:
    """A value without quotes where YAML reads it as the same text, else with them."""
    special = any(mark in value for mark in (": ", " #", *(",[]{}\"'" if inside else "")))
    unsafe = special or value.endswith(":") or not value.isprintable() or value != value.strip()
    if value and (unsafe or not _PLAIN.fullmatch(value) or _is_other_type(value)):
        return json.dumps(value, ensure_ascii=not value.isprintable())
    return value


def _is_other_type(value: str) -> bool:
    """True if YAML would read a number, a date or a truth value."""
    return value.casefold() in _WORDS or value[0].isdigit()


def _text(value: str) -> str:
    quoted = _QUOTED.match(value)
    if quoted is None:
        if value[:1] in ("[", "{", "|", ">", "&", "*", "!", '"', "'"):
            raise ValueError("only a text on one line is read here")
        return _COMMENT.sub("", value).strip()
    if _COMMENT.sub("", value[quoted.end() :]).strip():
        raise ValueError("something follows the quoted text")
    return _unquoted(quoted[0])


def _unquoted(value: str) -> str:
    if value[0] == "'":
        return value[1:-1].replace("''", "'")
    try:
        text = str(json.loads(value))
        text.encode()  # half a character can be escaped, but nothing can store it
        return text
    except ValueError:
        raise ValueError("the quoted text has an escape that is not read") from None


def _list(value: str) -> tuple[str, ...]:
    if value[:1] != "[":
        text = _text(value)
        return (text,) if text else ()
    items, at = list[str](), 1
    while True:
        found = _ITEM.match(value, at)
        item = found[1].strip() if found else ""
        at = found.end() if found else at
        items += [_unquoted(item) if item[:1] in ('"', "'") else item] if item else []
        if value[at : at + 1] != ",":
            break
        at += 1
    if value[at : at + 1] != "]" or _COMMENT.sub("", value[at + 1 :]).strip():
        raise ValueError("the list is not closed on its line")
    return tuple(items)


def _status(value: str) -> PageStatus:
    for status in STATUSES:
        if value == status:
            return status
    raise ValueError(f"not one of {', '.join(STATUSES)}")


def _flag(value: str) -> bool:
    if value not in ("true", "false"):
        raise ValueError("neither true nor false")
    return value == "true"


def _number(value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) < 17):
        raise ValueError("not a number")
    return int(value)
