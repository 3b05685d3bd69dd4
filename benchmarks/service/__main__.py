"""``python -m benchmarks.service``: the figures of ``recollect serve`` and of its client.

Responsible for the command and the report. Leaves measuring to ``traffic``, ``clients`` and
``starts``. Invariant: whether an aim is reached is computed from the figure that stands beside it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Final

import msgspec

from benchmarks import service_telemetry
from benchmarks.machine import commit, machine
from benchmarks.report import Aim
from benchmarks.service import clients, starts, traffic
from benchmarks.service.sizes import FULL, QUICK, Sizes
from benchmarks.timing import Paired

AIMS: Final = (
    Aim("echo_ratio", "decode and encode through the gate, over a bare echo", 0.40),
    Aim("echo_server_ratio", "the same with a memory on PostgreSQL", 0.35),
    Aim("recall_server_cost", "CPU of recall over HTTP, PostgreSQL over files", 1.3, is_cost=True),
    Aim("http_write_ratio", "remember over HTTP, over 16 tasks in process", 0.80),
    Aim("http_recall_ratio", "recall over HTTP, over 16 tasks in process", 0.90),
    Aim("client_ratio", "remember of the client, over ready bytes", 0.75),
    Aim("awaited_ratio", "remember of 16 tasks, over 16 threads", 0.85),
    Aim("telemetry_ratio", "with figures and log lines, over none", 0.95),
    Aim("spans_ratio", "with spans that are sent too, over none", 0.85),
    Aim("first_answer_ratio", "first answer, over bare uvicorn", 2.0, is_cost=True),
    Aim("client_import_ratio", "import recollect.client, over bare Python", 6.0, is_cost=True),
)
_MEASURES: Final[dict[str, Callable[[Path, Sizes], Paired]]] = {
    "echo_ratio": traffic.echo,
    "echo_server_ratio": traffic.echo_on_server,
    "recall_server_cost": traffic.recall_on_server,
    "http_write_ratio": traffic.write,
    "http_recall_ratio": traffic.recall,
    "client_ratio": clients.client,
    "awaited_ratio": clients.awaited,
    "telemetry_ratio": service_telemetry.metrics_and_log,
    "spans_ratio": service_telemetry.spans,
    "first_answer_ratio": starts.first_answer,
    "client_import_ratio": starts.imported,
}


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a run found. A ratio is bare time over ours; a cost is ours over bare."""

    figures: dict[str, float]
    aims: dict[str, str]
    reached: dict[str, bool | None]
    quartiles: dict[str, tuple[float, float]]  # half of all rounds lie between, as speeds
    medians_us: dict[str, dict[str, float]]
    sizes: Sizes
    machine: dict[str, str | int]
    commit: str


def run(
    sizes: Sizes, folder: Path, say: Callable[[str], None], only: Collection[str] | None = None
) -> Report:
    """All figures, or some of them."""
    aims = [aim for aim in AIMS if only is None or aim.name in only]
    found: dict[str, Paired] = {}
    for aim in aims:
        say(aim.name)
        place = folder / aim.name
        place.mkdir()
        found[aim.name] = _MEASURES[aim.name](place, sizes)
    figures = {aim.name: round(aim.figure(found[aim.name]), 3) for aim in aims}
    return Report(
        figures=figures,
        aims={aim.name: aim.sign for aim in aims},
        reached={aim.name: aim.reached(figures[aim.name]) for aim in aims},
        quartiles={name: _rounded(paired.quartiles) for name, paired in found.items()},
        medians_us={
            name: {side: round(value, 1) for side, value in paired.medians_us.items()}
            for name, paired in found.items()
        },
        sizes=sizes,
        machine=machine(folder),
        commit=commit(),
    )


def _rounded(pair: tuple[float, float]) -> tuple[float, float]:
    return round(pair[0], 3), round(pair[1], 3)


def table(report: Report) -> str:
    """The report for people."""
    lines = [f"{'':58}{'figure':>8}{'aim':>8}{'bare µs':>12}{'ours µs':>12}"]
    for aim in AIMS:
        if aim.name in report.figures:
            took = report.medians_us[aim.name]
            word = "" if report.reached[aim.name] else "  missed"
            lines.append(
                f"{aim.what:58}{report.figures[aim.name]:>8}{aim.sign:>8}"
                f"{took['bare']:>12,.0f}{took['ours']:>12,.0f}{word}"
            )
    facts = ", ".join(f"{name} {value}" for name, value in report.machine.items())
    return "\n".join([*lines, "", facts])


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.service",
        description="Measure the service against what it is built on.",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument(
        "--only", action="append", choices=[aim.name for aim in AIMS], help="one figure; repeatable"
    )
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="recollect-service-") as folder:
        report = run(
            QUICK if chosen.quick else FULL,
            Path(folder),
            lambda name: print(name, file=sys.stderr),
            chosen.only,
        )
    if chosen.json:
        print(msgspec.json.format(msgspec.json.encode(report), indent=2).decode())
    else:
        print(table(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
