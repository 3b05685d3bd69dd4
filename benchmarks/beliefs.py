"""``python -m benchmarks.beliefs``: what a rule makes of many episodes, and how fast.

Responsible for the speed of ``memory.consolidate`` over 10,000 and 100,000 episodes, and for the
memory that it takes. Leaves other calls to ``engine``. Invariants: each pass runs in a process of
its own, which has written none of the episodes; the smaller one runs before and after the larger.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Final

import msgspec

from benchmarks.machine import commit, machine
from recollect.memory import Memory
from recollect.model.validate import Json

RATIO_AIM: Final = 1.15
RSS_AIM_MB: Final = 150.0
_BATCH: Final = 1_000
_SUBJECTS_SHARE: Final = 0.8  # of the facts are about something new; the rest are updates


class Sizes(msgspec.Struct, frozen=True):
    """How many episodes."""

    small: int = 10_000
    large: int = 100_000
    rounds: int = 2  # of the smaller, before and after the larger


FULL: Final = Sizes()
QUICK: Final = Sizes(small=300, large=900, rounds=1)


class Pass(msgspec.Struct, frozen=True, kw_only=True):
    """One pass in a process of its own, and the one after it."""

    seconds: float  # of the processor: other programs on the machine do not count
    wall_s: float
    rss_mb: float  # the most that the process had
    applied: int
    skipped: int
    again: int  # what the second pass made


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a run found; ``eps`` are episodes in a second of the processor."""

    consolidate_eps_10k: float
    consolidate_eps_100k: float
    consolidate_ratio: float
    ratio_aim: float
    consolidate_rss_mb: float
    rss_aim_mb: float
    second_run_made: int
    wall_eps_100k: float  # with what else the machine did meanwhile
    reached: bool
    small: int
    large: int
    machine: dict[str, str | int]
    commit: str


def run(sizes: Sizes, folder: Path) -> Report:
    """Measures both sizes in turns."""
    passes = [_measured(folder / f"before-{n}", sizes.small) for n in range(sizes.rounds)]
    large = _measured(folder / "large", sizes.large)
    passes += [_measured(folder / f"after-{n}", sizes.small) for n in range(sizes.rounds)]
    small_eps = median(sizes.small / one.seconds for one in passes)
    large_eps = sizes.large / large.seconds
    made = sum(one.again for one in (*passes, large))
    ratio = small_eps / large_eps
    return Report(
        consolidate_eps_10k=round(small_eps, 1),
        consolidate_eps_100k=round(large_eps, 1),
        consolidate_ratio=round(ratio, 3),
        ratio_aim=RATIO_AIM,
        consolidate_rss_mb=large.rss_mb,
        rss_aim_mb=RSS_AIM_MB,
        second_run_made=made,
        wall_eps_100k=round(sizes.large / large.wall_s, 1),
        reached=ratio <= RATIO_AIM and large.rss_mb <= RSS_AIM_MB and made == 0,
        small=sizes.small,
        large=sizes.large,
        machine=machine(folder),
        commit=commit(),
    )


def _measured(workspace: Path, count: int) -> Pass:
    _child("--fill", str(count), str(workspace))
    return msgspec.json.decode(_child("--pass", str(count), str(workspace)), type=Pass)


def _child(*arguments: str) -> bytes:
    command = [sys.executable, "-m", "benchmarks.beliefs", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=1_800).stdout


def fill(workspace: Path, count: int) -> None:
    """Episodes as they come: three of four are facts, of which some are said again."""
    with Memory.open(workspace, embedder="none") as memory:
        memory.settings.rules.set("facts", channels=["facts"])
        for first in range(0, count, _BATCH):
            with memory.batch() as batch:
                for number in range(first, min(first + _BATCH, count)):
                    batch.observe(_text(number), metadata=_metadata(number))


def _text(number: int) -> str:
    return f"In run {number} the visitor said that gate {number % 977} was open."


def _metadata(number: int) -> dict[str, Json] | None:
    if number % 4 == 0:
        return None
    is_new = number % 100 < 100 * _SUBJECTS_SHARE
    about = number if is_new else number - number % 100 + 1
    return {"subject": f"visitor {about}", "predicate": "gate", "object": number % 977}


def consolidate(workspace: Path) -> Pass:
    """One pass, and another that finds nothing."""
    with Memory.open(workspace, embedder="none") as memory:
        wall, started = perf_counter(), process_time()
        done = memory.settings.rules.run("facts")
        seconds, wall = process_time() - started, perf_counter() - wall
        again = memory.settings.rules.run("facts")
    return Pass(
        seconds=seconds,
        wall_s=wall,
        rss_mb=_peak_mb(),
        applied=done.applied,
        skipped=len(done.skipped),
        again=again.applied + again.waiting,
    )


def _peak_mb() -> float:
    """The most memory that this process had; unlike ``ru_maxrss``, nothing of its parent's."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    peak = next(line for line in lines if line.startswith("VmHWM:"))
    return round(int(peak.split()[1]) / 1024, 1)


def table(report: Report) -> str:
    """The figures for people."""
    return "\n".join(
        [
            "| episodes | a second |\n|---|---|",
            f"| {report.small:,} | {report.consolidate_eps_10k:,} |",
            f"| {report.large:,} | {report.consolidate_eps_100k:,} |\n",
            f"ratio {report.consolidate_ratio} (aim {report.ratio_aim} or less), "
            f"memory {report.consolidate_rss_mb} MB (aim {report.rss_aim_mb} or less), "
            f"second run made {report.second_run_made}",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.beliefs")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--fill", nargs=2, metavar=("COUNT", "WORKSPACE"), help=argparse.SUPPRESS)
    parser.add_argument("--pass", nargs=2, dest="once", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.fill:
        fill(Path(given.fill[1]), int(given.fill[0]))
        return 0
    if given.once:
        sys.stdout.buffer.write(msgspec.json.encode(consolidate(Path(given.once[1]))))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        report = run(QUICK if given.quick else FULL, Path(folder))
    if given.json:
        print(json.dumps(msgspec.to_builtins(report), indent=2))
    else:
        print(table(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
