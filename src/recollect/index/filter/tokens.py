"""The parts of a condition as text, each with its place.

Responsible for cutting a text by a pattern. Leaves the pattern and what the parts mean to the
parser: that of filters, or of another language. Invariant: any text gives parts that end with one
of the kind ``end``, or an error of the parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Token(NamedTuple):
    """A part of the text, and the number of its first character."""

    kind: str
    text: str
    place: int

    @property
    def word(self) -> str:
        """The token as a keyword, in lower case; empty for literals and quoted names."""
        return self.text.lower() if self.kind in ("word", "sign") else ""


Refused = Callable[[str, Token, str], Exception]


def cut(pattern: re.Pattern[str], text: str, refused: Refused) -> Iterator[Token]:
    """The parts of a text; its groups ``end`` and ``stray`` match the end, and what is unknown."""
    for found in pattern.finditer(text):
        kind = str(found.lastgroup)
        token = Token(kind, found[kind], found.start(kind) + 1)
        if token.text == "'":
            raise refused("a text has no closing quote", token, "write a ' inside a text as ''")
        if kind == "stray":
            raise refused(f"unexpected {token.text!r}", token, "put texts in single quotes")
        yield token
