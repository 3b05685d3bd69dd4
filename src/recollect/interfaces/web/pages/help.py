"""Help: keys, words, signs and colours.

Responsible for explaining the other pages. Leaves the terms to the glossary. Invariant: every page
of the table is on it.
"""

from __future__ import annotations

from typing import Final

import msgspec

from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.draw.shares import SIGNALS, look
from recollect.interfaces.web.view import View
from recollect.memory import Memory

KEYS: Final = (
    ("/", "search"),
    ("g d", "go to today"),
    ("g t", "go to the timeline"),
    ("g s", "go to search"),
    ("g r", "go to what waits for you"),
    ("g l", "go to the ledger"),
    ("a r l", "in a review: approve, reject, later; Enter does the first two"),
    ("g c", "go to the context"),
    ("j k", "the next row, the one before"),
    ("Enter", "open the row"),
    ("o", "open it in a new tab"),
    ("[ ]", "one step back in time, one forward"),
    ("{ }", "one day back, one forward"),
    ("n", "back to now"),
    ("?", "this page"),
)
WORDS: Final = (
    ("record", "one belief: a sentence, with how sure it is, what it rests on and until when"),
    ("episode", "something that was said or seen, word for word"),
    ("key", "the name of a value that can change, such as alice.seat"),
    ("evidence", "what a record is based on"),
    ("trust", "how far something is believed: a person, then an agent, then what is unverified"),
    ("waiting", "stored and listed, but not recalled until a person has looked at it"),
    ("replaced", "another record took its place; its history stays"),
    ("hidden", "said once, and everything that rested on it was corrected or forgotten"),
    ("ledger", "the chain of everything that happened; all else is made from it"),
    ("event", "one thing that happened; it has a number and is never changed"),
    ("context", "memory packed for a prompt, within a number of tokens"),
    ("relevance", "the chance that a hit answers the question, from 0 to 1"),
    ("share", "what one signal adds to the score of a hit; the shares add up to it"),
    ("forget", "to take something out of recall; it can be restored"),
    ("erase", "to remove something for good, from every file of the memory"),
)  # fmt: skip
SIGNS: Final = (
    ("person", "a person wrote or approved it"),
    ("agent", "an agent wrote it"),
    ("unverified", "it came from a tool or a web page, and was not reviewed"),
    ("system", "the store itself did it"),
)


class Signal(msgspec.Struct, frozen=True, kw_only=True):
    """One colour of the bars."""

    label: str
    meaning: str
    colour: int
    pattern: int


class Main(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows."""

    keys: tuple[tuple[str, str], ...] = KEYS
    words: tuple[tuple[str, str], ...] = WORDS
    signs: tuple[tuple[str, str], ...] = SIGNS
    signals: tuple[Signal, ...] = ()


def page(asked: Asked, memory: Memory) -> View:
    """Reads nothing."""
    signals = []
    for name, (label, meaning) in SIGNALS.items():
        colour, pattern = look(name)
        signals.append(Signal(label=label, meaning=meaning, colour=colour, pattern=pattern))
    return View(title="Help", main=Main(signals=tuple(signals)), answer=None)
