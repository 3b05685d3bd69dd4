"""``python -m benchmarks.latency``: how long an answer takes, beside the bare engines.

Responsible for recall and context with static vectors, at several sizes of one memory. *Bare* is
the full text query for ten hits and their rows, and one numpy product over the same vectors with
its ten largest; the question is not encoded there. Both sides answer the same question in each
round. A million records only with ``--full``. Invariant: a figure of a size comes from one run.
"""

from __future__ import annotations

import argparse
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmarks.bare import INDEX, connect
from benchmarks.machine import commit, machine
from benchmarks.measures import bare_recall, match_of, questions
from benchmarks.sentences import sentences
from benchmarks.timing import in_turns, slices
from benchmarks.vectors import percentiles, timed, top
from recollect.embed.static import StaticEmbedder
from recollect.memory import Memory
from recollect.store.files import vector_file
from recollect.store.files.vector_file import HEADER_BYTES

Matrix = NDArray[np.float32]

SIZES: Final = (10_000, 100_000)
FULL: Final = 1_000_000
QUICK: Final = (200, 400)
AIM: Final = 1.6  # of recall at a hundred thousand
_BATCH: Final = 1_000
_SEQ_COLUMNS: Final = 2  # before each row in the file


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One size: milliseconds, and our middle in the bare engines' middle.

    ``many_ms`` is a question's part of a call with many.
    """

    records: int
    bare_p50_ms: float
    bare_p99_ms: float
    recall_p50_ms: float
    recall_p99_ms: float
    recall_ratio: float
    many_ms: float
    context_p50_ms: float
    context_p99_ms: float


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a run found; growth is from the first size to the one of the ratio."""

    recall_ratio_100k: float | None
    context_ms_100k: float | None
    recall_growth_ratio: float
    aims: dict[str, float]
    figures: tuple[Figure, ...]
    rounds: int
    machine: dict[str, str | int]
    commit: str


def measure(folder: Path, count: int, rounds: int) -> Figure:
    """The figures of one size."""
    place = folder / f"of-{count}"
    with filled(place, count) as memory:
        bare = Bare(place)
        asked = questions(2 * rounds + 1)
        encoded = [bare.encoded(question) for question in asked]
        paired = in_turns(
            bare=lambda n: bare(*encoded[n]),
            ours=lambda n: memory.recall(asked[n]),
            rounds=rounds,
            operations=1,
        )
        many = timed(lambda: memory.recall(asked[: rounds + 1])) / (rounds + 1)
        packed = [timed(_context(memory, question)) for question in asked[rounds + 1 :]]
        bare.close()
    shutil.rmtree(place)
    bare_p50, bare_p99 = percentiles(paired.bare_s)
    ours_p50, ours_p99 = percentiles(paired.ours_s)
    context_p50, context_p99 = percentiles(packed)
    return Figure(
        records=count,
        bare_p50_ms=bare_p50,
        bare_p99_ms=bare_p99,
        recall_p50_ms=ours_p50,
        recall_p99_ms=ours_p99,
        recall_ratio=round(ours_p50 / bare_p50, 3),
        many_ms=round(1_000 * many, 3),
        context_p50_ms=context_p50,
        context_p99_ms=context_p99,
    )


class Bare:
    """Full text and vectors of a memory, asked without it."""

    def __init__(self, place: Path) -> None:
        self._db: sqlite3.Connection = connect(place / INDEX, ())
        self._embedder = StaticEmbedder()
        self._rows = matrix(place, self._embedder)

    def encoded(self, question: str) -> tuple[str, Matrix]:
        """What each engine is asked."""
        return match_of(question), self._embedder.embed_query(question)

    def __call__(self, match: str, query: Matrix) -> None:
        bare_recall(self._db, match)
        top(self._rows, query)

    def close(self) -> None:
        self._db.close()


def filled(place: Path, count: int) -> Memory:
    """A memory with this many records and all their vectors."""
    memory = Memory.open(place, embedder="static")
    for part in slices(sentences(count, seed=1), _BATCH):
        with memory.batch() as batch:
            for text in part:
                batch.remember(text)
    memory.admin.embed()
    return memory


def matrix(place: Path, embedder: StaticEmbedder) -> Matrix:
    """The very rows that the memory searches, as one matrix in memory."""
    path = vector_file.path_of(place, embedder.name)
    columns = embedder.dimensions + _SEQ_COLUMNS
    rows: Matrix = np.fromfile(path, "<f4", offset=HEADER_BYTES)
    whole = rows[: len(rows) // columns * columns].reshape(-1, columns)
    return np.ascontiguousarray(whole[:, _SEQ_COLUMNS:])


def report(figures: Sequence[Figure], rounds: int, folder: Path) -> Report:
    """All figures, and those that aims are about."""
    by_size = {figure.records: figure for figure in figures}
    large = by_size.get(SIZES[-1])
    first, last = figures[0], large or figures[-1]
    ours = last.recall_p50_ms / first.recall_p50_ms
    bare = last.bare_p50_ms / first.bare_p50_ms
    return Report(
        recall_ratio_100k=large.recall_ratio if large else None,
        context_ms_100k=large.context_p50_ms if large else None,
        recall_growth_ratio=round(ours / bare, 3),
        aims={"recall_ratio_100k": AIM},
        figures=tuple(figures),
        rounds=rounds,
        machine=machine(folder),
        commit=commit(),
    )


def lines(found: Report) -> Iterator[str]:
    """The report for people."""
    yield "records     bare p50     p99   recall p50     p99   ratio    many   context p50     p99"
    for each in found.figures:
        yield (
            f"{each.records:>9,}   {each.bare_p50_ms:>7} {each.bare_p99_ms:>7}   "
            f"{each.recall_p50_ms:>9} {each.recall_p99_ms:>7}   {each.recall_ratio:>5}   "
            f"{each.many_ms:>5}   {each.context_p50_ms:>10} {each.context_p99_ms:>7}"
        )
    yield f"growth of recall, ours over bare: {found.recall_growth_ratio}"


def _context(memory: Memory, question: str) -> Callable[[], object]:
    return lambda: memory.context(question)


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=__doc__)
    parser.add_argument("--full", action="store_true", help="a million records as well")
    parser.add_argument("--quick", action="store_true", help="a few hundred records: does it run?")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=150)
    parser.add_argument("--folder", type=Path, help="where the memories are made")
    given = parser.parse_args(words)
    sizes = QUICK if given.quick else (*SIZES, *((FULL,) if given.full else ()))
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        figures = [measure(Path(folder), size, given.rounds) for size in sizes]
        found = report(figures, given.rounds, Path(folder))
    print(msgspec.json.encode(found).decode() if given.json else "\n".join(lines(found)))


if __name__ == "__main__":
    main(sys.argv[1:])
