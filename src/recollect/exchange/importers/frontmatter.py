"""The frontmatter and the lines of a Markdown file.

Responsible for the few forms of YAML that notes have: a word, a quoted text, a list. Leaves what
they mean to the importers. Invariant: a line that is not understood is left out, and stands under
``NOT_READ``, which no field is called.
"""

from __future__ import annotations

import re
from typing import Final

_FENCE: Final = "---"
_PAIR: Final = re.compile(r"([A-Za-z_][\w -]{0,60}):(?:\s+(.{0,2000}))?\s*")
_LINES_MAX_COUNT: Final = 500
NOT_READ: Final = ""


def parted(text: str) -> tuple[dict[str, str | list[str]], str]:
    """What the frontmatter says, and the text below it."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].strip() != _FENCE:
        return {}, text
    for end in range(1, min(len(lines), _LINES_MAX_COUNT)):
        if lines[end].strip() == _FENCE:
            return _fields(lines[1:end]), "\n".join(lines[end + 1 :])
    return {}, text


def _fields(lines: list[str]) -> dict[str, str | list[str]]:
    found: dict[str, str | list[str]] = {}
    not_read: list[str] = []
    last = ""
    for line in lines:
        pair = _PAIR.fullmatch(line)
        if pair is not None:
            last = pair[1].strip().lower()
            found[last] = _value((pair[2] or "").strip())
        elif line.lstrip().startswith("- ") and last:
            known = found[last]
            some = known if isinstance(known, list) else []
            found[last] = [*some, _word(line.lstrip()[2:])]
        elif line[:1] in " \t" and last and isinstance(found[last], str):
            found[last] = f"{found[last]} {line.strip()}".strip()
        elif line.strip() and not line.lstrip().startswith("#"):
            not_read.append(line)
    return found | ({NOT_READ: not_read} if not_read else {})


def _value(text: str) -> str | list[str]:
    if text.startswith("[") and text.endswith("]"):
        return [word for part in text[1:-1].split(",") if (word := _word(part))]
    return _word(text)


def _word(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text
