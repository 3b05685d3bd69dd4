"""A shape: one rule that recognizes a kind of secret.

Responsible for the fields of a rule and for compiling its pattern at first use, because most texts
need few of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

Span = tuple[int, int]
Take = Callable[["re.Match[str]"], "Span | None"]


class Shape(NamedTuple):
    """A secret near a fixed text, which is searched first because that is fast."""

    kind: str
    begins: (
        str  # where the pattern is tried; for a name, in lower case, which also finds upper case
    )
    pattern: str  # its group ``value`` is the secret, unless ``take`` returns another span
    flags: int = 0
    take: Take | None = None  # the span of the secret in a match, or None if it is not a secret
    is_name: bool = False

    def match(self, text: str, start: int) -> Span | None:
        """The secret at this position, or None."""
        found = _compiled(self.pattern, self.flags).match(text, start)
        if found is None:
            return None
        return found.span("value") if self.take is None else self.take(found)


@cache
def _compiled(pattern: str, flags: int) -> re.Pattern[str]:
    return re.compile(pattern, flags)
