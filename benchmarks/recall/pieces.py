"""From a unit's text to what recall needs to know of it: pieces to encode, and a few facts.

Responsible for sentences, chunks and the facts of a text. Leaves encoding to ``legs`` and weighing
to ``relevance``. Invariant: pure; computed once for each text, when it is indexed.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_SENTENCE_MIN_WORDS: Final = 4
_SENTENCE_MAX_WORDS: Final = 48
_CHUNK_MAX_WORDS: Final = 90

_END: Final = re.compile(r"(?<=[.!?…。！？])[\"')\]]*\s+|\n+")  # noqa: RUF001 - other scripts' ends
_WORD: Final = re.compile(r"\w")
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


class Facts(NamedTuple):
    """What a text is like, whatever is asked."""

    words: int
    asks: bool  # ends with a question
    is_own: bool  # a statement in the first person
    is_standing: bool  # says how things are to be done from now on
    prefers: bool  # states a preference
    replies: bool  # begins by taking up what was said before


def facts(text: str) -> Facts:
    """The facts of one text."""
    said = [piece.strip() for piece in _END.split(text) if piece.strip()] or [text]
    return Facts(
        words=len(text.split()),
        asks=text.rstrip().endswith("?"),
        is_own=any(_OWN.search(piece) for piece in said if not piece.endswith("?")),
        is_standing=any(_STANDING.match(piece) for piece in said),
        prefers=any(_PREFERS.search(piece) for piece in said),
        replies=_REPLIES.match(text) is not None,
    )


def sentences(text: str) -> list[str]:
    """A text's sentences; very short ones join the next, very long ones are cut."""
    found: list[str] = []
    held: list[str] = []
    for piece in _END.split(text):
        if not _WORD.search(piece):
            continue
        held += piece.split()
        if len(held) >= _SENTENCE_MIN_WORDS:
            found += _cut(held, _SENTENCE_MAX_WORDS)
            held = []
    if held and found and len(found[-1].split()) + len(held) <= _SENTENCE_MAX_WORDS:
        found[-1] = " ".join([found[-1], *held])
    elif held:
        found.append(" ".join(held))
    return found or [text]


def chunks(text: str) -> list[str]:
    """A text in pieces of about the same length."""
    held = text.split()
    count = max(1, -(-len(held) // _CHUNK_MAX_WORDS))
    return _cut(held, -(-len(held) // count) or 1) or [text]


def _cut(held: list[str], at_most: int) -> list[str]:
    return [" ".join(held[at : at + at_most]) for at in range(0, len(held), at_most)]
