"""Cutting a text into pieces, each of which gets one vector.

Responsible for sentences and chunks, the same for every language. Leaves the choice between the two
to the encoder. Invariants: a piece is an unchanged part of its text; the time is linear in the
text's length; a text has at most ``PIECES_MAX_COUNT`` pieces, and the rest of a longer text is
found by full text only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Final

CHUNK_MAX_WORDS: Final = 90
SENTENCE_MAX_WORDS: Final = 60
PIECES_MAX_COUNT: Final = 1_000
_SENTENCE_MIN_WORDS: Final = 3  # shorter ones are joined to a neighbour: "Yes." alone means nothing

Span = tuple[int, int]

# A long run without a blank counts as several words: scripts without blanks, addresses, junk.
_WORD: Final = re.compile(r"\S{1,24}")
# Where a sentence ends: full stops and what closes after them before a blank, the full stops of
# scripts without blanks, and the ends of lines. A run of stops is looked at once, from its start.
_END: Final = re.compile(
    r"(?<![.!?\u2026])[.!?\u2026]++[\"')\]\u00bb\u201d\u2019]*+(?=\s)"
    r"|(?<![\u3002\uff01\uff1f\u0964])[\u3002\uff01\uff1f\u0964]++[\u300d\u300f\u201d\u2019]*+"
    r"|\n"
)


def chunks(text: str, at_most: int = CHUNK_MAX_WORDS) -> list[str]:
    """Parts of about the same number of words, none with more than ``at_most``."""
    words = list(islice(_words(text, 0, len(text)), at_most * PIECES_MAX_COUNT))
    return [text[start:end] for start, end in _even(words, at_most)]


def sentences(text: str, at_most: int = SENTENCE_MAX_WORDS) -> list[str]:
    """The sentences of a text; very short ones are joined to a neighbour, very long ones cut."""
    found: list[Span] = []
    held: list[Span] = []  # a sentence that is too short to be a piece
    start = 0
    for end in (*(stop.end() for stop in _END.finditer(text)), len(text)):
        held += _words(text, start, end)
        start = end
        if len(held) >= _SENTENCE_MIN_WORDS:
            found += _even(held, at_most)
            held = []
        if len(found) >= PIECES_MAX_COUNT:
            held = []
            break
    if held and found:
        found[-1] = found[-1][0], held[-1][1]
    elif held:
        found = [(held[0][0], held[-1][1])]
    return [text[first:last] for first, last in found[:PIECES_MAX_COUNT]]


def _words(text: str, start: int, end: int) -> Iterator[Span]:
    return (word.span() for word in _WORD.finditer(text, start, end))


def _even(words: list[Span], at_most: int) -> list[Span]:
    """As few parts as needed, each with about as many words as the others."""
    count = -(-len(words) // at_most)
    bounds = [len(words) * part // count for part in range(count + 1)] if count else []
    return [(words[first][0], words[last - 1][1]) for first, last in pairwise(bounds)]
