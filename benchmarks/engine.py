"""``python -m benchmarks.engine``: what the package costs on top of the bare engine.

Responsible for running the measurements and for the report. Every figure is a ratio of two times
from the same run on the same disk. Invariant: nothing is measured before the bare side's row set
was found equal to what the package writes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from benchmarks import measures
from benchmarks.bare import check_row_set
from benchmarks.machine import machine
from benchmarks.measures import FULL, QUICK, Sizes, Skipped
from benchmarks.sentences import sentences
from benchmarks.timing import Paired

Measure = Callable[[Path, Sizes, Callable[[], None]], Paired]


class Figure(NamedTuple):
    """One line of the report."""

    name: str
    measure: Measure
    what: str
    aim: float | None
    is_cost: bool = False  # our time over bare time, the lower the better


FIGURES: Final = (
    Figure("write_ratio", measures.write, "one durable remember", 0.60),
    Figure("bulk_ratio", measures.bulk, "a durable batch, each record", 0.50),
    Figure("verify_ratio", measures.verify, "verify, each event", 0.40),
    Figure("rebuild_ratio", measures.rebuild, "rebuild, each event", 0.50),
    Figure("cold_cli_ratio", measures.cold, "`recollect recall`, cold", 8.0, is_cost=True),
    Figure("recall_ratio", measures.recall, "recall, ten hits", None),
    Figure("get_ratio", measures.get, "get, one record", None),
)


class Report(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a run found. A ratio is None if it was skipped; ``skipped`` says why.

    Ratios are bare time over our time, so 1.0 is as fast as bare and higher is better; only
    ``cold_cli_ratio`` is our time over bare time. Those without an aim are for information.
    """

    write_ratio: float | None
    bulk_ratio: float | None
    verify_ratio: float | None
    rebuild_ratio: float | None
    cold_cli_ratio: float | None
    recall_ratio: float | None
    get_ratio: float | None
    aims: dict[str, float]
    reached: dict[str, bool | None]
    quartiles: dict[str, tuple[float, float]]
    medians_us: dict[str, dict[str, float]]
    rounds: dict[str, int]
    machine: dict[str, str | int]
    skipped: dict[str, str] = {}


def run(sizes: Sizes, folder: Path, say: Callable[[str], None]) -> Report:
    """All measurements, one after the other, below a folder of the caller's."""
    say("checking the row set")
    check_row_set(folder, sentences(5, seed=0))
    taken: dict[str, Paired] = {}
    skipped: dict[str, str] = {}
    for figure in FIGURES:
        progress = _Progress(figure.what, say)
        try:
            taken[figure.name] = figure.measure(folder, sizes, progress.advance)
        except Skipped as reason:
            skipped[figure.name] = str(reason)
    return _report(taken, skipped, folder)


def _report(taken: dict[str, Paired], skipped: dict[str, str], folder: Path) -> Report:
    costs = {figure.name for figure in FIGURES if figure.is_cost}
    ratios = {name: p.cost if name in costs else p.speed for name, p in taken.items()}
    quartiles: dict[str, tuple[float, float]] = {}
    for name, paired in taken.items():
        low, high = paired.quartiles
        quartiles[name] = _short2((1 / high, 1 / low) if name in costs else (low, high))
    return Report(
        **{figure.name: _short(ratios.get(figure.name)) for figure in FIGURES},
        aims={figure.name: figure.aim for figure in FIGURES if figure.aim is not None},
        reached={
            figure.name: _reached(figure, ratios.get(figure.name))
            for figure in FIGURES
            if figure.aim is not None
        },
        quartiles=quartiles,
        medians_us={
            name: {side: round(us, 2) for side, us in paired.medians_us.items()}
            for name, paired in taken.items()
        },
        rounds={name: len(paired.ours_s) for name, paired in taken.items()},
        machine=machine(folder),
        skipped=skipped,
    )


def _reached(figure: Figure, ratio: float | None) -> bool | None:
    if ratio is None or figure.aim is None:
        return None
    return ratio <= figure.aim if figure.is_cost else ratio >= figure.aim


def _short(ratio: float | None) -> float | None:
    return None if ratio is None else round(ratio, 3)


def _short2(pair: tuple[float, float]) -> tuple[float, float]:
    return round(pair[0], 3), round(pair[1], 3)


class _Progress:
    """Tells a person how many rounds are behind them."""

    def __init__(self, what: str, say: Callable[[str], None]) -> None:
        self._what = what
        self._say = say
        self._rounds = 0
        say(what)

    def advance(self) -> None:
        self._rounds += 1
        self._say(f"{self._what}: round {self._rounds}")


def _say(message: str) -> None:
    """One line on the terminal, written over by the next."""
    print(f"\r\x1b[2K{message}", end="", file=sys.stderr, flush=True)


def table(report: Report) -> str:
    """The report for people."""
    lines = [f"{'':30}{'bare':>14}{'ours':>14}{'ratio':>9}  {'half of all rounds':20}aim"]
    for figure in FIGURES:
        if figure.name in report.skipped:
            lines.append(f"{figure.what:30}skipped: {report.skipped[figure.name]}")
            continue
        us = report.medians_us[figure.name]
        low, high = report.quartiles[figure.name]
        ratio: float = getattr(report, figure.name)
        aim = "" if figure.aim is None else f"{'≤' if figure.is_cost else '≥'} {figure.aim:.2f}"
        reached = {True: " reached", False: " missed", None: ""}[report.reached.get(figure.name)]
        lines.append(
            f"{figure.what:30}{us['bare']:>11,.1f} µs{us['ours']:>11,.1f} µs{ratio:>9.3f}"
            f"  {f'{low:.3f} to {high:.3f}':20}{aim}{reached}"
        )
    facts = ", ".join(f"{name} {value}" for name, value in report.machine.items())
    return "\n".join([*lines, "", facts])


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.engine",
        description="Measure the package against bare SQLite, SHA-256 and Python, in one run.",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--quick", action="store_true", help="small sizes, a few seconds")
    parser.add_argument("--dir", type=Path, help="measure on the disk of this folder")
    chosen = parser.parse_args(arguments)
    say = _say if sys.stderr.isatty() else lambda message: None
    with tempfile.TemporaryDirectory(prefix="recollect-bench-", dir=chosen.dir) as folder:
        report = run(QUICK if chosen.quick else FULL, Path(folder), say)
    if sys.stderr.isatty():
        _say("")
    if chosen.json:
        print(msgspec.json.format(msgspec.json.encode(report), indent=2).decode())
    else:
        print(table(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
