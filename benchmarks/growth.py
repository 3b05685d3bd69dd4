"""Cost against size: the same work in workspaces of a thousand and of a million records.

Responsible for building workspaces of every size, and for taking their figures in the same rounds.
Leaves one size's comparisons to ``measures`` and the report to ``report``. Invariant: in each round
every size and both sides have their turn, so that a growth is a ratio of neighbours in time.
"""

from __future__ import annotations

import gc
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from statistics import fmean, median
from typing import Final, NamedTuple, TypeVar

import msgspec

from benchmarks import bare as bare_engine
from benchmarks.bare import INDEX, Bare, copy_of, made_up
from benchmarks.ledgers import write_ledger
from benchmarks.measures import Advance, Sizes, bare_recall, match_of, questions
from benchmarks.sentences import sentences
from benchmarks.timing import THREAD, WALL, Clock
from recollect.config import NONE
from recollect.index.rows import VersionRow
from recollect.index.statements import STILL, statements
from recollect.memory import Memory

T = TypeVar("T")
Turn = Callable[[int], object]  # is given the number of the operation
_PAGE: Final = 100

# The peak of a separate process; `resource` would count what its parent had in memory.
_REBUILD: Final = """
import resource, sys
from itertools import chain
from pathlib import Path
from recollect import Memory
with Memory.open(sys.argv[1]) as memory:
    memory.events.position
status = Path("/proc/self/status")
if status.exists():
    print(next(l.split()[1] for l in status.read_text().splitlines() if l.startswith("VmHWM")))
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of work at every size: microseconds, the typical one and the average of all."""

    records: tuple[int, ...]
    bare_us: tuple[float, ...]
    ours_us: tuple[float, ...]
    bare_mean_us: tuple[float, ...]
    ours_mean_us: tuple[float, ...]
    bare_growth: float  # from the smallest size to the largest
    ours_growth: float
    growth_ratio: float  # ours over the bare engine's
    costs: tuple[float, ...]  # at each size, our time in the bare engine's
    clock: str


class Pair(NamedTuple):
    """The same operation, both ways."""

    bare: Turn
    ours: Turn


class Operation(NamedTuple):
    """Something that is done at every size."""

    name: str
    what: str
    pair: Callable[[Grown, int], Pair]
    count: Callable[[Sizes], int]  # in each round
    clock: Clock = WALL


class Grown:
    """One size: a memory, and the bare engine with the same rows."""

    def __init__(self, folder: Path, records: int, rss_kb: int) -> None:
        self.records = records
        self.rss_kb = rss_kb
        self.place = folder / f"grown-{records}"
        self.copy = folder / f"grown-{records}.db"
        self.bare = Bare(copy_of(self.place / INDEX, self.copy))
        self.memory = Memory.open(self.place, embedder=NONE)
        self.chance = random.Random(records)

    def seqs(self, count: int) -> list[int]:
        """Events anywhere in the younger half."""
        return [self.chance.randint(self.records // 2, self.records) for _ in range(count)]

    def id_of(self, seq: int) -> str:
        """The record that an event made."""
        found = self.bare.connection.execute("SELECT id FROM versions WHERE seq = ?", (seq,))
        return str(found.fetchone()[0])

    def close(self) -> None:
        """Closes both."""
        self.memory.close()
        self.bare.connection.close()


@contextmanager
def grown(folder: Path, sizes: Sizes, advance: Advance) -> Iterator[list[Grown]]:
    """Workspaces of every size; each index is built by a separate process."""
    made: list[Grown] = []
    try:
        for records in sizes.records:
            place = folder / f"grown-{records}"
            write_ledger(place, records, seed=7)
            advance()
            command = [sys.executable, "-c", _REBUILD, str(place)]
            told = subprocess.run(command, check=True, capture_output=True, text=True)
            advance()
            made.append(Grown(folder, records, int(told.stdout)))
            advance()
        yield made
    finally:
        for each in made:
            each.close()


def measure(sides: Sequence[Grown], operation: Operation, sizes: Sizes, advance: Advance) -> Curve:
    """Rounds over all sizes and both sides; the first round is not counted."""
    rounds, count = sizes.growth_rounds, operation.count(sizes)
    pairs = [operation.pair(each, (rounds + 1) * count) for each in sides]
    taken: dict[tuple[int, str], list[list[float]]] = {}
    for number in range(rounds + 1):
        numbers = range(number * count, (number + 1) * count)
        for place, pair in _turned(list(enumerate(pairs)), number):
            for side in _turned(["bare", "ours"], number):
                times = _timed(getattr(pair, side), numbers, operation.clock)
                if number:
                    taken.setdefault((place, side), []).append(times)
        advance()
    return _curve([each.records for each in sides], taken, operation.clock)


def _timed(work: Turn, numbers: Sequence[int], clock: Clock) -> list[float]:
    gc.collect()
    times: list[float] = []
    for number in numbers:
        started = clock.read()
        work(number)
        times.append(clock.read() - started)
    return times


def _turned(items: list[T], number: int) -> list[T]:
    """In order, or the other way round every second time."""
    return items if number % 2 else items[::-1]


def _curve(
    records: list[int], taken: dict[tuple[int, str], list[list[float]]], clock: Clock
) -> Curve:
    typical = {key: [median(times) for times in rounds] for key, rounds in taken.items()}
    last = len(records) - 1

    def growths(side: str) -> list[float]:
        pairs = zip(typical[0, side], typical[last, side], strict=True)
        return [large / small for small, large in pairs]

    def medians(side: str) -> tuple[float, ...]:
        return tuple(_us(median(typical[n, side])) for n in range(last + 1))

    def means(side: str) -> tuple[float, ...]:
        return tuple(_us(fmean(chain.from_iterable(taken[n, side]))) for n in range(last + 1))

    def cost(size: int) -> float:
        pairs = zip(typical[size, "bare"], typical[size, "ours"], strict=True)
        return round(median(ours / bare for bare, ours in pairs), 3)

    bare, ours = growths("bare"), growths("ours")
    return Curve(
        records=tuple(records),
        bare_us=medians("bare"),
        ours_us=medians("ours"),
        bare_mean_us=means("bare"),
        ours_mean_us=means("ours"),
        bare_growth=round(median(bare), 3),
        ours_growth=round(median(ours), 3),
        growth_ratio=round(median(o / b for o, b in zip(ours, bare, strict=True)), 3),
        costs=tuple(map(cost, range(last + 1))),
        clock=clock.name,
    )


def _us(seconds: float) -> float:
    return round(seconds * 1e6, 2)


# What is done.


def _write(side: Grown, count: int) -> Pair:
    first = side.memory.events.position + 1
    texts = sentences(count, seed=first)
    rows = [made_up([text], first + n, side.chance) for n, text in enumerate(texts)]
    return Pair(
        bare=lambda n: side.bare.one(rows[n]),
        ours=lambda n: side.memory.remember(texts[n]),
    )


def _recall(side: Grown, count: int) -> Pair:
    asked = questions(count)
    matches = [match_of(question) for question in asked]
    return Pair(
        bare=lambda n: bare_recall(side.bare.connection, matches[n]),
        ours=lambda n: side.memory.recall(asked[n]),
    )


def _open(side: Grown, count: int) -> Pair:
    id = side.id_of(side.records)

    def by_bare(number: int) -> None:
        connection = bare_engine.connect(side.copy, bare_engine.DURABLE)
        params = {"id": id, "at": STILL - 1}
        VersionRow._make(connection.execute(statements()["get_version"], params).fetchone())
        connection.close()

    def by_us(number: int) -> None:
        with Memory.open(side.place, embedder=NONE) as memory:
            memory.get(id)

    return Pair(bare=by_bare, ours=by_us)


def _list(side: Grown, count: int) -> Pair:
    before = side.seqs(count)
    ids = [side.id_of(seq) for seq in before]
    statement = statements()["list_versions"]
    fixed = {"at": STILL - 1, "statuses": '["active","inbox"]', "user": None, "limit": _PAGE}

    def by_bare(number: int) -> None:
        params = {**fixed, "last": before[number] - 1}
        rows = side.bare.connection.execute(statement, params)
        list(map(VersionRow._make, rows))

    return Pair(
        bare=by_bare,
        ours=lambda n: side.memory.list(limit=_PAGE, after=ids[n]),
    )


def _past(side: Grown, count: int) -> Pair:
    ats = side.seqs(count)
    ids = [side.id_of(side.chance.randint(2, side.records // 4)) for _ in ats]
    named = statements()

    def by_bare(number: int) -> None:
        execute = side.bare.connection.execute
        seq = execute(named["command_at"], {"seq": ats[number]}).fetchone()[0]
        row = execute(named["get_version"], {"id": ids[number], "at": seq}).fetchone()
        VersionRow._make(row)

    return Pair(
        bare=by_bare,
        ours=lambda n: side.memory.at(ats[n]).get(ids[n]),
    )


# Writing comes last: it makes the workspaces longer.
OPERATIONS: Final = (
    Operation("recall", "recall, ten hits", _recall, lambda sizes: sizes.growth_recalls, THREAD),
    Operation("open", "opening a memory, and one record", _open, lambda sizes: 2),
    Operation(
        "list", "a page of a listing, 100 records", _list, lambda sizes: sizes.growth_reads, THREAD
    ),
    Operation("past", "one record in the past", _past, lambda sizes: sizes.growth_reads, THREAD),
    Operation("write", "one durable remember", _write, lambda sizes: sizes.growth_writes),
    Operation(
        "write_cpu",
        "one durable remember, processor time",
        _write,
        lambda sizes: sizes.growth_writes,
        THREAD,
    ),
)
