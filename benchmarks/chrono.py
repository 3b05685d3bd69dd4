"""``python -m benchmarks.chrono``: the three measurements that were made of chronomemory 0.1.1.

Responsible for writes a second while a store grows, for four kinds of tampering, and for two
processes that write at once. Leaves other figures to ``engine``. Invariants: every write is an
upsert of its own, durable when it returns; a store is found valid before it is tampered with.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

import msgspec

from benchmarks.machine import commit, machine
from recollect.contracts.chrono import ChronoRecord, ChronoStore
from recollect.ledger.scan import scan
from recollect.store.disk.layout import LEDGER, SNAPSHOT

FOLDER: Final = ".chronomemory"
_WRITER: Final = """
import sys
from recollect.contracts.chrono import ChronoRecord, ChronoStore
project, name, count = sys.argv[1:]
with ChronoStore(project) as store:
    for number in range(int(count)):
        store.upsert(ChronoRecord(id=f"{name}-{number}", label=f"{name} wrote {number}"))
"""


class Sizes(msgspec.Struct, frozen=True):
    """How many writes in each step, how many steps, and how many writes of each process."""

    step: int = 200
    steps: int = 5
    each: int = 200


FULL: Final = Sizes()
QUICK: Final = Sizes(step=20, steps=2, each=10)


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a run found."""

    records: tuple[int, ...]  # in the store after each step
    writes_per_s: tuple[float, ...]  # of each step: one over the median write
    last_to_first: float
    tampering: dict[str, bool]  # each kind, and whether chain_valid() found it
    found: int
    kinds: int
    kept: int
    written: int
    machine: dict[str, str | int]
    commit: str


def run(sizes: Sizes, folder: Path) -> Report:
    """Measures everything."""
    rates = _rates(sizes, _project(folder, "growing"))
    tampering = {name: is_found(_project(folder, name), act) for name, act in TAMPERING.items()}
    return Report(
        records=tuple(sizes.step * number for number in range(1, sizes.steps + 1)),
        writes_per_s=tuple(round(rate, 1) for rate in rates),
        last_to_first=round(rates[-1] / rates[0], 2),
        tampering=tampering,
        found=sum(tampering.values()),
        kinds=len(tampering),
        kept=_kept(sizes, _project(folder, "two")),
        written=2 * sizes.each,
        machine=machine(folder),
        commit=commit(),
    )


def _project(folder: Path, name: str) -> Path:
    made = folder / name
    made.mkdir()
    return made


def _record(number: int) -> ChronoRecord:
    label = f"Gate {number} opens at noon, and closes after dark."
    return ChronoRecord(id=f"FACT-{number:06}", label=label, evidence=["the plan", f"p. {number}"])


def _rates(sizes: Sizes, project: Path) -> list[float]:
    """Writes a second in each step; a median, so that a pause of the machine does not count."""
    rates = []
    with ChronoStore(project) as store:
        store.upsert(ChronoRecord(id="first", label="what a first write loads is loaded"))
        for step in range(sizes.steps):
            times = []
            for number in range(step * sizes.step, (step + 1) * sizes.step):
                record = _record(number)
                began = perf_counter()
                store.upsert(record)
                times.append(perf_counter() - began)
            rates.append(1 / median(times))
    return rates


# Four kinds of tampering that chronomemory 0.1.1 does not find.


def _rewrite_the_chain(home: Path) -> None:
    """Another log with as many events, whose chain holds."""
    with tempfile.TemporaryDirectory() as forged:
        _fill(Path(forged), "not what was written")
        (home / LEDGER).write_bytes((Path(forged) / FOLDER / LEDGER).read_bytes())


def _cut_the_tail(home: Path) -> None:
    raw = (home / LEDGER).read_bytes()
    os.truncate(home / LEDGER, list(scan([raw]))[-2].end)


def _edit_the_snapshot(home: Path) -> None:
    path = home / SNAPSHOT
    path.write_text(path.read_text().replace("Gate 3", "Gate 4"))


def _empty_the_file(home: Path) -> None:
    os.truncate(home / LEDGER, 0)


TAMPERING: Final[dict[str, Callable[[Path], None]]] = {
    "a rewritten chain": _rewrite_the_chain,
    "a cut tail": _cut_the_tail,
    "an edited snapshot": _edit_the_snapshot,
    "an emptied file": _empty_the_file,
}


def _fill(project: Path, said: str | None = None) -> None:
    with ChronoStore(project) as store:
        for number in range(10):
            record = _record(number)
            record.label = said or record.label
            store.upsert(record)
        store.snapshot()


def is_found(project: Path, tamper: Callable[[Path], None]) -> bool:
    _fill(project)
    with ChronoStore(project) as store:
        if not store.chain_valid():
            raise AssertionError("a store that nobody touched is found invalid")
    tamper(project / FOLDER)
    with ChronoStore(project) as store:
        return not store.chain_valid()


def _kept(sizes: Sizes, project: Path) -> int:
    """How many records are there after two processes wrote at once."""
    command = [sys.executable, "-c", _WRITER, str(project)]
    writers = [subprocess.Popen([*command, name, str(sizes.each)]) for name in ("one", "two")]
    if [writer.wait() for writer in writers] != [0, 0]:
        raise AssertionError("a writer failed, so there is nothing to count")
    with ChronoStore(project) as store:
        return len(store.query()) if store.chain_valid() else 0


def table(report: Report) -> str:
    """The figures for people."""
    rates = ", ".join(
        f"{rate:,.0f} up to {count:,}"
        for rate, count in zip(report.writes_per_s, report.records, strict=True)
    )
    missed = [name for name, is_found in report.tampering.items() if not is_found]
    return "\n".join(
        [
            f"writes a second: {rates} records; last to first {report.last_to_first}",
            f"tampering found: {report.found} of {report.kinds}"
            + (f"; not {', '.join(missed)}" if missed else ""),
            f"kept with two writing processes: {report.kept} of {report.written}",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the figures; 1 if something was lost, or tampering was not found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chrono")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        report = run(QUICK if given.quick else FULL, Path(folder))
    if given.json:
        print(json.dumps(msgspec.to_builtins(report), indent=2))
    else:
        print(table(report))
    is_whole = (report.found, report.kept) == (report.kinds, report.written)
    return 0 if is_whole else 1


if __name__ == "__main__":
    sys.exit(main())
