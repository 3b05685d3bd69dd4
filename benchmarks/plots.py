"""Plots as plain SVG, without a library.

Responsible for lines of cost against size and for bars. Leaves what is drawn to ``page``.
Invariant: every colour can be read on white and on black, because a picture on a page does not know
the reader's theme.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import Final, NamedTuple

_WIDTH: Final = 680
_HEIGHT: Final = 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 74, 118, 54, 52
_STYLE: Final = """<style>
text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #7d8590 }
.title { font-size: 16px; font-weight: 600 }
.small { font-size: 12px }
.end { text-anchor: end } .middle { text-anchor: middle }
.grid { stroke: #7d8590; stroke-opacity: .25; stroke-width: 1 }
.bare { stroke: #8b949e; fill: none } .bare-mark { fill: #8b949e }
.ours { stroke: #2f81f7; fill: none } .ours-mark { fill: #2f81f7 }
text.ours-mark { fill: #2f81f7; font-weight: 600 }
.line { stroke-width: 2.5; stroke-linejoin: round; stroke-linecap: round }
@media (prefers-color-scheme: light) { text { fill: #57606a } .bare-mark { fill: #6e7781 } }
@media (prefers-color-scheme: dark) { text { fill: #9da7b3 } }
</style>"""


class Line(NamedTuple):
    """One side: what it is called, how it looks and its cost at each size, in microseconds."""

    name: str
    look: str  # "bare" or "ours"
    costs_us: Sequence[float]


def time_text(us: float) -> str:
    """A time as people say it."""
    if us < 1_000:
        value, unit = us, "µs"
    elif us < 1_000_000:
        value, unit = us / 1e3, "ms"
    else:
        value, unit = us / 1e6, "s"
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


def lines(title: str, sizes: Sequence[int], drawn: Sequence[Line]) -> str:
    """Cost against size; both axes count in factors, so equal growth has equal slope."""
    ticks = ticks_for([cost for line in drawn for cost in line.costs_us])
    across = _Axis(min(sizes), max(sizes), _LEFT + 24, _WIDTH - _RIGHT - 24)
    up = _Axis(ticks[0], ticks[-1], _HEIGHT - _BOTTOM, _TOP)
    parts = [_text(16, 28, title, "title")]
    for tick in ticks:
        y = up.place(tick)
        parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>')
        parts.append(_text(_LEFT - 10, y + 4, time_text(tick), "small end"))
    parts += [
        _text(across.place(size), _HEIGHT - _BOTTOM + 22, f"{size:,}", "middle") for size in sizes
    ]
    parts.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 6, "records", "small middle"))
    ends = _apart([up.place(line.costs_us[-1]) for line in drawn], 18)
    for line, end in zip(drawn, ends, strict=True):
        others = [other for other in drawn if other is not line]
        parts += _line(line, others, sizes, across, up)
        parts.append(_text(_WIDTH - _RIGHT + 10, end + 4, line.name, f"{line.look}-mark"))
    return _picture(title, parts)


def _line(
    line: Line, others: Sequence[Line], sizes: Sequence[int], across: _Axis, up: _Axis
) -> list[str]:
    points = [
        (across.place(size), up.place(cost))
        for size, cost in zip(sizes, line.costs_us, strict=True)
    ]
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    parts = [f'<path class="line {line.look}" d="M{path}"/>']
    for n, (x, y) in enumerate(points):
        above = all(line.costs_us[n] >= other.costs_us[n] for other in others)
        parts.append(f'<circle class="{line.look}-mark" cx="{x:.1f}" cy="{y:.1f}" r="4"/>')
        label = time_text(line.costs_us[n])
        parts.append(_text(x, y - 10 if above else y + 21, label, f"small middle {line.look}-mark"))
    return parts


def bars(title: str, names: Sequence[str], values: Sequence[float], notes: Sequence[str]) -> str:
    """One bar below the other, each with its value and a note."""
    widest = max(values)
    step = 44
    height = _TOP + step * len(values) + 10
    parts = [_text(16, 28, title, "title")]
    for n, (name, value, note) in enumerate(zip(names, values, notes, strict=True)):
        y = _TOP + n * step
        width = (_WIDTH - 330) * value / widest
        parts.append(_text(110, y + 20, name, "end"))
        parts.append(
            f'<rect class="ours-mark" x="122" y="{y}" width="{width:.1f}" height="30" rx="4"/>'
        )
        parts.append(_text(122 + width + 12, y + 20, note))
    return _picture(title, parts, height)


def ticks_for(costs: Sequence[float]) -> list[float]:
    """Round values that hold all of these between them; a small span has closer ones."""
    low, high = min(costs) / 1.25, max(costs) * 1.25
    factors = (1, 2, 5) if high > 8 * low else (1, 1.5, 2, 3, 4, 6, 8)
    steps = [
        factor * 10.0**power
        for power in range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
        for factor in factors
    ]
    first = max(n for n, step in enumerate(steps) if step <= low)
    last = min(n for n, step in enumerate(steps) if step >= high)
    return steps[first : last + 1]


class _Axis:
    """Where a value stands, when equal factors take equal room."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self._low = math.log(low)
        self._span = math.log(high) - self._low
        self._start = start
        self._end = end

    def place(self, value: float) -> float:
        share = (math.log(value) - self._low) / self._span if self._span else 0.5
        return self._start + share * (self._end - self._start)


def _apart(places: list[float], room: float) -> list[float]:
    """The same places, moved so that no two labels lie on each other."""
    moved = dict(enumerate(places))
    order = sorted(moved, key=places.__getitem__)
    for before, after in pairwise(order):
        moved[after] = max(moved[after], moved[before] + room)
    return [moved[n] for n in range(len(places))]


def _text(x: float, y: float, text: str, look: str = "") -> str:
    return f'<text class="{look}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def _picture(title: str, parts: Sequence[str], height: float = _HEIGHT) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:.0f}" '
        f'width="{_WIDTH}" height="{height:.0f}" role="img" aria-label="{escape(title)}">'
    )
    return "\n".join([head, _STYLE, *parts, "</svg>", ""])
