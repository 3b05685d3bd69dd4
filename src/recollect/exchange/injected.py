"""Removing from a text what Recollect itself, or the assistant's program, put into it.

Responsible for telling handed-out memory and program markup from what was said. Leaves the rest of
the text unchanged. Invariants: nothing inside a ``<recollect>`` block passes, however it is
spelled, nested or cut off; a mark that was escaped inside a block does not end the block; the time
is linear in the text's length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

# An angle bracket, plain or escaped for HTML (any number of times) or for JSON.
_AMP: Final = r"&(?:amp;){0,8}"
_LEFT: Final = rf"<|{_AMP}lt;|{_AMP}#0{{0,4}}60;|{_AMP}#x0{{0,4}}3c;|\\{{1,8}}u003c"
_RIGHT: Final = rf">|{_AMP}gt;|{_AMP}#0{{0,4}}62;|{_AMP}#x0{{0,4}}3e;|\\{{1,8}}u003e"
_MARK: Final = re.compile(
    rf"(?P<left>{_LEFT})\s{{0,8}}(?P<close>\\{{0,8}}/)?\s{{0,8}}recollect(?![\w-])"
    rf"(?:[^<>&\\]{{0,200}}?(?:{_RIGHT}))?",
    re.IGNORECASE,
)

# Blocks that the assistant's program adds to a person's message. A truncated block ends with the
# text.
_MACHINERY: Final = re.compile(
    r"<(system-reminder|hook_context|user-prompt-submit-hook|session-start-hook|ide_opened_file|ide_selection"
    r"|ide_diagnostics|local-command-caveat|local-command-stdout|local-command-stderr"
    r"|command-name|command-message|command-args|command-contents|bash-input|bash-stdout"
    r"|bash-stderr|task-notification|persisted-output)\b[^>]{0,400}>"
)

_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_SPOKEN_MAX_CHARS: Final = 400_000  # a capture cuts texts shorter, after redaction


def spoken(text: str) -> str:
    """What was said of a text: without handed-out memory, markup, and what cannot be stored."""
    return storable(without_machinery(without_memory(text))).strip()[:_SPOKEN_MAX_CHARS]


def storable(text: str) -> str:
    """The text without the few characters that a memory refuses."""
    if text.isascii() and text.isprintable():
        return text  # almost every name, and quicker than a pattern
    return _UNSTORABLE.sub("\ufffd", text)


def without_memory(text: str) -> str:
    """The text without any block of handed-out memory."""
    if "recollect" not in text.lower():
        return text
    return "".join(_outside(text))


def _outside(text: str) -> Iterator[str]:
    """The text outside of blocks. A block ends with a mark spelled like its opening mark.

    A packed context escapes marks inside a memory's text, so a mark spelled differently is part of
    that text and does not end the block.
    """
    end = depth = 0
    spelled = ""
    for mark in _MARK.finditer(text):
        left = mark["left"].lower()
        if depth == 0:
            yield text[end : mark.start()]
            end = mark.end()
            if not mark["close"]:
                depth, spelled = 1, left
        elif left == spelled:
            depth += -1 if mark["close"] else 1
            end = mark.end()
    if depth == 0:
        yield text[end:]


def without_machinery(text: str) -> str:
    """The text without the blocks that the assistant's program added."""
    parts: list[str] = []
    end = 0
    while (block := _MACHINERY.search(text, end)) is not None:
        parts.append(text[end : block.start()])
        close = text.find(f"</{block[1]}>", block.end())
        if close < 0:
            end = len(text)
            break
        end = close + len(block[1]) + 3
    return "".join([*parts, text[end:]])
