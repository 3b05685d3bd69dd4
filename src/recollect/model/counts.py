"""Numbers in sentences.

Responsible for the form of a word after a number. Leaves the sentence to its caller. Invariant:
one is never followed by a plural.
"""

from __future__ import annotations


def counted(count: int, word: str) -> str:
    """A number and a word: ``1 event``, ``2,000 events``, ``3 entries``."""
    if count == 1:
        return f"{count:,} {word}"
    return f"{count:,} {word[:-1]}ies" if word.endswith("ry") else f"{count:,} {word}s"


def size(count_bytes: int) -> str:
    """A number of bytes for a person: ``12 KiB``, ``512 MiB``, ``71 GiB``."""
    if count_bytes >= 10 << 30:
        return f"{count_bytes >> 30:,} GiB"
    if count_bytes < 1 << 20:
        return f"{count_bytes >> 10:,} KiB"
    return f"{count_bytes >> 20:,} MiB"
