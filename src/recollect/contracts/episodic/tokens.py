"""The parts of an SQL condition as text.

Responsible for which words, literals and signs there are. Leaves cutting the text to
``index.filter.tokens`` and what the parts mean to ``where``. Invariant: any text gives tokens or
``ConsolidationRuleError``; a comment, a parameter and a second statement are never tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from recollect.contracts.episodic.errors import ConsolidationRuleError
from recollect.index.filter.tokens import Token, cut

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


def tokens(text: str) -> Iterator[Token]:
    """The parts of a text, ended by one of the kind ``end``."""
    return cut(_TOKEN, text, refused)


def refused(message: str, token: Token, hint: str | None) -> ConsolidationRuleError:
    """The error for something at a token."""
    return ConsolidationRuleError(
        f"{message}, at character {token.place} of when_filter", hint=hint
    )
