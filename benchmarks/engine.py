"""``python -m benchmarks.engine``: what the package costs on top of the bare engine.

Responsible for running the measurements, one after the other, in one run on one disk, and the
server's after them. Leaves the
figures' form to ``report``. Invariant: nothing is measured before the bare side's row set was found
equal to what the package writes.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from benchmarks import growth, measures, page, processes, reads
from benchmarks.bare import check_row_set
from benchmarks.machine import commit, machine
from benchmarks.measures import FULL, QUICK, Sizes, Skipped
from benchmarks.report import AIMS, RATIOS, SERVED, TEXT_RECALLS, Aim, Report, Served, table
from benchmarks.sentences import sentences
from benchmarks.timing import Paired

Measure = Callable[[Path, Sizes, Callable[[], None]], Paired]

# Each ratio's measurement, and the size that says how many rounds it has.
MEASURES: Final[dict[str, tuple[Measure, str]]] = {
    "write_ratio": (measures.write, "write_rounds"),
    "write_read_ratio": (measures.write_and_read, "write_rounds"),
    "bulk_ratio": (measures.bulk, "bulk_rounds"),
    "verify_ratio": (measures.verify, "verify_rounds"),
    "verify_long_ratio": (measures.verify_long, "long_rounds"),
    "rebuild_ratio": (measures.rebuild, "rebuild_rounds"),
    "cold_cli_ratio": (processes.cold_base, "cold_rounds"),
    "cold_cli_local_ratio": (processes.cold_local, "cold_rounds"),
    "hook_after_write_ratio": (processes.hook_after_write, "cold_rounds"),
    "recall_ratio": (measures.recall, "read_rounds"),
    "get_ratio": (measures.get, "read_rounds"),
    "chat_recall_ratio": (reads.chats, "read_rounds"),
    "vector_recall_cost": (reads.vectors, "vector_rounds"),
    "context_cost": (reads.context, "read_rounds"),
}
# Each figure of all sizes, and the work whose curve it is taken from.
_CURVES: Final = {
    **dict.fromkeys(TEXT_RECALLS.values(), "recall"),
    "recall_growth_ratio": "recall",
    "write_growth_ratio": "write",
    "open_growth": "open",
}
_GROUP: Final = "group_commit_gain_8_threads"
_REBUILD: Final = "rss_mb_rebuild_1m"
_UNEMBEDDED: Final = "unembedded_recall_cost"
_SERVER: Final = "postgres"
_PARTS: Final = 4  # of a run on a server
# How large the memory is that a figure is about; the others depend on it little, or not at all.
_AT: Final[dict[str, Callable[[Sizes], int]]] = {
    **dict.fromkeys(
        ("recall_ratio", "get_ratio", "context_cost"), lambda sizes: sizes.read_records
    ),
    "chat_recall_ratio": lambda sizes: sizes.chats,
    "vector_recall_cost": lambda sizes: sizes.vectors,
    **dict.fromkeys(
        ("recall_growth_ratio", "write_growth_ratio", "open_growth", _REBUILD, _UNEMBEDDED),
        lambda sizes: sizes.records[-1],
    ),
}


class Steps:
    """The progress of a run. This base class does not show it."""

    def begin(self, what: str) -> None:
        """Something else is measured now."""

    def advance(self) -> None:
        """One step is done, of those that ``steps_of`` counts."""


class Found:
    """What was measured so far, and which figures are wanted."""

    def __init__(self, sizes: Sizes, folder: Path, steps: Steps, only: Collection[str] | None):
        self.sizes = sizes
        self.folder = folder
        self.steps = steps
        self._only = only
        self.machine = machine(folder)  # before there is any load of the run itself
        self.taken: dict[str, Paired] = {}
        self.scale: dict[str, float] = {}
        self.curves: dict[str, growth.Curve] = {}
        self.group: measures.Throughput | None = None
        self.served: Served | None = None
        self.skipped: dict[str, str] = {}

    def wants(self, *names: str) -> bool:
        """Whether one of these figures, or the mean of one, is asked for."""
        means = [aim.name for aim in RATIOS if aim.mean_of in names]
        return self._only is None or any(name in self._only for name in (*names, *means))

    def of_server(self) -> list[str]:
        """The figures of a server that are asked for."""
        return [aim.name for aim in SERVED if self.wants(f"{_SERVER}.{aim.name}")]

    def take(self, aim: Aim, measure: Callable[[], Paired]) -> None:
        """One ratio, or why it was skipped."""
        self.steps.begin(aim.what)
        try:
            self.taken[aim.name] = measure()
        except Skipped as reason:
            self.skipped[aim.name] = str(reason)


def steps_of(sizes: Sizes) -> int:
    """How many steps a run has."""
    rounds = [int(getattr(sizes, name)) for _, name in MEASURES.values()]
    is_large = sizes.records[-1] >= reads.UNEMBEDDED_MIN_RECORDS
    rounds += [sizes.group_rounds, sizes.cold_rounds if is_large else 0]
    rounds += [sizes.growth_rounds] * len(growth.OPERATIONS)
    building = 3 * len(sizes.records)
    return sum(count + 1 for count in rounds if count) + building + (_PARTS if sizes.server else 0)


def run(sizes: Sizes, folder: Path, steps: Steps, only: Collection[str] | None = None) -> Report:
    """Runs all measurements in a folder of the caller, or only those of some figures."""
    check_row_set(folder, sentences(5, seed=0))
    found = Found(sizes, folder, steps, only)
    gc.freeze()  # what was there before is not looked at again by every collection
    try:
        _ratios(found)
        if found.wants(_GROUP):
            steps.begin("threads that write together")
            found.group = measures.group(folder, sizes, steps.advance)
            found.scale[_GROUP] = found.group.gain[-1]
        if found.wants(*_CURVES, _REBUILD, _UNEMBEDDED):
            _grow(found)
        if sizes.server and found.of_server():
            _serve(found)
    finally:
        gc.unfreeze()
    return _report(found)


def _ratios(found: Found) -> None:
    """The figures of one size each."""
    for aim in RATIOS:
        if aim.name in MEASURES and found.wants(aim.name):
            measure, _ = MEASURES[aim.name]
            found.take(aim, partial(measure, found.folder, found.sizes, found.steps.advance))


def _grow(found: Found) -> None:
    """The figures of all sizes."""
    sizes, steps = found.sizes, found.steps
    steps.begin(f"workspaces of up to {sizes.records[-1]:,} records")
    with growth.grown(found.folder, sizes, steps.advance) as sides:
        for operation in growth.OPERATIONS:
            figures = [name for name, curve in _CURVES.items() if curve == operation.name]
            if not found.wants(operation.name, *figures):
                continue
            steps.begin(f"{operation.what}, at every size")
            curve = growth.measure(sides, operation, sizes, steps.advance)
            found.curves[operation.name] = curve
        found.scale[_REBUILD] = round(sides[-1].rss_kb / 1024, 1)
        if found.wants(_UNEMBEDDED):
            aim = next(aim for aim in RATIOS if aim.name == _UNEMBEDDED)
            found.take(aim, partial(reads.unembedded, sides[-1], sizes, steps.advance))
    if "write" in found.curves:
        found.scale["write_growth_ratio"] = found.curves["write"].growth_ratio
    if "open" in found.curves:
        found.scale["open_growth"] = found.curves["open"].ours_growth
    if "recall" in found.curves:
        recall = found.curves["recall"]
        found.scale["recall_growth_ratio"] = recall.growth_ratio
        for records, cost in zip(recall.records, recall.costs, strict=True):
            if records in TEXT_RECALLS:
                found.scale[TEXT_RECALLS[records]] = cost


def _serve(found: Found) -> None:
    """The figures of a server that the run starts itself."""
    try:
        from benchmarks import postgres  # needs psycopg, and a server to start
    except ImportError as error:
        found.skipped[_SERVER] = str(error)
        return

    def said(what: str) -> None:
        found.steps.begin(f"PostgreSQL: {what}")
        found.steps.advance()

    sizes = postgres.SIZES[found.sizes.server]
    found.served = postgres.run(sizes, None, said, only=found.of_server())


def _report(found: Found) -> Report:
    sizes, taken = found.sizes, found.taken
    lines = {aim: taken[aim.mean_of or aim.name] for aim in RATIOS if _is_taken(aim, found)}
    figures: dict[str, float | None] = dict.fromkeys(aim.name for aim in AIMS)
    figures |= {aim.name: round(aim.figure(paired), 3) for aim, paired in lines.items()}
    figures |= found.scale
    return Report(
        **figures,  # every figure has a field of its name
        aims={aim.name: aim.aim for aim in AIMS if aim.aim is not None},
        reached={a.name: a.reached(figures[a.name]) for a in AIMS if a.aim is not None},
        quartiles={a.name: _quartiles(p, a.is_cost) for a, p in lines.items() if not a.mean_of},
        medians_us={
            aim.name: {
                side: round(us, 2)
                for side, us in (p.means_us if aim.mean_of else p.medians_us).items()
            }
            for aim, p in lines.items()
        },
        clocks={aim.name: paired.clock for aim, paired in lines.items()},
        rounds={aim.name: len(paired.ours_s) for aim, paired in lines.items()},
        measured_at={name: at(sizes) for name, at in _AT.items() if figures[name] is not None},
        sizes=sizes.records,
        growth=found.curves,
        group=found.group,
        machine=found.machine,
        commit=commit(),
        skipped=found.skipped,
        postgres=found.served,
    )


def _is_taken(aim: Aim, found: Found) -> bool:
    return (aim.mean_of or aim.name) in found.taken


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
    parser.add_argument("--quick", action="store_true", help="small sizes, about a minute")
    parser.add_argument("--dir", type=Path, help="measure on the disk of this folder")
    parser.add_argument(
        "--page",
        type=Path,
        help="write benchmarks.md, benchmarks.json and the plots there (never with --quick)",
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
