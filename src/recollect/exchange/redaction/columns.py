"""Secrets in a table: the cells below a heading such as ``password``.

Responsible for tables drawn with ``|`` and for comma-separated rows. Leaves judging a cell to
``values``. Invariant: no table is scanned twice from the same heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from recollect.exchange.redaction import values

_WORDS: Final = ("password", "passwd", "pwd", "secret", "token", "api key", "api_key", "access key")
_HEADING: Final = re.compile(
    r"(?:[\w-]{1,30}[ _-]){0,3}(?:password|passwd|pwd|secret|token|api[ _]key|access[ _]key)",
    re.IGNORECASE,
)
_CELL: Final = re.compile(r"[\w .*`\"'():-]{0,60}")  # the characters of a heading, not of code
_RULE: Final = frozenset("|-:+ \t\r")
_LINE_MAX_CHARS: Final = 2_000
_AROUND: Final = " \t\r`*\"'"


class _Table(NamedTuple):
    """The separator of the cells, their number, and which columns are secret."""

    separator: str
    width: int
    secret: frozenset[int]


def found(text: str, small: str) -> Iterator[tuple[int, int]]:
    """The place of every such cell; ``small`` is the text in lower case."""
    searched: dict[tuple[int, int], int] = {}  # a heading may have several of the words
    for word in _WORDS:
        place = small.find(word)
        while place >= 0:
            line = _line_start(text, place), _line_end(text, place)
            end = searched.get(line, line[1])
            if line not in searched:
                for first, last, stop in _below(text, *line):
                    end = stop
                    if last > first:
                        yield first, last
                searched[line] = end
            place = small.find(word, max(end, place + 1))


def _below(text: str, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """The cells below a line, if it is a heading."""
    table = _table(text[start:end]) if start >= 0 else None
    return iter(()) if table is None else _rows(text, end + 1, table)


def _line_start(text: str, place: int) -> int:
    """Where the line begins; less than zero for one that is too long to be a heading."""
    start = text.rfind("\n", max(0, place - _LINE_MAX_CHARS), place) + 1
    return start if start or place < _LINE_MAX_CHARS else -1


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start, start + _LINE_MAX_CHARS)
    return min(len(text), start + _LINE_MAX_CHARS) if end < 0 else end


def _table(line: str) -> _Table | None:
    separator = "|" if "|" in line else ","
    cells = line.split(separator)
    named = [cell for cell in cells if cell.strip(_AROUND)]
    if len(named) < 2 or not all(_CELL.fullmatch(cell.strip(_AROUND)) for cell in cells):
        return None
    secret = [at for at, cell in enumerate(cells) if _HEADING.fullmatch(cell.strip(_AROUND))]
    return _Table(separator, len(cells), frozenset(secret)) if secret else None


def _rows(text: str, start: int, table: _Table) -> Iterator[tuple[int, int, int]]:
    """The cells of those columns, and the row's end; all rows have as many cells as the first."""
    while start < len(text):
        end = _line_end(text, start)
        line = text[start:end]
        cells = line.split(table.separator)
        if not _RULE.issuperset(line) and len(cells) != table.width:
            return
        yield start, start, end
        at = start
        for number, cell in enumerate(cells):
            value = cell.strip(_AROUND)
            if number in table.secret and _is_secret(value, table.separator):
                first = at + cell.index(value)
                yield first, first + len(value), end
            at += len(cell) + 1
        start = end + 1


def _is_secret(value: str, separator: str) -> bool:
    if " " in value:
        return False
    if separator == "|":
        return values.is_password(value, tight=False, quoted=False)
    return values.is_scrambled(value)  # two lines of code have commas, too
