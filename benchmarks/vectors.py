"""``python -m benchmarks.vectors``: exact search, from ten thousand rows to a million.

Responsible for the curve that would ask for an approximate index, beside a bare product of the
same numbers: one numpy matrix in memory, one query, the ten largest. *Ours* is the search of a
workspace: mapped rows, the best piece of each text, scores in double precision, everybody accepted;
and once with nine texts in ten refused. A million rows only with ``--full``, and only if they fit.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmarks.machine import machine
from benchmarks.timing import in_turns
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.store.files.backend import FileBackend
from recollect.store.port import Vectors

Matrix = NDArray[np.float32]

DIMENSIONS: Final = 256
BEST: Final = 10
SIZES: Final = (10_000, 100_000)
FULL: Final = 1_000_000
_BLOCK: Final = 10_000
_ROOM: Final = 4  # times the rows' bytes: the file, its pages, the bare matrix, and some air


class Figure(msgspec.Struct, frozen=True):
    """One size: milliseconds, and our time in the bare product's."""

    rows: int
    bare_p50_ms: float
    bare_p99_ms: float
    ours_p50_ms: float
    ours_p99_ms: float
    ratio: float
    refusing_p50_ms: float
    open_ms: float


class Skipped(msgspec.Struct, frozen=True):
    """A size that was not measured, and why."""

    rows: int
    why: str


def measure(
    folder: Path, count: int, rounds: int, dimensions: int = DIMENSIONS
) -> Figure | Skipped:
    """The figures of one size."""
    need = _ROOM * count * 4 * dimensions
    if need > min(free_bytes(), shutil.disk_usage(folder).free):
        return Skipped(count, f"needs about {need >> 20:,} MiB of memory and of disk")
    backend = FileBackend(folder / f"of-{count}")
    space = backend.space("main", create=True)
    Memory(Handle(space)).observe("one text, so that there is a history")
    bare = fill(space.vectors("random", dimensions), count, dimensions)
    queries = unit(np.random.default_rng(2), rounds + 1, dimensions)
    found = space.vectors("random", dimensions)
    fresh = FileBackend(folder / f"of-{count}").space("main", create=False)
    opened = timed(lambda: fresh.vectors("random", dimensions).through())
    paired = in_turns(
        bare=lambda n: top(bare, queries[n]),
        ours=lambda n: found.best(queries[n], BEST, set),
        rounds=rounds,
        operations=1,
    )
    refusing = [timed(partial(found.best, query, BEST, tenth)) for query in queries[:rounds]]
    check(found, bare, queries[0])
    backend.close()
    fresh.close()
    shutil.rmtree(folder / f"of-{count}")
    return Figure(
        count,
        *percentiles(paired.bare_s),
        *percentiles(paired.ours_s),
        round(paired.cost, 2),
        percentiles(refusing)[0],
        round(opened * 1e3, 2),
    )


def fill(vectors: Vectors, count: int, dimensions: int) -> Matrix:
    """The same rows in a workspace and in one matrix; three rows make a text."""
    rng = np.random.default_rng(1)
    whole: Matrix = np.empty((count, dimensions), np.float32)
    for start in range(0, count, _BLOCK):
        block = unit(rng, min(_BLOCK, count - start), dimensions)
        whole[start : start + len(block)] = block
        texts = [(start + n + 1, block[n : n + 3]) for n in range(0, len(block), 3)]
        vectors.add(start, start + len(block), texts)
    return whole


def unit(rng: np.random.Generator, count: int, dimensions: int) -> Matrix:
    rows: Matrix = rng.standard_normal((count, dimensions), np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def top(rows: Matrix, query: Matrix) -> NDArray[np.intp]:
    """The bare engine: one product, the ten largest."""
    scores = rows @ query
    places = np.argpartition(scores, -BEST)[-BEST:]
    return places[np.argsort(-scores[places])]


def tenth(seqs: Sequence[int]) -> set[int]:
    """Nine texts in ten are refused."""
    return {seq for seq in seqs if seq % 10 == 1}


def check(vectors: Vectors, bare: Matrix, query: Matrix) -> None:
    """Both sides found the same."""
    wanted = [int(place) for place in top(bare, query)[:3]]
    block = [place // _BLOCK * _BLOCK for place in wanted]
    texts = [b + (place - b) // 3 * 3 + 1 for place, b in zip(wanted, block, strict=True)]
    found = [seq for seq, _ in vectors.best(query, BEST, set)]
    if found[0] != texts[0]:
        raise AssertionError(f"found {found[:3]}, and the bare product {texts}")


def timed(work: Callable[[], object]) -> float:
    started = perf_counter()
    work()
    return perf_counter() - started


def percentiles(seconds: Sequence[float]) -> tuple[float, float]:
    """The middle and the 99th of a hundred, in milliseconds."""
    ordered = sorted(seconds)
    last = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    return round(median(ordered) * 1e3, 2), round(last * 1e3, 2)


def free_bytes() -> int:
    """How much memory could be had."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


def lines(figures: Sequence[Figure | Skipped]) -> Iterator[str]:
    yield "rows        bare p50   p99    ours p50   p99    ratio   refusing 9 in 10   open"
    for each in figures:
        if isinstance(each, Skipped):
            yield f"{each.rows:>9,}   skipped: {each.why}"
        else:
            yield (
                f"{each.rows:>9,}   {each.bare_p50_ms:>7} {each.bare_p99_ms:>7}   "
                f"{each.ours_p50_ms:>7} {each.ours_p99_ms:>7}   {each.ratio:>5}   "
                f"{each.refusing_p50_ms:>9} ms   {each.open_ms:>7} ms"
            )


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vectors", description=__doc__)
    parser.add_argument("--full", action="store_true", help="a million rows as well")
    parser.add_argument("--quick", action="store_true", help="a thousand rows alone")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--folder", type=Path, help="where the workspaces are made")
    given = parser.parse_args(words)
    sizes = (1_000,) if given.quick else (*SIZES, *((FULL,) if given.full else ()))
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        figures = [measure(Path(folder), size, given.rounds) for size in sizes]
        about = machine(Path(folder))
    if given.json:
        print(msgspec.json.encode({"machine": about, "figures": figures}).decode())
        return
    print(about)
    print("\n".join(lines(figures)))


if __name__ == "__main__":
    main(sys.argv[1:])
