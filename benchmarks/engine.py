"""``python -m benchmarks.engine``: what the package costs on top of the bare engine.

Responsible for running the measurements, one after the other, in one run on one disk. Leaves the
figures' form to ``report``. Invariant: nothing is measured before the bare side's row set was found
equal to what the package writes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from benchmarks import growth, measures, page
from benchmarks.bare import check_row_set
from benchmarks.machine import commit, machine
from benchmarks.measures import FULL, QUICK, Sizes, Skipped
from benchmarks.report import AIMS, RATIOS, Report, table
from benchmarks.sentences import sentences
from benchmarks.timing import Paired

Measure = Callable[[Path, Sizes, Callable[[], None]], Paired]

# Each ratio's measurement, and the size that says how many rounds it has.
MEASURES: Final[dict[str, tuple[Measure, str]]] = {
    "write_ratio": (measures.write, "write_rounds"),
    "bulk_ratio": (measures.bulk, "bulk_rounds"),
    "verify_ratio": (measures.verify, "verify_rounds"),
    "rebuild_ratio": (measures.rebuild, "rebuild_rounds"),
    "cold_cli_ratio": (measures.cold, "cold_rounds"),
    "recall_ratio": (measures.recall, "read_rounds"),
    "get_ratio": (measures.get, "read_rounds"),
}


class Steps:
    """The progress of a run. This base class does not show it."""

    def begin(self, what: str) -> None:
        """Something else is measured now."""

    def advance(self) -> None:
        """One step is done, of those that ``steps_of`` counts."""


def steps_of(sizes: Sizes) -> int:
    """How many steps a run has."""
    rounds = [int(getattr(sizes, name)) + 1 for _, name in MEASURES.values()]
    building = 3 * len(sizes.records)
    curves = len(growth.OPERATIONS) * (sizes.growth_rounds + 1)
    return sum(rounds) + sizes.group_rounds + 1 + building + curves


def run(sizes: Sizes, folder: Path, steps: Steps) -> Report:
    """Runs all measurements in a folder of the caller."""
    check_row_set(folder, sentences(5, seed=0))
    taken: dict[str, Paired] = {}
    skipped: dict[str, str] = {}
    for aim in RATIOS:
        steps.begin(aim.what)
        try:
            taken[aim.name] = MEASURES[aim.name][0](folder, sizes, steps.advance)
        except Skipped as reason:
            skipped[aim.name] = str(reason)
    steps.begin("threads that write together")
    group = measures.group(folder, sizes, steps.advance)
    steps.begin(f"workspaces of up to {sizes.records[-1]:,} records")
    curves: dict[str, growth.Curve] = {}
    with growth.grown(folder, sizes, steps.advance) as sides:
        for operation in growth.OPERATIONS:
            steps.begin(f"{operation.what}, at every size")
            curves[operation.name] = growth.measure(sides, operation, sizes, steps.advance)
        rss_mb = sides[-1].rss_kb / 1024
    scale = {
        "write_growth_ratio": curves["write"].growth_ratio,
        "recall_growth_ratio": curves["recall"].growth_ratio,
        "open_growth": curves["open"].ours_growth,
        "group_commit_gain_8_threads": group.gain[-1],
        "rss_mb_rebuild_1m": round(rss_mb, 1),
    }
    return _report(sizes, folder, taken, skipped, scale, curves, group)


def _report(
    sizes: Sizes,
    folder: Path,
    taken: dict[str, Paired],
    skipped: dict[str, str],
    scale: dict[str, float],
    curves: dict[str, growth.Curve],
    group: measures.Throughput,
) -> Report:
    costs = {aim.name for aim in RATIOS if aim.is_cost}
    ratios = {name: round(p.cost if name in costs else p.speed, 3) for name, p in taken.items()}
    figures: dict[str, float | None] = {aim.name: ratios.get(aim.name) for aim in RATIOS}
    figures |= scale
    return Report(
        **figures,  # type: ignore[arg-type]  # those of `scale` are never None
        aims={aim.name: aim.aim for aim in AIMS if aim.aim is not None},
        reached={a.name: a.reached(figures[a.name]) for a in AIMS if a.aim is not None},
        quartiles={name: _quartiles(p, name in costs) for name, p in taken.items()},
        medians_us={
            name: {side: round(us, 2) for side, us in paired.medians_us.items()}
            for name, paired in taken.items()
        },
        rounds={name: len(paired.ours_s) for name, paired in taken.items()},
        sizes=sizes.records,
        growth=curves,
        group=group,
        machine=machine(folder),
        commit=commit(),
        skipped=skipped,
    )


def _quartiles(paired: Paired, is_cost: bool) -> tuple[float, float]:
    low, high = paired.quartiles
    low, high = (1 / high, 1 / low) if is_cost else (low, high)
    return round(low, 3), round(high, 3)


@contextmanager
def _drawn(total: int) -> Iterator[Steps]:
    """A bar on the terminal, if there is one."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("checking the row set", total=total)

        class Drawn(Steps):
            """Steps that a person sees."""

            def begin(self, what: str) -> None:
                bar.update(task, description=what)

            def advance(self) -> None:
                bar.advance(task)

        yield Drawn()


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.engine",
        description="Measure the package against bare SQLite, SHA-256 and Python, in one run.",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--quick", action="store_true", help="small sizes, a few seconds")
    parser.add_argument("--dir", type=Path, help="measure on the disk of this folder")
    parser.add_argument(
        "--page", type=Path, help="write benchmarks.md and its plots there (never with --quick)"
    )
    chosen = parser.parse_args(arguments)
    sizes = QUICK if chosen.quick else FULL
    with (
        tempfile.TemporaryDirectory(prefix="recollect-bench-", dir=chosen.dir) as folder,
        _drawn(steps_of(sizes)) as steps,
    ):
        report = run(sizes, Path(folder), steps)
    if chosen.json:
        print(msgspec.json.format(msgspec.json.encode(report), indent=2).decode())
    else:
        print(table(report))
    if chosen.page is not None and not chosen.quick:
        page.write(report, chosen.page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
