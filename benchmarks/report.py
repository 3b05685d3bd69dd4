"""What a run found, and whether it is what was aimed at.

Responsible for the reports' form and their tables. Leaves measuring to ``engine`` and ``postgres``,
and the page for readers to ``page``. Invariant: whether an aim is reached is computed from the
figure that stands beside it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from benchmarks.growth import Curve
from benchmarks.measures import Throughput
from benchmarks.plots import time_text
from benchmarks.timing import Paired


class Aim(NamedTuple):
    """One line of the report. A ``cost`` is the better the lower, all else the higher."""

    name: str
    what: str
    aim: float | None
    is_cost: bool = False
    mean_of: str | None = None  # the average of another line's rounds, in place of their median

    def reached(self, figure: float | None) -> bool | None:
        """None if there is no figure or no aim."""
        if figure is None or self.aim is None:
            return None
        return figure <= self.aim if self.is_cost else figure >= self.aim

    def figure(self, paired: Paired) -> float:
        """What the rounds say."""
        if self.mean_of is not None:
            return paired.mean_speed
        return paired.cost if self.is_cost else paired.speed

    @property
    def sign(self) -> str:
        """The aim for people."""
        return "" if self.aim is None else f"{'≤' if self.is_cost else '≥'} {self.aim:g}"


# Bare time over our time, unless it is a cost: then our time over bare time.
RATIOS: Final = (
    Aim("write_ratio", "one durable remember", 0.90),
    Aim("write_mean_ratio", "one durable remember, average", 0.80, mean_of="write_ratio"),
    # What it was before writes were made faster: that must not be paid by the read after them.
    Aim("write_read_ratio", "one durable remember, then a get", 0.33),
    Aim("bulk_ratio", "a durable batch, each record", 0.45),
    Aim("verify_ratio", "verify, each event", 0.17),
    Aim("verify_long_ratio", "verify, a long ledger, each event", 0.40),
    Aim("rebuild_ratio", "rebuild, each event", 0.50),
    Aim("cold_cli_ratio", "`recollect recall`, cold", 5.0, is_cost=True),
    Aim("cold_cli_local_ratio", "`recollect recall`, cold, [local]", 9.0, is_cost=True),
    Aim("hook_after_write_ratio", "prompt hook, cold, after a write", 4.0, is_cost=True),
    Aim("recall_ratio", "recall, ten hits", None),
    Aim("get_ratio", "get, one record", None),
    Aim("chat_recall_ratio", "recall, ten hits among chats", 4.0, is_cost=True),
    Aim("vector_recall_cost", "recall, text and vectors", 1.4, is_cost=True),
    Aim("unembedded_recall_cost", "recall, vectors missing", 3.0, is_cost=True),
    Aim("context_cost", "context, over recall", 1.7, is_cost=True),
)
SCALE: Final = (
    Aim("text_recall_cost_1k", "recall of 1,000, over bare", 2.0, is_cost=True),
    Aim("text_recall_cost_10k", "recall of 10,000, over bare", 2.2, is_cost=True),
    Aim("text_recall_cost_100k", "recall of 100,000, over bare", 1.8, is_cost=True),
    Aim("text_recall_cost_1m", "recall of 1,000,000, over bare", 1.1, is_cost=True),
    Aim("write_growth_ratio", "growth of a write, ours over bare", 1.25, is_cost=True),
    Aim("recall_growth_ratio", "growth of recall, ours over bare", 1.25, is_cost=True),
    Aim("open_growth", "growth of opening a memory", 2.0, is_cost=True),
    Aim("group_commit_gain_8_threads", "eight threads over one, writes", 1.5),
    Aim("rss_mb_rebuild_1m", "peak memory of a rebuild, MB", 300, is_cost=True),
)
AIMS: Final = (*RATIOS, *SCALE)
# On a server, against psycopg that keeps a ledger alone, or against the same memory in files.
SERVED: Final = (
    Aim("remember_ratio", "one durable remember", 0.6),
    Aim("bulk_ratio", "a batch of 1,000, each record", 1.0),
    Aim("spaces_growth", "the slowest call, 1,000,000 spaces over 100", 1.2, is_cost=True),
    Aim("wake_cost_40", "waking a space of 40 events, over bare", 2.0, is_cost=True),
    Aim("wake_cost_1000", "waking a space of 1,000 events, over bare", 2.0, is_cost=True),
    Aim("wake_cost_10000", "waking a space of 10,000 events, over bare", 2.0, is_cost=True),
    Aim("wake_folded_cost", "waking without a snapshot, over a rebuild", 1.2, is_cost=True),
    Aim("awake_kb", "memory of an awake space of 40 events, KB", 250, is_cost=True),
    Aim("recall_over_files", "recall among 50,000 records, over files", 1.15, is_cost=True),
    Aim("context_over_files", "context among 50,000 records, over files", 1.15, is_cost=True),
    Aim("recall_ms", "recall among 50,000 records, ms", None, is_cost=True),
    Aim("room_over_ledger", "room of 50,000 records, over their ledger", 1.6, is_cost=True),
    Aim("room_alone_over_ledger", "the same without its snapshot", 1.15, is_cost=True),
)
# The recall that is measured at a size, by its figure.
TEXT_RECALLS: Final = {
    1_000: "text_recall_cost_1k",
    10_000: "text_recall_cost_10k",
    100_000: "text_recall_cost_100k",
    1_000_000: "text_recall_cost_1m",
}


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """What a run on a server found. Ratios and costs as in ``Report``."""

    remember_ratio: float | None
    bulk_ratio: float | None
    spaces_growth: float | None
    wake_cost_40: float | None
    wake_cost_1000: float | None
    wake_cost_10000: float | None
    wake_folded_cost: float | None  # at the largest of these sizes
    awake_kb: float | None
    recall_over_files: float | None
    context_over_files: float | None
    recall_ms: float | None
    room_over_ledger: float | None
    room_alone_over_ledger: float | None
    aims: dict[str, str]
    reached: dict[str, bool | None]
    medians_us: dict[str, dict[str, float]]
    measured_at: dict[str, int]
    server: str
    machine: dict[str, str | int]

    def figure(self, aim: Aim) -> float | None:
        """The figure that an aim is about."""
        found: float | None = getattr(self, aim.name)
        return found


class Report(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a run found. A figure is None if it was skipped; ``skipped`` says why.

    Ratios are bare time over our time, so 1.0 is as fast as bare and higher is better; costs are
    our time over bare time: ``cold_cli_ratio``, ``cold_cli_local_ratio``,
    ``hook_after_write_ratio``, ``chat_recall_ratio`` and all whose name has ``cost``. What
    ``context_cost`` is over is recall, and ``unembedded_recall_cost`` recall by text alone. Growth
    is from the first of ``sizes`` to the last: our factor over the bare engine's, and for
    ``open_growth`` our factor alone. The memory of a rebuild is that of the last of ``sizes``.
    Those without an aim are for information. ``measured_at`` has the size of the memory for every
    figure that depends on it.
    """

    write_ratio: float | None
    write_mean_ratio: float | None
    write_read_ratio: float | None
    bulk_ratio: float | None
    verify_ratio: float | None
    verify_long_ratio: float | None
    rebuild_ratio: float | None
    cold_cli_ratio: float | None
    cold_cli_local_ratio: float | None
    hook_after_write_ratio: float | None
    recall_ratio: float | None
    get_ratio: float | None
    chat_recall_ratio: float | None
    vector_recall_cost: float | None
    unembedded_recall_cost: float | None
    context_cost: float | None
    text_recall_cost_1k: float | None
    text_recall_cost_10k: float | None
    text_recall_cost_100k: float | None
    text_recall_cost_1m: float | None
    write_growth_ratio: float | None
    recall_growth_ratio: float | None
    open_growth: float | None
    group_commit_gain_8_threads: float | None
    rss_mb_rebuild_1m: float | None
    aims: dict[str, float]
    reached: dict[str, bool | None]
    quartiles: dict[str, tuple[float, float]]
    medians_us: dict[str, dict[str, float]]  # of a mean's line, the averages
    clocks: dict[str, str]
    rounds: dict[str, int]
    measured_at: dict[str, int]
    sizes: tuple[int, ...]
    growth: dict[str, Curve]
    group: Throughput | None
    machine: dict[str, str | int]
    commit: str
    skipped: dict[str, str] = {}
    postgres: Served | None = None

    def figure(self, aim: Aim) -> float | None:
        """The figure that an aim is about."""
        found: float | None = getattr(self, aim.name)
        return found


def table(report: Report) -> str:
    """The report for people."""
    head = f"{'':36}{'bare':>14}{'ours':>14}{'ratio':>9}  {'half of all rounds':20}{'clock':9}aim"
    lines = [head, *(_line(report, aim) for aim in RATIOS)]
    small, large = report.sizes[0], report.sizes[-1]
    lines += ["", f"from {small:,} records to {large:,}"]
    lines += [_scale(report.figure(aim), aim) for aim in SCALE if report.figure(aim) is not None]
    lines += ["", f"{'typical, µs':36}" + "".join(f"{size:>18,}" for size in report.sizes)]
    for name, curve in report.growth.items():
        for side, us in (("bare", curve.bare_us), ("ours", curve.ours_us)):
            lines.append(f"{f'{name}, {side}':36}" + "".join(f"{each:>18,.1f}" for each in us))
    if report.postgres is not None:
        lines += ["", *served_lines(report.postgres)]
    elif "postgres" in report.skipped:
        lines += ["", f"PostgreSQL skipped: {report.skipped['postgres']}"]
    facts = ", ".join(f"{name} {value}" for name, value in report.machine.items())
    return "\n".join([*lines, "", facts])


def served_lines(found: Served) -> list[str]:
    """The report about a server for people."""
    figures = [(aim, found.figure(aim)) for aim in SERVED]
    return [
        f"PostgreSQL {found.server}",
        *(_scale(figure, aim) for aim, figure in figures if figure is not None),
    ]


def _scale(figure: float | None, aim: Aim) -> str:
    return f"{aim.what:50}{'':14}{figure:>9}  {'':29}{aim.sign}{_word(aim.reached(figure))}"


def _line(report: Report, aim: Aim) -> str:
    if aim.name in report.skipped:
        return f"{aim.what:36}skipped: {report.skipped[aim.name]}"
    us = report.medians_us[aim.name]
    spread = " to ".join(f"{each:.3f}" for each in report.quartiles.get(aim.name, ()))
    return (
        f"{aim.what:36}{time_text(us['bare']):>14}{time_text(us['ours']):>14}{report.figure(aim):>9}"
        f"  {spread:20}{report.clocks[aim.name]:9}"
        f"{aim.sign}{_word(report.reached.get(aim.name))}"
    )


def _word(reached: bool | None) -> str:
    return {True: " reached", False: " missed", None: ""}[reached]
