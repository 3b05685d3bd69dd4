"""``python -m benchmarks.pages``: what one change costs in a memory with many pages.

Responsible for a write with its rendering among few and many other entries, for reading one hand
edit back from 1,000 pages, and for what ``git diff`` shows after one change. Leaves other calls to
``engine``. Invariants: times are those of the processor, medians of several rounds, and sizes that
are compared are measured in turns.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import process_time
from typing import Final

import msgspec

from benchmarks.machine import commit, machine
from recollect.memory import Memory
from recollect.mirror.parse import parse

APPEND_AIM: Final = 1.2
DIFF_AIM: Final = 3  # lines: of the entry, and when and at which position the page was changed
_BATCH: Final = 1_000


class Sizes(msgspec.Struct, frozen=True):
    """How many entries and pages."""

    few: int = 100
    many: int = 10_000
    pages: int = 100  # that the few and the many are on
    edited_pages: int = 1_000
    rounds: int = 25


FULL: Final = Sizes()
QUICK: Final = Sizes(few=20, many=60, pages=10, edited_pages=20, rounds=3)


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a run found."""

    page_append_ms_few: float  # one write and its rendering
    page_append_ms_many: float
    page_append_ratio: float
    append_aim: float
    page_append_ms_1000_pages: float
    full_render_ms_many: float  # into an empty folder
    status_ms_1000_pages: float  # of a folder in which nothing changed
    sync_ms_1000_pages: float  # one hand edit is read back and rendered
    sync_ratio: float  # to reading and parsing the file alone
    diff_lines: int  # that ``git diff`` adds to a page when one record changes
    diff_files: int
    diff_aim: int
    reached: bool
    few: int
    many: int
    pages: int
    edited_pages: int
    machine: dict[str, str | int]
    commit: str


def run(sizes: Sizes, folder: Path) -> Report:
    """Measures everything."""
    few, many = (
        filled(folder / f"{name}-entries", count, sizes.pages)
        for name, count in (("few", sizes.few), ("many", sizes.many))
    )
    few_ms, many_ms = _in_turns(sizes.rounds, lambda: _append(few), lambda: _append(many))
    began = process_time()
    many.pages.render(folder / "fresh")
    full_ms = 1_000 * (process_time() - began)
    wide = filled(folder / "wide", sizes.edited_pages, sizes.edited_pages)
    (wide_ms,) = _in_turns(sizes.rounds, lambda: _append(wide))
    (status_ms,) = _in_turns(sizes.rounds, wide.pages.status)
    sync_ms, bare_ms = _synced(wide, sizes)
    lines, files = _diff(few, folder / "git")
    for memory in (few, many, wide):
        memory.close()
    ratio = many_ms / few_ms
    return Report(
        page_append_ms_few=round(few_ms, 3),
        page_append_ms_many=round(many_ms, 3),
        page_append_ratio=round(ratio, 3),
        append_aim=APPEND_AIM,
        page_append_ms_1000_pages=round(wide_ms, 3),
        full_render_ms_many=round(full_ms, 1),
        status_ms_1000_pages=round(status_ms, 3),
        sync_ms_1000_pages=round(sync_ms, 3),
        sync_ratio=round(sync_ms / bare_ms, 1),
        diff_lines=lines,
        diff_files=files,
        diff_aim=DIFF_AIM,
        reached=ratio <= APPEND_AIM and lines <= DIFF_AIM,
        few=sizes.few,
        many=sizes.many,
        pages=sizes.pages,
        edited_pages=sizes.edited_pages,
        machine=machine(folder),
        commit=commit(),
    )


def filled(workspace: Path, count: int, pages: int) -> Memory:
    """A memory with so many entries on so many pages, rendered."""
    memory = Memory.open(workspace, embedder="none")
    for first in range(0, count, _BATCH):
        with memory.batch() as batch:
            for number in range(first, min(first + _BATCH, count)):
                text = f"Gate {number} opens at {number % 24} o'clock, and closes after dark."
                batch.remember(text, about=f"project:Harbour {number % pages}")
    memory.pages.render()
    return memory


def _append(memory: Memory) -> None:
    memory.remember(f"Said at position {memory.events.position}.", about="person:Alice")
    memory.pages.render()


def _in_turns(rounds: int, *calls: Callable[[], object]) -> list[float]:
    """The median of each in milliseconds of the processor, after one round to warm up."""
    taken: list[list[float]] = [[] for _ in calls]
    for number in range(rounds + 1):
        for call, times in zip(calls, taken, strict=True):
            began = process_time()
            call()
            if number:
                times.append(1_000 * (process_time() - began))
    return [median(times) for times in taken]


def _synced(memory: Memory, sizes: Sizes) -> tuple[float, float]:
    """One hand edit among many pages is read back; and its file is only read and parsed."""
    folder, taken, bare = Path(memory.where) / "pages", list[float](), list[float]()
    memory.pages.render()
    for number in range(sizes.rounds):
        page = folder / f"project-harbour-{number % sizes.edited_pages}.md"
        page.write_text(page.read_text("utf-8").replace("Gate ", f"{number} Gate "), "utf-8")
        began = process_time()
        parse(page.stem, page.read_text("utf-8"))
        read = process_time()
        done = memory.pages.sync()
        taken.append(1_000 * (process_time() - read))
        bare.append(1_000 * (read - began))
        assert len(done.applied) == 1, done
    return median(taken), median(bare)


def _diff(memory: Memory, folder: Path) -> tuple[int, int]:
    """How many lines ``git diff`` adds after one change, and in how many files."""
    memory.pages.render(folder)
    git = ("git", "-C", str(folder), "-c", "user.name=x", "-c", "user.email=x@localhost")
    for command in (("init", "-q"), ("add", "*.md"), ("commit", "-qm", "pages")):
        subprocess.run((*git, *command), check=True, timeout=60)
    memory.revise(memory.list(limit=1)[0].id, text="It opens at noon.")
    memory.pages.render(folder)
    counts = subprocess.run(
        (*git, "diff", "--numstat"), check=True, timeout=60, stdout=subprocess.PIPE, text=True
    ).stdout.splitlines()
    pages = [line for line in counts if not line.endswith("index.md")]
    return sum(int(line.split()[0]) for line in pages), len(pages)


def table(report: Report) -> str:
    """The figures for people."""
    return "\n".join(
        [
            "| other entries | one write and its rendering |\n|---|---|",
            f"| {report.few:,} | {report.page_append_ms_few} ms |",
            f"| {report.many:,} | {report.page_append_ms_many} ms |\n",
            f"ratio {report.page_append_ratio} (aim {report.append_aim} or less); with "
            f"{report.edited_pages:,} pages {report.page_append_ms_1000_pages} ms; one hand edit "
            f"of {report.edited_pages:,} pages read back in {report.sync_ms_1000_pages} ms; "
            f"git diff shows {report.diff_lines} new lines (aim {report.diff_aim})",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        report = run(QUICK if given.quick else FULL, Path(folder))
    if given.json:
        print(json.dumps(msgspec.to_builtins(report), indent=2))
    else:
        print(table(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
