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
_REPLIES: Final = re.compile(
    r"\W*(?:yes|yeah|yep|yup|sure|ok|okay|thanks|thank you|got it|great|sounds|right|absolutely"
    r"|certainly|of course|no|nope|perfect|awesome|cool|nice|wow|that's|i see"
    r"|that (?:makes|sounds|is|clears|helps))\b",
    re.IGNORECASE,
)

# Whatever matches one of the three first ones has one of these words. Cutting a long text into
# sentences costs more than all else, so it is done only where it may tell something.
_FIRST_PERSON: Final = frozenset("i my me we our".split())
_LASTING: Final = frozenset(
    "always never now forward default future ever ask whenever time".split()
)
_PREFERRING: Final = frozenset("prefer preferred preference preferences rather".split())
_TELLING: Final = _FIRST_PERSON | _LASTING | _PREFERRING


class Facts(NamedTuple):
    """What a text is like."""

    words: int
    asks: bool  # ends with a question
    is_own: bool  # a statement in the first person
    is_standing: bool  # says how things are to be done from now on
    prefers: bool  # states a preference
    replies: bool  # begins by taking up what was said before


def facts(text: str, *, of_person: bool = True) -> Facts:
    """The facts of one text; of a very long one, of its beginning.

    How somebody speaks matters only of a person: an assistant's texts are long and not looked
    through.
    """
    head = text[:_READ_MAX_CHARS]
    if not of_person:
        return Facts(len(head.split()), asks(text), False, False, False, False)
    return _facts(head)._replace(asks=asks(text))


def asks(text: str) -> bool:
    """True if a text ends with a question."""
    return text[-_READ_MAX_CHARS:].rstrip().endswith("?")


@lru_cache(maxsize=_KEPT_MAX_COUNT)
def _facts(text: str) -> Facts:
    told = _TELLING.intersection(words(text)) if text.isascii() else _TELLING
    owns, lasts, prefers = (
        not told.isdisjoint(some) for some in (_FIRST_PERSON, _LASTING, _PREFERRING)
    )
    said = _sentences(text) if lasts or prefers or (owns and "?" in text) else [text]
    return Facts(
        words=len(text.split()),
        asks=False,
        is_own=owns and any(_OWN.search(piece) for piece in said if not piece.endswith("?")),
        is_standing=lasts and any(_STANDING.match(piece) for piece in said),
        prefers=prefers and any(_PREFERS.search(piece) for piece in said),
        replies=_REPLIES.match(text) is not None,
    )


def _sentences(text: str) -> list[str]:
    return [piece.strip() for piece in _END.split(text) if piece.strip()] or [text]


def let_go() -> None:
    """Keeps no text any longer; one of them was erased."""
    _facts.cache_clear()
