"""Where a value ends: at its quote, at the end of the word, or at a closing character.

Responsible for the patterns of a value and for its end. Leaves judging the value to ``values``.
Invariant: every repetition is bounded or does not backtrack.
"""

from __future__ import annotations

import re
from typing import Final

from recollect.exchange.redaction.shape import Span

_RUN: Final = r"[^\s\"'`\\<>]"
_SLASH: Final = r"\\(?![\"'`\\/bfnrtu])"  # one that escapes nothing
# Bounded, because a name may precede every other word; a secret is extended to its end later.
BARE: Final = rf"[\"'`\\]{{0,3}}(?P<value>{_RUN}{{1,100}}+(?:{_SLASH}{_RUN}{{1,100}}+){{0,3}})"
_REST: Final = re.compile(rf"(?:{_RUN}++|{_SLASH})*+")
# In quotes, a value may contain characters that would end it elsewhere.
QUOTED: Final = r"(?P<quote>[\"'`])(?P<inside>(?:(?!(?P=quote))[^\n\\]){1,200}+)(?P=quote)"
ONE: Final = r"[\"'`]?(?P<value>[^\s\"'`\\<>]{1,100}+)"
_ENDS: Final = re.compile(r"[;,&](?=[\w.-]{1,40}[=:]|$)")
_CLOSERS: Final = {")": "(", "]": "[", "}": "{"}


def bare(match: re.Match[str]) -> tuple[int, str]:
    """The start of an unquoted value, and the value without closing characters."""
    value = match["value"]
    end = _ENDS.search(value)
    value = value if end is None else value[: end.start()]
    while value and (
        value[-1] in ".,;:" or (value[-1] in _CLOSERS and _CLOSERS[value[-1]] not in value)
    ):
        value = value[:-1]
    return match.start("value"), value


def to_its_end(match: re.Match[str], start: int, value: str) -> Span:
    """Extends a value that reached the bound, as long as its characters continue."""
    end = start + len(value)
    if end == match.end("value"):
        rest = _REST.match(match.string, end)
        end = end if rest is None else rest.end()
    return start, end
