"""``python -m benchmarks.compare``: the quick form of the benchmark beside the page's figures.

Responsible for telling whether something became much slower than the page says. What is below half
is measured a second time, alone; only what is below half again fails. Half, because a loaded
machine moves a ratio by a quarter. Leaves measuring to ``engine``. Invariant: a figure is judged
only if both runs took it from a memory of the same size, and an average never: in a short run one
stall of the disk decides it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from benchmarks import engine
from benchmarks.measures import QUICK
from benchmarks.report import AIMS, SERVED, Aim, Report

LIMIT: Final = 0.5
_SERVER: Final = "postgres"

Measure = Callable[[Collection[str] | None], Report]


class Figures(NamedTuple):
    """What a report says: its figures by name, and the sizes of the memories some depend on."""

    found: dict[str, float]
    at: dict[str, int]


class Beside(NamedTuple):
    """One line: the page's figure and this run's, each with the size it was measured at."""

    name: str
    aim: Aim
    page: float | None
    found: float | None
    at_page: int | None
    at_found: int | None

    @property
    def why_not(self) -> str | None:
        """A word for why two figures are not compared; None if they are."""
        if self.aim.mean_of is not None:
            return "average"
        return None if self.at_page == self.at_found else "sizes"

    @property
    def share(self) -> float | None:
        """1 if both are equal, less if this run is worse; None if they cannot be compared."""
        if not self.page or not self.found or self.why_not is not None:
            return None
        return self.page / self.found if self.aim.is_cost else self.found / self.page

    @property
    def is_below(self) -> bool:
        """True if this is less than half as good as the page."""
        return self.share is not None and self.share < LIMIT


def figures(report: bytes) -> Figures:
    """Reads any report, also one of a release that had fewer lines."""
    whole = msgspec.json.decode(report, type=dict[str, object])
    found = _numbers(whole, AIMS, "")
    at = _sizes(whole, "")
    served = whole.get(_SERVER)
    if isinstance(served, dict):
        found |= _numbers(served, SERVED, f"{_SERVER}.")
        at |= _sizes(served, f"{_SERVER}.")
    return Figures(found, at)


def _numbers(part: dict[str, object], aims: Sequence[Aim], before: str) -> dict[str, float]:
    named = {f"{before}{aim.name}": part.get(aim.name) for aim in aims}
    return {name: float(value) for name, value in named.items() if isinstance(value, int | float)}


def _sizes(part: dict[str, object], before: str) -> dict[str, int]:
    found = msgspec.convert(part.get("measured_at", {}), dict[str, int])
    return {f"{before}{name}": records for name, records in found.items()}


def beside(page: Figures, found: Figures) -> list[Beside]:
    """Every line that one of the two has, in the order of the page."""
    lines = {aim.name: aim for aim in AIMS}
    lines |= {f"{_SERVER}.{aim.name}": aim for aim in SERVED}
    return [
        Beside(
            name,
            aim,
            page.found.get(name),
            found.found.get(name),
            page.at.get(name),
            found.at.get(name),
        )
        for name, aim in lines.items()
        if name in page.found or name in found.found
    ]


def below(rows: Sequence[Beside]) -> list[str]:
    """What is less than half as good as the page."""
    return [row.name for row in rows if row.is_below]


def table(rows: Sequence[Beside]) -> str:
    """For people: the better the figure, the larger its share of the page's."""
    lines = [f"{'':40}{'page':>10}{'now':>10}{'share':>9}"]
    for row in rows:
        sign = "×" if row.aim.is_cost else ""
        shown = [f"{each:.3g}{sign}" if each is not None else "–" for each in (row.page, row.found)]
        lines.append(f"{row.name:40}{shown[0]:>10}{shown[1]:>10}{_share(row):>9}")
    return "\n".join(lines)


def _share(row: Beside) -> str:
    if row.share is not None:
        return f"{row.share:.2f}" + (" !" if row.is_below else "")
    return row.why_not or "" if row.page and row.found else ""


def judge(page: Figures, measure: Measure, say: Callable[[str], None]) -> list[str]:
    """The figures that are below half twice in a row. ``measure`` is given what to measure."""
    first = beside(page, figures(msgspec.json.encode(measure(None))))
    say(table(first))
    if not (again := below(first)):
        return []
    say(f"\nbelow half of the page, so measured again: {', '.join(again)}\n")
    second = beside(page, figures(msgspec.json.encode(measure(again))))
    say(table([row for row in second if row.name in again]))
    return [name for name in below(second) if name in again]


def _quick(only: Collection[str] | None) -> Report:
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder:
        return engine.run(QUICK, Path(folder), engine.Steps(), only)


def main(arguments: Sequence[str] | None = None, measure: Measure = _quick) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("page", type=Path, help="the page's report: benchmarks.json")
    chosen = parser.parse_args(arguments)
    kept = chosen.page.read_bytes() if chosen.page.exists() else b"{}"
    if failed := judge(figures(kept), measure, print):
        print(
            f"\nless than half of what the page says, twice in a row: {', '.join(failed)}. "
            "Find what became slower, or run `make bench` if the new cost is intended.",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
