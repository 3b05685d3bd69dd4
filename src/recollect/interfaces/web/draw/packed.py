"""A context as it is handed out: its lines, and how its budget is spent.

Responsible for the tokens of each line and for where each part of the bar begins. Leaves packing to
the memory. Invariant: the tokens of all lines together are those of the whole text, as the default
counter counts them.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from recollect.recall.pack import count_tokens

BAR_WIDTH = 1000
TONES = 4


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the text; ``item`` is the place of the hit that it shows."""

    number: int
    text: str
    tokens: int
    item: int | None = None


class Slice(msgspec.Struct, frozen=True, kw_only=True):
    """What one line takes of the budget, on a bar of 0 to 1000; without an item, the preset's."""

    item: int | None
    tokens: int
    x: float
    width: float
    tone: int


def lines(text: str, items: int) -> tuple[Line, ...]:
    """The lines of a context with so many items; they stand before the closing mark."""
    found = text.split("\n") if text else []
    first = len(found) - 1 - items
    return tuple(
        Line(
            number=place + 1,
            text=line,
            tokens=count_tokens(line),
            item=place - first + 1 if first <= place < len(found) - 1 else None,
        )
        for place, line in enumerate(found)
    )


def slices(found: Sequence[Line], budget: int) -> tuple[Slice, ...]:
    """The parts of the bar: first the preset's own words, then each item in its order."""
    own = sum(line.tokens for line in found if line.item is None)
    parts = [(None, own), *((line.item, line.tokens) for line in found if line.item is not None)]
    scale = BAR_WIDTH / max(budget, 1)
    x, out = 0.0, []
    for item, tokens in parts:
        width = tokens * scale
        tone = 0 if item is None else (item - 1) % TONES
        out.append(Slice(item=item, tokens=tokens, x=round(x, 2), width=round(width, 2), tone=tone))
        x += width
    return tuple(out) if own else ()
