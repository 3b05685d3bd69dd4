"""What each signal adds to a hit, as a bar.

Responsible for the order, the colour, the pattern and the words of each signal, and for where each
part of a bar begins. Leaves the SVG to a template. Invariants: the widths of all parts are in one
scale for a page, so bars can be compared; a signal looks the same everywhere; what counts against a
hit is drawn too, to the left of zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

# In the order in which they are drawn. A new signal without a line here is drawn last, by its name.
SIGNALS: Final[Mapping[str, tuple[str, str]]] = {
    "words": ("words", "words of the question that it has"),
    "coverage": ("coverage", "how much of the question it covers"),
    "session_words": ("talk words", "words of the question across its conversation"),
    "sentence": ("sentence", "its sentence nearest in meaning"),
    "session_sentence": ("talk sentence", "the nearest sentence around it"),
    "chunk": ("meaning", "nearness in meaning as a whole"),
    "session_chunk": ("talk meaning", "nearness in meaning across its conversation"),
    "names": ("names", "its key, tags or subject are in the question"),
    "answers": ("answers", "it answers the kind of question that was asked"),
    "date": ("date", "it was said at the time that the question names"),
    "standing": ("standing", "a standing instruction"),
    "preference": ("preference", "a stated preference"),
    "own": ("own", "a first-person statement"),
    "earlier": ("earlier", "the question asks for the value before"),
    "correction": ("correction", "it corrects the next one"),
    "similarity": ("similarity", "relevance, weighed by the preset"),
    "confidence": ("confidence", "how sure its author was"),
    "recency": ("recency", "how lately it was written or used"),
    "centrality": ("centrality", "how many records it is linked with"),
    "reinforcement": ("reinforcement", "how often it was restated or used"),
    "assistant": ("assistant", "an assistant said it"),
    "assistant_overview": ("overview", "the question asks for everything that was said"),
    "asks": ("asks", "it is a question itself"),
    "question": ("same question", "it only asks the same"),
    "echo": ("echo", "it repeats what was said"),
}
_COLOURS: Final = 8
_PATTERNS: Final = 4
_ORDER: Final = {name: place for place, name in enumerate(SIGNALS)}
_SHOWN_MIN: Final = 0.005  # less rounds to zero


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One signal of one hit: its words, and where it lies on a bar of 0 to 1000."""

    name: str
    label: str
    meaning: str
    value: float
    colour: int
    pattern: int
    x: float
    width: float


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """All signals of a hit, and where zero lies."""

    parts: tuple[Part, ...]
    zero: float
    score: float


def bars(all_shares: Iterable[Mapping[str, float]], scores: Iterable[float]) -> tuple[Bar, ...]:
    """A bar for each hit, in one scale."""
    shown = [{n: v for n, v in each.items() if abs(v) >= _SHOWN_MIN} for each in all_shares]
    left = max((_sum(each, -1) for each in shown), default=0.0)
    right = max((_sum(each, 1) for each in shown), default=0.0)
    scale = 1000 / ((left + right) or 1.0)
    return tuple(
        _bar(each, score, left * scale, scale) for each, score in zip(shown, scores, strict=True)
    )


def look(name: str) -> tuple[int, int]:
    """The colour and the pattern of a signal, the same on every page."""
    place = _ORDER.get(name, len(_ORDER))
    return place % _COLOURS, (place + place // _COLOURS) % _PATTERNS


def _sum(shares: Mapping[str, float], sign: int) -> float:
    return sum(abs(value) for value in shares.values() if value * sign > 0)


def _bar(shares: Mapping[str, float], score: float, zero: float, scale: float) -> Bar:
    parts: list[Part] = []
    ahead, behind = zero, zero
    for name in sorted(shares, key=lambda each: (_ORDER.get(each, len(_ORDER)), each)):
        value = shares[name]
        width = abs(value) * scale
        behind -= width if value < 0 else 0
        label, meaning = SIGNALS.get(name, (name, name))
        colour, pattern = look(name)
        parts.append(
            Part(
                name=name, label=label, meaning=meaning, value=value, colour=colour,
                pattern=pattern, x=round(ahead if value > 0 else behind, 2), width=round(width, 2),
            )
        )  # fmt: skip
        ahead += width if value > 0 else 0
    return Bar(parts=tuple(parts), zero=round(zero, 2), score=score)
