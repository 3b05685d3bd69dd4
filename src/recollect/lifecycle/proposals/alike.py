"""Two statements that say nearly the same, or the opposite.

Responsible for the score of a pair, by its words alone. Leaves which pairs are compared to callers.
Invariant: pure; a pair is a contradiction if only a negation, a number or a date differs.
"""

from __future__ import annotations

from functools import cache
from typing import Final, Literal, NamedTuple

from recollect.index.words.text import STOP_WORDS, token_list, words

ALIKE_MAX_CHARS: Final = 400  # a longer text says more than one thing
_LIKE_MIN_SHARE: Final = 0.6  # of the words that tell something
_NEGATIONS: Final = frozenset(
    "not no never none nothing neither nor cannot without isn aren wasn weren don doesn "
    "didn won wouldn couldn shouldn hasn haven hadn".split()
)
_DATES: Final = (
    "monday tuesday wednesday thursday friday saturday sunday january february march april may "
    "june july august september october november december today tomorrow yesterday"
)


class Likeness(NamedTuple):
    """How two statements relate; ``score`` is the share of words that they have in common."""

    kind: Literal["near_duplicate_of", "contradicts"]
    score: float


def alike(new: str, old: str) -> Likeness | None:
    """How a statement relates to an earlier one; None if it is about something else."""
    if max(len(new), len(old)) > ALIKE_MAX_CHARS:
        return None
    core, values, denies = _read(new)
    old_core, old_values, old_denies = _read(old)
    every = core | old_core
    share = len(core & old_core) / len(every) if every else 0.0
    if share < _LIKE_MIN_SHARE:
        return None
    differs = bool(values and old_values) and values != old_values
    if differs or denies != old_denies:
        return Likeness("contradicts", round(share, 3))
    return Likeness("near_duplicate_of", round(share, 3)) if values == old_values else None


def _read(text: str) -> tuple[frozenset[str], frozenset[str], bool]:
    """The words that tell something, the numbers and dates, and whether it denies something."""
    found = words(text)
    telling = [word for word in found if word not in STOP_WORDS and word not in _NEGATIONS]
    tokens = frozenset(token_list(" ".join(telling)))
    values = frozenset(one for one in tokens if one in _dates() or any(map(str.isdigit, one)))
    denies = sum(word in _NEGATIONS for word in found) % 2 == 1
    return tokens - values, values, denies


@cache
def _dates() -> frozenset[str]:
    return frozenset(token_list(_DATES))
