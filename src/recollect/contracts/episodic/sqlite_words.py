"""What SQLite's patterns and functions on texts do, in time that grows with their input alone.

Responsible for ``LIKE``, ``GLOB``, ``substr``, ``lower`` and ``upper``. Leaves which of them a
condition uses to ``where``. Invariants: letters are compared without case as SQLite does it, which
is for ASCII only; a pattern takes one walk over a text, however many signs it has.
"""

from __future__ import annotations

from string import ascii_lowercase, ascii_uppercase
from typing import Final, NamedTuple

_LOWER: Final = str.maketrans(ascii_uppercase, ascii_lowercase)
_UPPER: Final = str.maketrans(ascii_lowercase, ascii_uppercase)
_LONGER_THAN_ANY: Final = 1 << 31
_ANY: Final = ""  # stands for one character, whichever it is

Run = tuple[str, ...]  # characters that follow each other; ``_ANY`` is any of them


def lower(text: str) -> str:
    """A text with its ASCII letters in lower case."""
    return text.translate(_LOWER)


def upper(text: str) -> str:
    """A text with its ASCII letters in upper case."""
    return text.translate(_UPPER)


def substr(text: str, first: int, count: int | None = None) -> str:
    """A part of a text. The first character is 1; a negative number counts from the end."""
    length = _LONGER_THAN_ANY if count is None else abs(count)
    if first < 0:
        first += len(text)
        if first < 0:
            length, first = max(length + first, 0), 0
    elif first > 0:
        first -= 1
    elif length > 0:
        length -= 1
    if count is not None and count < 0:  # the characters before it
        first -= length
        if first < 0:
            length, first = length + first, 0
    return text[first : first + max(length, 0)]


class Pattern(NamedTuple):
    """A pattern as the runs of characters between its stars; one run means no star at all."""

    runs: tuple[Run, ...]
    ignores_case: bool

    @property
    def is_all(self) -> bool:
        """True if it matches every text."""
        return len(self.runs) > 1 and not any(self.runs)

    @property
    def longest(self) -> str:
        """A text that whatever matches contains as it stands; empty if none is known."""
        plain = [] if self.ignores_case else ["".join(run) for run in self.runs if _ANY not in run]
        return max(plain, key=len, default="")

    def matches(self, text: str) -> bool:
        """True if a text matches as a whole."""
        text = lower(text) if self.ignores_case else text
        first, *between = self.runs
        if not between:
            return len(text) == len(first) and _is_at(text, 0, first)
        last = between.pop()
        at, end = len(first), len(text) - len(last)
        if at > end or not _is_at(text, 0, first) or not _is_at(text, end, last):
            return False
        for run in between:  # the first place of each leaves the most room for the next
            found = _place(text, run, at, end)
            if found is None:
                return False
            at = found + len(run)
        return True


def like(pattern: str, escape: str | None = None) -> Pattern:
    """A pattern of LIKE: ``%`` for any text, ``_`` for any character."""
    return _read(lower(pattern), "%", "_", escape if escape is None else lower(escape), True)


def glob(pattern: str) -> Pattern:
    """A pattern of GLOB without sets of characters: ``*`` and ``?``."""
    return _read(pattern, "*", "?", None, False)


def _read(pattern: str, star: str, any_one: str, escape: str | None, ignores_case: bool) -> Pattern:
    runs: list[list[str]] = [[]]
    signs = iter(pattern)
    for sign in signs:
        if sign == escape:
            runs[-1].append(next(signs, sign))
        elif sign == star:
            runs.append([])
        else:
            runs[-1].append(_ANY if sign == any_one else sign)
    first, *others = runs
    between = [run for run in others[:-1] if run]
    kept = [first, *between, *others[-1:]]
    return Pattern(tuple(map(tuple, kept)), ignores_case)


def _is_at(text: str, at: int, run: Run) -> bool:
    return all(sign in (_ANY, text[at + place]) for place, sign in enumerate(run))


def _place(text: str, run: Run, start: int, end: int) -> int | None:
    """The first place of a run in a part of a text."""
    if _ANY not in run:
        found = text.find("".join(run), start, end)
        return None if found < 0 else found
    # One bit for each sign of the run says whether the text so far ends with the signs up to it.
    every = sum(1 << place for place, sign in enumerate(run) if sign == _ANY)
    fits = dict.fromkeys(run, every)
    for place, sign in enumerate(run):
        fits[sign] |= 1 << place
    whole, state = 1 << (len(run) - 1), 0
    for at in range(start, end):
        state = ((state << 1) | 1) & fits.get(text[at], every)
        if state & whole:
            return at - len(run) + 1
    return None
