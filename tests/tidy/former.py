"""Words that people met once and do not meet any more, and where each may still stand.

Responsible for finding them in what is printed, documented or typed. Leaves the list of files to
``test_former.py``. Invariant: an empty list means that no such word is met.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

# Each with what is written instead. A word of ordinary English has more beside it.
FORMER: Final = {
    r"\bframes?\b(?! of elfmem)": "preset",
    r"\b(?:is|are|was|were|stays?|back|not|also|and|or) held\b(?! (?:by|in|open|to)\b)": "waiting",
    r"\bheld (?:for|back|until)\b": "waiting for review",
    r"\bheld (?:records?|texts?|ones?|hits?|links?)\b": "waiting",
    r"['\"`=]held\b|\binclude held\b": "waiting",
    r"\bshadow(?:s|ed|ing)?\b": "hidden",
    r"\bsupersed(?:e|es|ed|ing)\b": "replace",
    r"\b(?:un)?settl(?:e|es|ed|ing)\b": "confirm, refute, decide",
    r"\bcurat(?:e|es|ed|ing|ion)\b": "archive",
    r"\bretain(?:s|ed|ing)?\b": "keep, expire",
    r"\bmounts?\b": "memory",
    r"--mount\b|--origin\b|--frame\b": "--memory, --trust, --preset",
    r"\borigins?\b": "trust",
    r"\bsource[_-]types?\b": "how_known",
}
_FORMER: Final = [(re.compile(pattern, re.IGNORECASE), word) for pattern, word in FORMER.items()]


def complaints(lines: Iterable[tuple[int, str]], where: str, allowed: Iterable[str]) -> list[str]:
    """Former words in these lines; ``allowed`` are words of a place, as patterns."""
    kept = [re.compile(pattern, re.IGNORECASE) for pattern in allowed]
    return list(_found(lines, where, kept))


def _found(
    lines: Iterable[tuple[int, str]], where: str, kept: list[re.Pattern[str]]
) -> Iterator[str]:
    for number, line in lines:
        left = line
        for pattern in kept:
            left = pattern.sub(" ", left)
        for pattern, word in _FORMER:
            for found in pattern.finditer(left):
                yield f"{where}:{number}: {found[0]!r}; write: {word}"
