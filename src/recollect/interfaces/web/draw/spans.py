"""Quoted words in the text that they come from.

Responsible for where a quote begins and how much around it is shown. Leaves finding the text to the
pages. Invariant: without the words in it, a text is shown as it is.
"""

from __future__ import annotations

from typing import Final

import msgspec

AROUND_CHARS: Final = 240


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """A text in three parts: before the quoted words, the words, after them."""

    before: str
    words: str
    after: str


def span(text: str, words: str) -> Span:
    """The quoted words, with a little of what stands around them."""
    start = text.find(words)
    if not words or start < 0:
        return Span(before="", words=words, after="")
    end = start + len(words)
    before, after = text[:start], text[end:]
    if len(before) > AROUND_CHARS:
        before = "… " + before[-AROUND_CHARS:].partition(" ")[2]
    if len(after) > AROUND_CHARS:
        after = after[:AROUND_CHARS].rpartition(" ")[0] + " …"
    return Span(before=before, words=words, after=after)
