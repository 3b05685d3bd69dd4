"""What a run found, and whether it is what was aimed at.

Responsible for the report's form and its table. Leaves measuring to ``measures`` and ``growth``,
and the page for readers to ``page``. Invariant: whether an aim is reached is computed from the
figure that stands beside it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from benchmarks.growth import Curve
from benchmarks.measures import Throughput


class Aim(NamedTuple):
    """One line of the report. A ``cost`` is the better the lower, all else the higher."""

    name: str
    what: str
    aim: float | None
    is_cost: bool = False

    def reached(self, figure: float | None) -> bool | None:
        """None if there is no figure or no aim."""
        if figure is None or self.aim is None:
            return None
        return figure <= self.aim if self.is_cost else figure >= self.aim

    @property
    def sign(self) -> str:
        """The aim for people."""
        return "" if self.aim is None else f"{'≤' if self.is_cost else '≥'} {self.aim:g}"


# Bare time over our time, unless it is a cost: then our time over bare time.
RATIOS: Final = (
    Aim("write_ratio", "one durable remember", 0.60),
    Aim("bulk_ratio", "a durable batch, each record", 0.50),
    Aim("verify_ratio", "verify, each event", 0.40),
    Aim("rebuild_ratio", "rebuild, each event", 0.50),
    Aim("cold_cli_ratio", "`recollect recall`, cold", 8.0, is_cost=True),
    Aim("recall_ratio", "recall, ten hits", None),
    Aim("get_ratio", "get, one record", None),
)
SCALE: Final = (
    Aim("write_growth_ratio", "growth of a write, ours over bare", 1.25, is_cost=True),
    Aim("recall_growth_ratio", "growth of recall, ours over bare", 1.25, is_cost=True),
    Aim("open_growth", "growth of opening a memory", 2.0, is_cost=True),
    Aim("group_commit_gain_8_threads", "eight threads over one, writes", 1.5),
    Aim("rss_mb_rebuild_1m", "peak memory of a rebuild, MB", 300, is_cost=True),
)
AIMS: Final = (*RATIOS, *SCALE)


class Report(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a run found. A figure is None if it was skipped; ``skipped`` says why.

    Ratios are bare time over our time, so 1.0 is as fast as bare and higher is better; only
    ``cold_cli_ratio`` is our time over bare time. Growth is from the first of ``sizes`` to the
    last: our factor over the bare engine's, and for ``open_growth`` our factor alone. The memory
    of a rebuild is that of the last of ``sizes``. Those without an aim are for information.
    """

    write_ratio: float | None
    bulk_ratio: float | None
    verify_ratio: float | None
    rebuild_ratio: float | None
    cold_cli_ratio: float | None
    recall_ratio: float | None
    get_ratio: float | None
    write_growth_ratio: float
    recall_growth_ratio: float
    open_growth: float
    group_commit_gain_8_threads: float
    rss_mb_rebuild_1m: float
    aims: dict[str, float]
    reached: dict[str, bool | None]
    quartiles: dict[str, tuple[float, float]]
    medians_us: dict[str, dict[str, float]]
    rounds: dict[str, int]
    sizes: tuple[int, ...]
    growth: dict[str, Curve]
    group: Throughput
    machine: dict[str, str | int]
    commit: str
    skipped: dict[str, str] = {}

    def figure(self, aim: Aim) -> float | None:
        """The figure that an aim is about."""
        found: float | None = getattr(self, aim.name)
        return found


def table(report: Report) -> str:
    """The report for people."""
    lines = [f"{'':34}{'bare':>14}{'ours':>14}{'ratio':>9}  {'half of all rounds':20}aim"]
    lines += [_line(report, aim) for aim in RATIOS]
    small, large = report.sizes[0], report.sizes[-1]
    lines += ["", f"from {small:,} records to {large:,}"]
    lines += [
        f"{aim.what:34}{'':28}{report.figure(aim):>9}  {'':20}{_verdict(report, aim)}"
        for aim in SCALE
    ]
    lines += ["", f"{'typical, µs':34}" + "".join(f"{size:>18,}" for size in report.sizes)]
    for name, curve in report.growth.items():
        for side, us in (("bare", curve.bare_us), ("ours", curve.ours_us)):
            lines.append(f"{f'{name}, {side}':34}" + "".join(f"{each:>18,.1f}" for each in us))
    facts = ", ".join(f"{name} {value}" for name, value in report.machine.items())
    return "\n".join([*lines, "", facts])


def _line(report: Report, aim: Aim) -> str:
    if aim.name in report.skipped:
        return f"{aim.what:34}skipped: {report.skipped[aim.name]}"
    us = report.medians_us[aim.name]
    low, high = report.quartiles[aim.name]
    return (
        f"{aim.what:34}{us['bare']:>11,.1f} µs{us['ours']:>11,.1f} µs{report.figure(aim):>9}"
        f"  {f'{low:.3f} to {high:.3f}':20}{_verdict(report, aim)}"
    )


def _verdict(report: Report, aim: Aim) -> str:
    word = {True: " reached", False: " missed", None: ""}[report.reached.get(aim.name)]
    return aim.sign + word
