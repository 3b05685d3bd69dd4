"""Properties of a text that do not depend on a query.

Responsible for a few facts that ranking uses. Leaves their weights to ``recall.relevance``.
Invariant: pure; the same text always has the same facts. An index stores them, so any change to
them raises ``index.statements.INDEX_VERSION``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple

from recollect.index import caches
from recollect.index.words.text import parts, words

_READ_MAX_CHARS: Final = 4_000  # of a longer text only the final question mark counts

_END: Final = r"(?<=[.!?\u2026\u3002\uff01\uff1f])[\"')\]]*\s+|\n+"
_OWN: Final = r"\b(?:i|i'm|i've|i'd|i'll|my|me|we|we're|we've|our)\b"
_STANDING: Final = (
    r"^(?:please\s+|and\s+|also,?\s+)?(?:always|never|from now on|going forward|by default"
    r"|in (?:the )?future|don't ever|do not ever|when(?:ever)? i ask|whenever i"
    r"|(?:every|each) time i)\b"
)
_PREFERS: Final = (
    r"\b(?:i|i'd|we|we'd)\b[^.?!\n]{0,20}\bprefer(?:red)?\b|\bmy preference|\bi'd rather\b"
)

# Every match of a pattern contains one of these words. Splitting a long text into sentences is the
# most expensive step, so it is done only if one of them occurs.
_OWN_HAS: Final = frozenset("i my me we our".split())
_STANDING_HAS: Final = frozenset(
    "always never now forward default future ever ask whenever time".split()
)
_PREFERS_HAS: Final = frozenset("prefer preferred preference preferences rather".split())
_ANY_HAS: Final = _OWN_HAS | _STANDING_HAS | _PREFERS_HAS


class Facts(NamedTuple):
    """Properties of a text."""

    words: int
    asks: bool  # ends with a question
    is_own: bool  # a statement in the first person
    is_standing: bool  # an instruction that applies from now on
    prefers: bool  # states a preference


def facts(text: str, *, of_person: bool = True) -> Facts:
    """The facts of one text; of a very long one, those of its beginning.

    Only a person's texts are searched for these patterns: an assistant's texts are long.
    """
    if not of_person:
        return Facts(len(text[:_READ_MAX_CHARS].split()), asks(text), False, False, False)
    if len(text) <= caches.SHORT_MAX_CHARS:
        return _of_short(text)
    found = _of_long(text[:_READ_MAX_CHARS])
    return found if len(text) <= _READ_MAX_CHARS else found._replace(asks=asks(text))


def packed(text: str, found: Sequence[str], *, of_person: bool) -> int:
    """The facts of a new text as one number, for a column; ``found`` are its words, or more."""
    start = text[:_READ_MAX_CHARS]
    count = len(start.split())
    if not of_person or (text.isascii() and all(map(_ANY_HAS.isdisjoint, parts(found)))):
        return count << 4 | asks(text)
    _, _, own, standing, prefers = _facts(start)
    return count << 4 | asks(text) | own << 1 | standing << 2 | prefers << 3


@caches.cached(4_096)  # few texts have facts that no other text has
def unpacked(number: int) -> Facts:
    """The inverse of ``packed``."""
    return Facts(number >> 4, *(bool(number >> place & 1) for place in range(4)))


def asks(text: str) -> bool:
    """True if a text ends with a question."""
    return text[-_READ_MAX_CHARS:].rstrip().endswith("?")


def _facts(text: str) -> Facts:
    found = words(text)
    strange = not text.isascii()  # other alphabets may spell these words differently
    own = strange or not _OWN_HAS.isdisjoint(found)
    standing = strange or not _STANDING_HAS.isdisjoint(found)
    prefers = strange or not _PREFERS_HAS.isdisjoint(found)
    said = _sentences(text) if standing or prefers or (own and "?" in text) else [text]
    return Facts(
        words=len(text.split()),
        asks=asks(text),
        is_own=own and any(_re(_OWN).search(piece) for piece in said if not piece.endswith("?")),
        is_standing=standing and any(_re(_STANDING).match(piece) for piece in said),
        prefers=prefers and any(_re(_PREFERS).search(piece) for piece in said),
    )


_of_short: Final = caches.cached(caches.SHORT_MAX_COUNT)(_facts)
_of_long: Final = caches.cached(caches.LONG_MAX_COUNT)(_facts)


@cache
def _re(pattern: str) -> re.Pattern[str]:
    """Compiled on first use: compiling is slow, and a hook looks at few texts."""
    return re.compile(pattern, re.IGNORECASE)


def _sentences(text: str) -> list[str]:
    return [piece.strip() for piece in _re(_END).split(text) if piece.strip()] or [text]
