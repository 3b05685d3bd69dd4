"""One table in the text of a TOML file: added, changed or removed.

Responsible for the lines of a table such as ``[mcp_servers.recollect]``. Leaves which file and
which table to ``clients``, which also compares the parsed result with what was wanted. Invariant:
every other line stays unchanged, comments and order too.
"""

from __future__ import annotations

import json
import re
import tomllib
from itertools import pairwise
from typing import Any, Final

_HEADER: Final = re.compile(r"[ \t]*\[")
_ARRAY: Final = r"\[(?:[^\]\"']|\"(?:[^\"\\]|\\.)*\"|'[^']*')*\]"


def parse(raw: str) -> Any:
    """The value; raises ``ValueError`` if it cannot be parsed."""
    return tomllib.loads(raw)


def with_member(raw: str, section: str, name: str, value: dict[str, object]) -> str:
    """The text with these keys in a table; the table's other keys stay."""
    end = "\r\n" if "\r\n" in raw else "\n"
    lines = raw.splitlines(keepends=True)
    found = _spans(lines, section, name)
    if not found:
        table = [
            f"[{section}.{name}]",
            *(f"{key} = {_spelled(each)}" for key, each in value.items()),
        ]
        gap = "" if not raw.strip() else end if raw.endswith("\n") else end * 2
        return raw + gap + "".join(f"{line}{end}" for line in table)
    begin, stop = found[0]
    block = "".join(lines[begin:stop])
    for key, each in value.items():
        block = _set(block, key, _spelled(each), end)
    return "".join(lines[:begin]) + block + "".join(lines[stop:])


def without_member(raw: str, section: str, name: str) -> str:
    """The text without a table and the tables below it."""
    lines = raw.splitlines(keepends=True)
    for begin, stop in reversed(_spans(lines, section, name)):
        is_last = not "".join(lines[stop:]).strip()
        del lines[begin:stop]
        while is_last and lines and not lines[-1].strip():
            lines.pop()  # the blank line above it
    return "".join(lines)


def _spans(lines: list[str], section: str, name: str) -> list[tuple[int, int]]:
    """Where the table, and those below it, begin and end, without comments after their lines."""
    words = rf"[ \t]*\[[ \t]*{section}[ \t]*\.[ \t]*[\"']?{name}[\"']?[ \t]*"
    ours = re.compile(rf"{words}(?:\.[^\]]*)?\][ \t]*(?:#.*)?$")
    heads = [at for at, line in enumerate(lines) if _HEADER.match(line)]
    spans = []
    for at, following in pairwise([*heads, len(lines)]):
        if ours.match(lines[at].rstrip("\r\n")):
            body = [each for each in range(at, following) if not _is_aside(lines[each])]
            spans.append((at, body[-1] + 1))
    return spans


def _is_aside(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _set(block: str, key: str, spelled: str, end: str) -> str:
    """A table's lines with one key set; a comment after its value stays."""
    there = re.compile(
        rf"(?m)^([ \t]*{key}[ \t]*=[ \t]*)(?:{_ARRAY}|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*')"
    )
    if there.search(block):
        return there.sub(lambda found: found[1] + spelled, block, count=1)
    return (block if block.endswith("\n") else block + end) + f"{key} = {spelled}{end}"


def _spelled(value: object) -> str:
    """A string or a list of strings: JSON's spelling is also TOML's."""
    return json.dumps(value, ensure_ascii=False)
