"""A shape: what is looked for, and where a secret of that shape begins and ends.

Responsible for the form of a rule and for compiling its pattern when it is first needed: most
texts need few of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

Span = tuple[int, int]
Take = Callable[["re.Match[str]"], "Span | None"]


class Shape(NamedTuple):
    """A secret near a fixed text, which is looked for first because that is fast."""

    kind: str
    begins: str  # where the pattern is tried; small letters find capitals too if it is a name
    pattern: str  # its group ``value`` is the secret, unless ``take`` says otherwise
    flags: int = 0
    take: Take | None = None  # where the secret stands in a match, or None if it is not one
    is_name: bool = False

    def match(self, text: str, start: int) -> Span | None:
        """The secret at this place."""
        found = _compiled(self.pattern, self.flags).match(text, start)
        if found is None:
            return None
        return found.span("value") if self.take is None else self.take(found)


@cache
def _compiled(pattern: str, flags: int) -> re.Pattern[str]:
    return re.compile(pattern, flags)
