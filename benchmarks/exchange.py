"""``python -m benchmarks.exchange``: what an import costs, against our own bulk write.

Responsible for items a second of an import of mem0's format beside batches that store the same
records, and for the memory that a large import takes. Leaves other calls to ``engine``. Invariants:
times are those of the processor, the two are measured in turns, and the ratio is of medians.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from statistics import median
from time import process_time
from typing import Final

import msgspec

from benchmarks.machine import commit, machine
from recollect.memory import Memory

RATIO_AIM: Final = 0.7
MEMORY_AIM_MB: Final = 300
_BATCH: Final = 1_000


class Sizes(msgspec.Struct, frozen=True):
    """How many items, how often, and how large the large file is."""

    items: int = 10_000
    rounds: int = 5
    large_mb: int = 100


FULL: Final = Sizes()
QUICK: Final = Sizes(items=1_000, rounds=2, large_mb=1)


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a run found."""

    import_items_s: float
    bulk_items_s: float
    import_ratio: float
    ratio_aim: float
    large_mb: float
    peak_memory_mb: float
    memory_aim_mb: int
    reached: bool
    items: int
    machine: dict[str, str | int]
    commit: str


def run(sizes: Sizes, folder: Path) -> Report:
    """Measures everything."""
    file = folder / "mem0.json"
    file.write_text(json.dumps({"results": list(map(_memory, range(sizes.items)))}), "utf-8")
    _import(file, folder / "warm")
    imported, bulk = [], []
    for number in range(sizes.rounds):
        bulk.append(sizes.items / _bulk(sizes.items, folder / f"bulk-{number}"))
        imported.append(sizes.items / _import(file, folder / f"import-{number}"))
    large = _large(folder / "large.json", sizes.large_mb)
    _import(large, folder / "large")
    peak = getrusage(RUSAGE_SELF).ru_maxrss / 1_024
    ratio = median(imported) / median(bulk)
    return Report(
        import_items_s=round(median(imported), 1),
        bulk_items_s=round(median(bulk), 1),
        import_ratio=round(ratio, 3),
        ratio_aim=RATIO_AIM,
        large_mb=round(large.stat().st_size / 1e6, 1),
        peak_memory_mb=round(peak, 1),
        memory_aim_mb=MEMORY_AIM_MB,
        reached=ratio >= RATIO_AIM and peak < MEMORY_AIM_MB,
        items=sizes.items,
        machine=machine(folder),
        commit=commit(),
    )


def _text(number: int) -> str:
    return f"Service {number} listens on port {number % 9_000} and belongs to team {number % 37}."


def _id(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-{number:012x}"


def _memory(number: int) -> dict[str, object]:
    return {
        "id": _id(number),
        "memory": _text(number),
        "user_id": "ada",
        "metadata": {"source": "chat"},
        "created_at": "2026-05-01T10:00:00+00:00",
    }


def _import(file: Path, workspace: Path) -> float:
    with Memory.open(workspace, embedder="none") as memory:
        began = process_time()
        done = memory.admin.import_(file, "mem0")
        taken = process_time() - began
    assert not done.refused, done
    return taken


def _bulk(count: int, workspace: Path) -> float:
    with Memory.open(workspace, embedder="none") as memory:
        agent = memory.scoped(trust="agent", user="ada")
        began = process_time()
        for first in range(0, count, _BATCH):
            with agent.batch() as batch:
                for number in range(first, min(first + _BATCH, count)):
                    batch.remember(
                        _text(number),
                        id=_id(number),
                        data={"source": "chat"},
                        said_at="2026-05-01T10:00:00+00:00",
                    )
        return process_time() - began


def _large(file: Path, size_mb: int) -> Path:
    with open(file, "w", encoding="utf-8") as out:
        out.write('{"results":[')
        number = 0
        while out.tell() < size_mb * 1_000_000:
            more = _memory(number) | {"memory": f"{_text(number)} " * 25}
            out.write(("," if number else "") + json.dumps(more))
            number += 1
        out.write("]}")
    return file


def main(arguments: list[str]) -> int:
    """Prints a report; exits with 1 if an aim was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exchange")
    parser.add_argument("--quick", action="store_true", help="small sizes, in seconds")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        found = run(QUICK if given.quick else FULL, Path(folder))
    if given.json:
        print(msgspec.json.format(msgspec.json.encode(found)).decode())
    else:
        print(f"import: {found.import_items_s:,} items/s, bulk: {found.bulk_items_s:,} items/s")
        print(f"import_ratio {found.import_ratio} (aim: {found.ratio_aim} or more)")
        print(f"{found.large_mb} MB: {found.peak_memory_mb} MB of memory at most")
    return 0 if found.reached or given.quick else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
