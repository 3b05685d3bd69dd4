"""The page that a person reads: ``docs/reference/benchmarks.md`` and its plots.

Responsible for describing the results of a run. Leaves measuring to ``engine`` and drawing to
``plots``. Invariant: every figure comes from the report, or from the one about peers; the text
claims nothing that the figures do not show.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from benchmarks import plots
from benchmarks.measures import Throughput
from benchmarks.peers import Comparison
from benchmarks.report import RATIOS, SCALE, SERVED, Aim, Report, Served

PAGE: Final = "benchmarks.md"
REPORT: Final = "benchmarks.json"
PEERS: Final = "peers.json"
_PLOTS: Final = "plots"
_JOURNALS: Final = {"yes": "with a journal", "no": "without a journal"}
_THREADS_TITLE: Final = "Durable writes by threads that share one memory"
# In the order of the page.
_WHAT: Final = {
    "write": "One durable write",
    "write_cpu": "One durable write, processor time without the wait for the disk",
    "recall": "Recall, ten hits for three words",
    "open": "Opening a memory and reading one record",
    "list": "A page of 100 records, anywhere in the list",
    "past": "One record as it was at an earlier position",
}

_METHOD: Final = """\
**What is compared.** Ours is the public call. *Bare* is Python's `sqlite3` doing what SQLite has to
do for the same call and nothing else: the same rows, prepared beforehand, in the same schema, with
`synchronous = FULL`. For `verify` it is SHA-256 over the lines, for `rebuild` decoding the lines
and writing the finished rows, for recall the full text query for ten hits and their rows, for the
cold command line and the hook a Python process that imports `sqlite3` and asks that query. With
vectors, bare adds one numpy product over the same rows. Two lines compare Recollect with itself:
`context` with `recall`, and recall while vectors are missing with recall by text alone.
Before anything is timed, the run checks that both sides leave the same rows in every table.

**Which memories.** A memory has no embedder (`embedder="none"`) unless its line is about vectors;
then all of its vectors are there before it is timed, except in the line about missing ones. The
cold command line is measured for the base install and for `recollect[local]`. Chats are episodes of
two sides in sessions of equal length.

**How it is timed.** Both sides take turns in short rounds, the order changing from round to round;
a ratio is taken in each round, and the figure is the median over all rounds. A disturbance of the
machine that lasts longer than a round affects both sides alike. A line that is called an average is
the bare side's whole time over ours: it has the writes at which full text merges or SQLite moves
its log into the file, which a median leaves out. Absolute times differ between machines: compare
ratios.

**Which clock.** *wall* is what a caller waits for: the disk, another process, a server. *thread* is
the processor time of the calling thread, for reads, which wait for nothing. *process* is the
processor time of all threads and child processes, for work that may be split. Other programs on the
machine hardly change the last two. On a machine whose processors are all busy, a line by the wall
clock moves towards 1, because both sides also wait for their turn.

**What the bare side does not do.** It has no ledger and no hash chain, it does not validate its
input or decide whether a sentence is new, and it can be neither verified nor rebuilt. The
difference in time pays for that. On the other hand, our side syncs the ledger, where SQLite syncs
its own log. On a file system with a journal, a file that grows costs more to sync than a log that
is written over and over.
"""


def write(report: Report, folder: Path) -> None:
    """The page, its plots and the report itself, below a folder of the documentation."""
    drawn = folder / _PLOTS
    drawn.mkdir(parents=True, exist_ok=True)
    for name, picture in pictures(report).items():
        (drawn / name).write_text(picture, "utf-8")
    peers = folder / PEERS
    known = msgspec.json.decode(peers.read_bytes(), type=Comparison) if peers.exists() else None
    (folder / PAGE).write_text(text(report, known), "utf-8")
    kept = msgspec.json.format(msgspec.json.encode(report), indent=2)
    (folder / REPORT).write_bytes(kept + b"\n")


def pictures(report: Report) -> dict[str, str]:
    """Every plot by its file's name."""
    made = {
        f"{name}.svg": plots.lines(
            _WHAT[name],
            curve.records,
            (
                plots.Line("Recollect", "ours", curve.ours_us),
                plots.Line("bare SQLite", "bare", curve.bare_us),
            ),
        )
        for name, curve in report.growth.items()
    }
    group = report.group
    if group is None:
        return made
    made["threads.svg"] = plots.bars(
        _THREADS_TITLE,
        [_threads(count) for count in group.threads],
        group.writes_per_s,
        [
            f"{speed:,.0f} a second" + (f", {gain:.1f}×" if count > 1 else "")
            for count, speed, gain in zip(
                group.threads, group.writes_per_s, group.gain, strict=True
            )
        ],
    )
    return made


def text(report: Report, peers: Comparison | None) -> str:
    """The whole page."""
    sections = [
        _opening(report),
        "## How\n\n" + _METHOD,
        "## Against the bare engine\n\n" + _ratios(report),
        "## Cost against size\n\n" + _growth(report),
    ]
    if report.group is not None:
        sections.append("## Threads\n\n" + _together(report.group))
    if report.postgres is not None:
        sections.append("## PostgreSQL\n\n" + _served(report.postgres))
    elif "postgres" in report.skipped:
        sections.append(f"## PostgreSQL\n\nSkipped: {report.skipped['postgres']}.\n")
    if peers is not None:
        sections.append("## Beside other memories\n\n" + _peers(peers))
    return "\n".join(sections)


def _opening(report: Report) -> str:
    facts = report.machine
    verdicts = {aim.what: report.reached.get(aim.name) for aim in (*RATIOS, *SCALE)}
    if report.postgres is not None:
        reached = report.postgres.reached
        verdicts |= {f"{aim.what} (PostgreSQL)": reached.get(aim.name) for aim in SERVED}
    missed = [what for what, reached in verdicts.items() if reached is False]
    count = sum(reached is not None for reached in verdicts.values())
    verdict = (
        "Every aim is reached."
        if not missed
        else f"{len(missed)} of {count} aims are missed: {'; '.join(missed)}."
    )
    journal = _JOURNALS.get(str(facts.get("journal")), "journal unknown")
    return f"""\
# Benchmarks

`make bench` wrote this page; no number was typed by hand. {verdict}

| | |
|---|---|
| commit | `{report.commit}` |
| processor | {facts["cpu_count"]} cores, {facts["system"]} |
| memory | {facts["memory_gb"]} GB |
| file system | {facts["file_system"]}, {journal} |
| load before the run | {facts.get("load", "unknown")} |
| Python | {facts["python"]} |
| SQLite | {facts["sqlite"]} |
"""


def _ratios(report: Report) -> str:
    rows = [
        (
            aim.what,
            *(plots.time_text(report.medians_us[aim.name][side]) for side in ("bare", "ours")),
            _ratio(report.figure(aim), aim),
            " to ".join(f"{each:.2f}" for each in report.quartiles.get(aim.name, ())),
            report.clocks[aim.name],
            aim.sign,
            _word(report.reached.get(aim.name)),
        )
        for aim in RATIOS
        if report.figure(aim) is not None
    ]
    skipped = [
        f"Skipped: {aim.what}: {report.skipped[aim.name]}.\n"
        for aim in RATIOS
        if aim.name in report.skipped
    ]
    return (
        "The ratio is bare time over our time: 1 is as fast as bare, higher is better. With × it "
        "is our time over bare time, lower is better.\n\n"
        + _table(("work", "bare", "ours", "ratio", "half of all rounds", "clock", "aim", ""), rows)
        + "".join(f"\n{line}" for line in skipped)
    )


def _growth(report: Report) -> str:
    small, large = report.sizes[0], report.sizes[-1]
    scale = [_found(aim, report.figure(aim)) for aim in SCALE if report.figure(aim) is not None]
    rows = [
        (
            _WHAT[name],
            side,
            *map(plots.time_text, typical),
            plots.time_text(mean[-1]),
            f"{growth:.3g}×",
            curve.clock,
        )
        for name, curve in ((name, report.growth[name]) for name in _WHAT)
        for side, typical, mean, growth in (
            ("bare", curve.bare_us, curve.bare_mean_us, curve.bare_growth),
            ("ours", curve.ours_us, curve.ours_mean_us, curve.ours_growth),
        )
    ]
    head = ("work", "side", *(f"{size:,}" for size in report.sizes))
    shown = "\n\n".join(f"![{_WHAT[name]}]({_PLOTS}/{name}.svg)" for name in _WHAT)
    return (
        f"Workspaces of {'; '.join(f'{size:,}' for size in report.sizes)} records, all measured "
        f"in the same rounds. Growth is from {small:,} to {large:,}.\n\n"
        + _table(("figure", "found", "aim", ""), scale)
        + f"\nMedians, and for {large:,} records also the average, which includes the writes at "
        "which full text merges and SQLite moves its log into the file.\n\n"
        + _table((*head, f"average at {large:,}", "growth", "clock"), rows)
        + f"\n{shown}\n"
    )


def _together(group: Throughput) -> str:
    gains = zip(group.threads, group.gain, strict=True)
    said = ", ".join(f"{_threads(n)} {gain:.2f} times" for n, gain in gains if n > 1)
    return (
        "Threads that write at the same time share one append and one fsync. Measured in the same "
        f"rounds as one thread: {said}.\n\n"
        f"![{_THREADS_TITLE}]({_PLOTS}/threads.svg)\n"
    )


def _served(found: Served) -> str:
    rows = [_found(aim, found.figure(aim)) for aim in SERVED if found.figure(aim) is not None]
    return (
        f"PostgreSQL {found.server} on the same machine, over a socket; clock: wall. *Bare* is "
        "psycopg as the superuser, writing the same events into a table of the same shape. Reads "
        "are compared with the same memory in files. The questions are those asked of SQLite.\n\n"
        + _table(("figure", "found", "aim", ""), rows)
    )


def _found(aim: Aim, figure: float | None) -> tuple[str, str, str, str]:
    return aim.what, _ratio(figure, aim), aim.sign, _word(aim.reached(figure))


def _peers(found: Comparison) -> str:
    head = ("memory", "version", *(f"{n:,} records" for n in found.records))
    writes = [
        (each.name, each.version, *_filled(map(_rate, each.writes_per_s), found))
        for each in found.peers
        if not each.reason
    ]
    recalls = [
        (each.name, each.version, *_filled(map(plots.time_text, each.recall_us), found))
        for each in found.peers
        if not each.reason
    ]
    failed = [f"- {each.name}: {each.reason}\n" for each in found.peers if each.reason]
    return (
        f"Taken on {found.date} with `python -m benchmarks.peers`: the same sentences, written one "
        "by one, then the same questions, each package in its own environment, in turns on "
        "the same disk. Packages do different work for a write: the table says how long a caller "
        "waits, not for what. The script uses their public APIs and changes only settings "
        "that it names; a size that a package did not reach in time is left empty.\n\n"
        "Writes a second while the memory grows to this size:\n\n"
        + _table(head, writes)
        + "\nOne recall at this size, ten hits:\n\n"
        + _table(head, recalls)
        + "".join(f"\n{each.name}: {each.note}.\n" for each in found.peers if each.note)
        + ("\nNot measured:\n\n" + "".join(failed) if failed else "")
    )


def _filled(cells: Iterable[str], found: Comparison) -> list[str]:
    """A row to its end; a size that a package did not reach in time stays empty."""
    there = list(cells)
    return there + ["–"] * (len(found.records) - len(there))


def _rate(per_s: float) -> str:
    return f"{per_s:,.0f}" if per_s >= 10 else f"{per_s:.1f}"


def _threads(count: int) -> str:
    return f"{count} thread{'s' if count > 1 else ''}"


def _ratio(figure: float | None, aim: Aim) -> str:
    if figure is None:
        return ""
    if aim.what.endswith((" MB", " ms")):
        return f"{figure:.3g}"
    return f"{figure:.2f} ×" if aim.is_cost else f"{figure:.2f}"


def _word(reached: bool | None) -> str:
    return {True: "reached", False: "**missed**", None: ""}[reached]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command: the page from a report that was kept."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.page",
        description="Write the page from what `python -m benchmarks.engine --json` printed.",
    )
    parser.add_argument("report", type=Path)
    parser.add_argument("folder", type=Path)
    chosen = parser.parse_args(arguments)
    write(msgspec.json.decode(chosen.report.read_bytes(), type=Report), chosen.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
