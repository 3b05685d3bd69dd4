"""What a text is like, whatever is asked.

Responsible for a few facts that recall weighs. Leaves the weighing to ``recall.relevance``.
Invariant: pure; the same text always has the same facts.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from recollect.index.text import words

_READ_MAX_CHARS: Final = 4_000  # beyond them nothing is looked for but the last question mark
_KEPT_MAX_COUNT: Final = 4_096

_END: Final = re.compile(r"(?<=[.!?\u2026\u3002\uff01\uff1f])[\"')\]]*\s+|\n+")
_OWN: Final = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|my|me|we|we're|we've|our)\b", re.IGNORECASE)
_STANDING: Final = re.compile(
    r"^(?:please\s+|and\s+|also,?\s+)?(?:always|never|from now on|going forward|by default"
    r"|in (?:the )?future|don't ever|do not ever|when(?:ever)? i ask|whenever i"
    r"|(?:every|each) time i)\b",
    re.IGNORECASE,
)
_PREFERS: Final = re.compile(
    r"\b(?:i|i'd|we|we'd)\b[^.?!\n]{0,20}\bprefer(?:red)?\b|\bmy preference|\bi'd rather\b",
    re.IGNORECASE,
)
# Whatever matches one of the three above has one of these words; a text without them is not cut.
_TELLING: Final = frozenset(
    "i my me we our always never now forward default future ever ask whenever time".split()
)


class Facts(NamedTuple):
    """What a text is like."""

    words: int
    asks: bool  # ends with a question
    is_own: bool  # a statement in the first person
    is_standing: bool  # says how things are to be done from now on
    prefers: bool  # states a preference


def facts(text: str, *, of_person: bool = True) -> Facts:
    """The facts of one text; of a very long one, of its beginning.

    How somebody speaks matters only of a person: an assistant's texts are long and not looked
    through.
    """
    head = text[:_READ_MAX_CHARS]
    if not of_person:
        return Facts(len(head.split()), asks(text), False, False, False)
    return _facts(head)._replace(asks=asks(text))


def asks(text: str) -> bool:
    """True if a text ends with a question."""
    return text[-_READ_MAX_CHARS:].rstrip().endswith("?")


@lru_cache(maxsize=_KEPT_MAX_COUNT)
def _facts(text: str) -> Facts:
    may_tell = not text.isascii() or not _TELLING.isdisjoint(words(text))
    said = _sentences(text) if may_tell else []
    return Facts(
        words=len(text.split()),
        asks=False,
        is_own=any(_OWN.search(piece) for piece in said if not piece.endswith("?")),
        is_standing=any(_STANDING.match(piece) for piece in said),
        prefers=any(_PREFERS.search(piece) for piece in said),
    )


def _sentences(text: str) -> list[str]:
    return [piece.strip() for piece in _END.split(text) if piece.strip()] or [text]


def let_go() -> None:
    """Keeps no text any longer; one of them was erased."""
    _facts.cache_clear()
