"""The answer of a verification, in words.

Responsible for the sentence and for what to do next. Leaves checking to the memory. Invariant: a
ledger that is only self-consistent is never called proven.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from recollect.model.values import Verification

Tone = Literal["good", "fair", "bad"]


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What was found: a word, a sentence, and the next step if there is one."""

    tone: Tone
    word: str
    said: str
    hint: str | None = None


_KEEP: Final = (
    "Someone who can replace the whole folder could still have replaced all of it. "
    "Keep the anchor below elsewhere, or sign checkpoints."
)
_BROKEN: Final = (
    "Do not write to it. `recollect admin doctor` says what can be done; a backup may have what is "
    "lost."
)


def verdict(found: Verification) -> Verdict:
    """The words for a verification."""
    events = f"{found.events:,} event{'' if found.events == 1 else 's'}"
    if found.status == "broken":
        where = "" if found.broken_at is None else f" at event {found.broken_at:,}"
        why = f": {found.problem}." if found.problem else "."
        said = f"The chain is broken{where}{why}"
        return Verdict(tone="bad", word="Broken", said=said, hint=_BROKEN)
    if found.status == "not anchored":
        said = f"The chain is whole, but it is not the one that was signed: {found.problem}."
        return Verdict(tone="bad", word="Not anchored", said=said, hint=_BROKEN)
    if found.status == "anchored":
        through = found.anchored_through or found.events
        said = (
            f"All {events} follow from each other, and the first {through:,} are what was signed "
            "or kept elsewhere."
        )
        return Verdict(tone="good", word="Anchored", said=said, hint=found.problem)
    said = f"All {events} follow from each other: none was changed, added or taken out alone."
    return Verdict(tone="fair", word="Self-consistent", said=said, hint=_KEEP)
