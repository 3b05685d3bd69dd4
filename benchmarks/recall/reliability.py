"""``python -m benchmarks.recall.reliability``: are hits with 0.8 right four times in five?

Responsible for the reliability curve of first hits on test questions, its expected calibration
error, and a picture of it. Leaves asking to ``python -m benchmarks.recall --out``, whose files it
reads. Invariant: only the relevance of each first hit and whether it was right are used.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

BINS: Final = 10
_SETS: Final = ("A", "B", "C", "D")  # the sessions of B are the same questions again
_SIDE: Final = 320
_MARGIN: Final = 48
_COLOURS: Final = ("#1f6feb", "#d1570c", "#2f8f4e", "#8250df")


class Bin(NamedTuple):
    """First hits of similar relevance: how many, their mean relevance, and the share of right."""

    hits: int
    relevance: float
    right: float


def first_hits(folder: Path, part: str = "test") -> list[tuple[float, float]]:
    """Relevance and rightness of every first hit of a run; questions without a hit are left out."""
    found: list[tuple[float, float]] = []
    for name in _SETS:
        path = folder / f"{name}.jsonl"
        lines = path.read_text("utf-8").splitlines() if path.is_file() else []
        rows = [json.loads(line) for line in lines]
        found += [
            (row["top"], row["marks"]["any@1"])
            for row in rows
            if row["part"] == part and row["ranked"]
        ]
    return found


def curve(hits: Sequence[tuple[float, float]], bins: int = BINS) -> list[Bin]:
    """The hits by relevance, in bins of equal count."""
    ordered = sorted(hits)
    edges = [round(number * len(ordered) / bins) for number in range(bins + 1)]
    parts = [ordered[low:high] for low, high in pairwise(edges) if low < high]
    return [
        Bin(
            len(part),
            sum(relevance for relevance, _ in part) / len(part),
            sum(right for _, right in part) / len(part),
        )
        for part in parts
    ]


def calibration_error(points: Sequence[Bin]) -> float:
    """The mean distance between relevance and the share of right, over all hits."""
    total = sum(point.hits for point in points)
    return sum(point.hits * abs(point.relevance - point.right) for point in points) / (total or 1)


def table(name: str, points: Sequence[Bin]) -> str:
    """The curve for people."""
    lines = [f"{name}: expected calibration error {calibration_error(points):.3f}"]
    lines += [
        f"  {p.hits:5} first hits  relevance {p.relevance:.2f}  right {p.right:.2f}" for p in points
    ]
    return "\n".join(lines)


def picture(curves: dict[str, Sequence[Bin]]) -> str:
    """The curves as SVG, with the line on which relevance is the share of right."""
    whole = _SIDE + 2 * _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole} {whole}" '
        f'font-family="sans-serif" font-size="12">',
        f'<rect width="{whole}" height="{whole}" fill="white"/>',
        _line([(0, 0), (1, 1)], "#999999", dashed=True),
        _line([(0, 1), (0, 0), (1, 0)], "black"),
    ]
    for tick in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        x, y = _place(tick, tick)
        parts.append(f'<text x="{x}" y="{_MARGIN + _SIDE + 18}" text-anchor="middle">{tick}</text>')
        parts.append(f'<text x="{_MARGIN - 8}" y="{y + 4}" text-anchor="end">{tick}</text>')
    for place, (name, points) in enumerate(curves.items()):
        colour = _COLOURS[place % len(_COLOURS)]
        where = [(point.relevance, point.right) for point in points]
        parts.append(_line(where, colour))
        parts += [
            f'<circle cx="{_place(*at)[0]}" cy="{_place(*at)[1]}" r="3.5" fill="{colour}"/>'
            for at in where
        ]
        words = f"{name}, error {calibration_error(points):.3f}"
        down = _MARGIN + 8 + 18 * place
        parts.append(f'<text x="{_MARGIN + 12}" y="{down}" fill="{colour}">{words}</text>')
    middle = _MARGIN + _SIDE // 2
    parts += [
        f'<text x="{middle}" y="{whole - 8}" text-anchor="middle">'
        "relevance of the first hit</text>",
        f'<text x="14" y="{middle}" text-anchor="middle" transform="rotate(-90 14 {middle})">'
        "share that was right</text>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _place(x: float, y: float) -> tuple[float, float]:
    return round(_MARGIN + _SIDE * x, 1), round(_MARGIN + _SIDE * (1 - y), 1)


def _line(points: Sequence[tuple[float, float]], colour: str, *, dashed: bool = False) -> str:
    where = " ".join(f"{x},{y}" for x, y in (_place(*point) for point in points))
    dash = ' stroke-dasharray="4 4"' if dashed else ""
    return f'<polyline points="{where}" fill="none" stroke="{colour}"{dash}/>'


def main(words: Sequence[str] | None = None) -> int:
    """Prints the curve of each run, and draws them together."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall.reliability")
    parser.add_argument("runs", nargs="+", help="NAME=FOLDER of `benchmarks.recall --out FOLDER`")
    parser.add_argument("--svg", type=Path, help="where to write the picture")
    parser.add_argument("--json", action="store_true", help="print for machines")
    options = parser.parse_args(words)
    named = [run.partition("=") for run in options.runs]
    curves: dict[str, Sequence[Bin]] = {
        n: curve(first_hits(Path(folder))) for n, _, folder in named
    }
    if options.json:
        figures = {
            name: {
                "error": calibration_error(points),
                "bins": [point._asdict() for point in points],
            }
            for name, points in curves.items()
        }
        print(json.dumps(figures, indent=2))
    else:
        print("\n".join(table(name, points) for name, points in curves.items()))
    if options.svg:
        options.svg.write_text(picture(curves), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
