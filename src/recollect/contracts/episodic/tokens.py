"""The parts of an SQL condition as text.

Responsible for cutting a text into words, literals and signs, each with its place. Leaves what they
mean to ``where``. Invariant: any text gives tokens or ``ConsolidationRuleError``; a comment, a
parameter and a second statement are never tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from recollect.contracts.episodic.errors import ConsolidationRuleError

_TOKEN: Final = re.compile(
    r"""[ \t\r\n]*(?:
      (?P<text>'(?:[^']|'')*')
    | (?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
    | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    | "(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    | (?P<sign>->>|<=|>=|<>|!=|==|[=<>(),.])
    | (?P<end>\Z)
    | (?P<stray>.)
    )""",
    re.DOTALL | re.VERBOSE,
)


class Token(NamedTuple):
    """A part of the text, and the number of its first character."""

    kind: str
    text: str
    place: int

    @property
    def word(self) -> str:
        """The token as a keyword, in lower case; empty for literals and quoted names."""
        return self.text.lower() if self.kind in ("word", "sign") else ""


def tokens(text: str) -> Iterator[Token]:
    """The parts of a text, ended by one of the kind ``end``."""
    for found in _TOKEN.finditer(text):
        kind = str(found.lastgroup)
        token = Token(kind, found[kind], found.start(kind) + 1)
        if token.text == "'":
            raise refused("a text has no closing quote", token, "write a ' inside a text as ''")
        if kind == "stray":
            raise refused(f"unexpected {token.text!r}", token, "put texts in single quotes")
        yield token
        if kind == "end":
            return


def refused(message: str, token: Token, hint: str | None) -> ConsolidationRuleError:
    """The error for something at a token."""
    return ConsolidationRuleError(
        f"{message}, at character {token.place} of when_filter", hint=hint
    )
