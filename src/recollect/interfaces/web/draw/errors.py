"""Errors as sentences of a page.

Responsible for the capital letter and the full stop. Leaves which error it is to the pages.
Invariant: no word is added or left out.
"""

from __future__ import annotations

from recollect.errors import RecollectError


def sentence(words: str) -> str:
    """The words of a message as a sentence."""
    end = "" if words.endswith((".", "?", "!")) else "."
    return f"{words[:1].upper()}{words[1:]}{end}"


def told(error: RecollectError, *, with_hint: bool = False) -> str:
    """What an error says, and what to do if that is wanted."""
    hint = error.hint if with_hint else None
    return " ".join(sentence(words) for words in (error.message, hint) if words)
