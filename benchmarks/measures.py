"""The measurements: each one a piece of work, done by the package and by the bare engine.

Responsible for both sides doing the same work on the same disk in the same rounds. Leaves taking
turns to ``timing``, the bare side's rows to ``bare``, whole processes to ``processes`` and the
further ways of recalling to ``reads``. Invariant: a memory here has no embedder unless its
measurement is about vectors.
"""

from __future__ import annotations

import gc
import random
import sqlite3
import threading
from collections.abc import Callable
from hashlib import sha256
from itertools import islice
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

import msgspec

from benchmarks import bare as bare_engine
from benchmarks.bare import INDEX, Bare, copy_of, made_up
from benchmarks.ledgers import LEDGER, write_ledger
from benchmarks.sentences import sentences, vocabulary
from benchmarks.timing import PROCESS, THREAD, WALL, Clock, Paired, in_turns, slices
from recollect.config import NONE
from recollect.index.rows import VersionRow
from recollect.index.statements import STILL, statements
from recollect.index.words.text import query_tokens
from recollect.memory import Memory

Advance = Callable[[], None]


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """How much is done; the rounds of each measurement, and what is in a round. 0 is left out."""

    write_rounds: int = 75
    writes: int = 20
    bulk_rounds: int = 15
    batch: int = 1_000
    verify_rounds: int = 9
    verify_events: int = 50_000
    long_rounds: int = 6
    long_events: int = 250_000
    rebuild_rounds: int = 7
    rebuild_events: int = 30_000
    cold_rounds: int = 15
    read_rounds: int = 40
    reads: int = 25
    read_records: int = 10_000
    chats: int = 10_000
    sessions: int = 200
    vector_rounds: int = 100
    vectors: int = 100_000
    group_rounds: int = 15
    group_writes: int = 160
    records: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000)
    growth_rounds: int = 25
    growth_writes: int = 20
    growth_recalls: int = 4
    growth_reads: int = 10
    server: str = "full"  # one of the sizes in ``postgres``, or ""


FULL: Final = Sizes()
# Memories as large as those of a full run wherever the figure depends on it and time allows, so
# that a figure can be put beside the page's.
QUICK: Final = Sizes(
    write_rounds=15,
    bulk_rounds=4,
    verify_rounds=4,
    verify_events=10_000,
    long_rounds=0,
    rebuild_rounds=2,
    rebuild_events=3_000,
    cold_rounds=3,
    read_rounds=6,
    reads=10,
    vector_rounds=10,
    vectors=2_000,
    group_rounds=3,
    group_writes=80,
    records=(1_000, 10_000),
    growth_rounds=5,
    growth_writes=10,
    growth_reads=4,
    server="quick",
)


_THREADS: Final = (1, 2, 4, 8)


class Skipped(Exception):
    """This measurement cannot be taken here; the message says why."""


def filled(folder: Path, count: int, *, embedder: str = NONE) -> Memory:
    """A memory with this many records, written in batches."""
    memory = Memory.open(folder, embedder=embedder)
    for part in slices(sentences(count, seed=1), 1_000):
        with memory.batch() as batch:
            for text in part:
                batch.remember(text)
    return memory


def write(folder: Path, sizes: Sizes, advance: Advance) -> Paired:
    """One durable ``remember`` at a time."""
    return _one_by_one(folder / "write", sizes, advance, reads=False)


def write_and_read(folder: Path, sizes: Sizes, advance: Advance) -> Paired:
    """One durable ``remember``, and a ``get`` of what it made, each time."""
    return _one_by_one(folder / "pairs", sizes, advance, reads=True)


def _one_by_one(place: Path, sizes: Sizes, advance: Advance, *, reads: bool) -> Paired:
    chance = random.Random(2)
    with filled(place, sizes.batch) as memory:
        bare = Bare(copy_of(place / INDEX, place.with_suffix(".db")))
        texts = sentences((sizes.write_rounds + 1) * sizes.writes, seed=2)
        rounds = slices(texts, sizes.writes)
        first = memory.events.position + 1
        rows = [made_up([text], first + n, chance) for n, text in enumerate(texts)]

        def by_us(number: int) -> None:
            remember, get = memory.remember, memory.get
            for text in rounds[number]:
                made = remember(text)
                if reads:
                    get(made.id)

        def by_bare(number: int) -> None:
            for prepared in rows[number * sizes.writes : (number + 1) * sizes.writes]:
                bare.one(prepared)
                if reads:
                    bare_get(bare.connection, str(prepared.versions[0][0]))

        paired = in_turns(
            bare=by_bare,
            ours=by_us,
            rounds=sizes.write_rounds,
            operations=sizes.writes,
            advance=advance,
        )
        bare.connection.close()
    return paired


class Throughput(msgspec.Struct, frozen=True, kw_only=True):
    """Durable writes for each second by so many threads, and by how much that beats one."""

    threads: tuple[int, ...]
    writes_per_s: tuple[float, ...]
    gain: tuple[float, ...]


def group(folder: Path, sizes: Sizes, advance: Advance) -> Throughput:
    """One memory, written by one thread and by several at the same time, in turns."""
    taken: dict[int, list[float]] = {threads: [] for threads in _THREADS}
    texts = iter(sentences((sizes.group_rounds + 1) * sizes.group_writes * len(_THREADS), seed=8))
    with filled(folder / "group", sizes.batch) as memory:
        for number in range(sizes.group_rounds + 1):
            for threads in _THREADS if number % 2 else _THREADS[::-1]:
                parts = [list(islice(texts, sizes.group_writes // threads)) for _ in range(threads)]
                taken[threads].append(_written_together(memory, parts))
            advance()
    speeds = {n: [sizes.group_writes / s for s in taken[n][1:]] for n in _THREADS}
    gains = [
        median(many / one for many, one in zip(speeds[n], speeds[1], strict=True)) for n in _THREADS
    ]
    return Throughput(
        threads=_THREADS,
        writes_per_s=tuple(round(median(speeds[n]), 1) for n in _THREADS),
        gain=tuple(round(gain, 3) for gain in gains),
    )


def _written_together(memory: Memory, parts: list[list[str]]) -> float:
    """How many seconds threads take that remember one part each."""

    def work(part: list[str]) -> None:
        for text in part:
            memory.remember(text)

    threads = [threading.Thread(target=work, args=(part,)) for part in parts]
    gc.collect()
    started = perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return perf_counter() - started


def bulk(folder: Path, sizes: Sizes, advance: Advance) -> Paired:
    """A durable batch at a time."""
    chance = random.Random(3)
    with filled(folder / "bulk", sizes.batch) as memory:
        bare = Bare(copy_of(folder / "bulk" / INDEX, folder / "bulk.db"))
        rounds = slices(sentences((sizes.bulk_rounds + 1) * sizes.batch, seed=3), sizes.batch)
        first = memory.events.position + 1
        rows = [made_up(part, first + n * sizes.batch, chance) for n, part in enumerate(rounds)]

        def by_us(number: int) -> None:
            with memory.batch() as batch:
                for text in rounds[number]:
                    batch.remember(text)

        paired = in_turns(
            bare=lambda number: bare.many(rows[number]),
            ours=by_us,
            rounds=sizes.bulk_rounds,
            operations=sizes.batch,
            advance=advance,
        )
        bare.connection.close()
    return paired


def verify(folder: Path, sizes: Sizes, advance: Advance) -> Paired:
    """Checking a ledger that one process checks, by what the processor does for it."""
    place = folder / "verify"
    return _verified(place, sizes.verify_events, sizes.verify_rounds, PROCESS, advance)


def verify_long(folder: Path, sizes: Sizes, advance: Advance) -> Paired:
    """Checking a ledger that is long enough for several processes, by the time a caller waits."""
    if not sizes.long_rounds:
        raise Skipped("only in a full run")
    return _verified(folder / "long", sizes.long_events, sizes.long_rounds, WALL, advance)


def _verified(place: Path, events: int, rounds: int, clock: Clock, advance: Advance) -> Paired:
    """Checking a ledger, against nothing but the hash function over its lines."""
    write_ledger(place, events, seed=4)
    lines = (place / LEDGER).read_bytes().split(b"\n")[:-1]

    def by_bare(number: int) -> None:
        for line in lines:
            sha256(line).digest()

    with Memory.open(place, embedder=NONE) as memory:

        def by_us(number: int) -> None:
            found = memory.admin.verify()
            if found.status != "self-consistent" or found.events != len(lines):
                raise AssertionError(f"the ledger should verify: {found}")

        return in_turns(
            bare=by_bare,
            ours=by_us,
            rounds=rounds,
            operations=len(lines),
            clock=clock,
            advance=advance,
        )


def rebuild(folder: Path, sizes: Sizes, advance: Advance) -> Paired:
    """A new index from a ledger, against decoding its lines and writing the finished rows."""
    place = folder / "rebuild"
    write_ledger(place, sizes.rebuild_events, seed=5)
    with Memory.open(place, embedder=NONE) as memory:
        memory.admin.rebuild()
        rows = bare_engine.whole(place / INDEX)
        decode = msgspec.json.Decoder().decode

        def by_bare(number: int) -> None:
            for line in (place / LEDGER).read_bytes().split(b"\n")[:-1]:
                decode(line)
            bare_engine.rebuild(folder / "rebuild.db", rows)

        return in_turns(
            bare=by_bare,
            ours=lambda number: memory.admin.rebuild(),
            rounds=sizes.rebuild_rounds,
            operations=len(rows.versions),
            clock=PROCESS,
            advance=advance,
        )


# Reading.


def recall(folder: Path, sizes: Sizes, advance: Advance) -> Paired:
    """Ten hits for a question of three words, against the full text query and its rows."""
    place = folder / "reads"
    with for_reading(place, sizes) as memory:
        connection = bare_engine.connect(place / INDEX, ())
        asked = questions((sizes.read_rounds + 1) * sizes.reads)
        rounds = slices(asked, sizes.reads)
        matches = slices([match_of(question) for question in asked], sizes.reads)

        def by_bare(number: int) -> None:
            for query in matches[number]:
                bare_recall(connection, query)

        def by_us(number: int) -> None:
            for question in rounds[number]:
                memory.recall(question)

        paired = in_turns(
            bare=by_bare,
            ours=by_us,
            rounds=sizes.read_rounds,
            operations=sizes.reads,
            clock=THREAD,
            advance=advance,
        )
        connection.close()
    return paired


def get(folder: Path, sizes: Sizes, advance: Advance) -> Paired:
    """One record by its id, against the query for its row."""
    place = folder / "reads"
    with for_reading(place, sizes) as memory:
        connection = bare_engine.connect(place / INDEX, ())
        ids = [record.id for record in memory.list(limit=sizes.reads)]

        def by_bare(number: int) -> None:
            for id in ids:
                bare_get(connection, id)

        def by_us(number: int) -> None:
            for id in ids:
                memory.get(id)

        paired = in_turns(
            bare=by_bare,
            ours=by_us,
            rounds=sizes.read_rounds,
            operations=sizes.reads,
            clock=THREAD,
            advance=advance,
        )
        connection.close()
    return paired


def for_reading(place: Path, sizes: Sizes) -> Memory:
    """The memory that several measurements read; the first one fills it."""
    if place.exists():
        return Memory.open(place, embedder=NONE)
    return filled(place, sizes.read_records)


def bare_get(connection: sqlite3.Connection, id: str) -> VersionRow:
    """The query for one row."""
    params = {"id": id, "at": STILL - 1}
    row = connection.execute(statements()["get_version"], params).fetchone()
    return VersionRow._make(row)


def bare_recall(connection: sqlite3.Connection, query: str) -> None:
    """The full text query for ten hits, and their rows."""
    match = statements()["match_recallable"]
    for doc, _ in connection.execute(match, {"query": query, "limit": 10}).fetchall():
        connection.execute("SELECT * FROM versions WHERE seq = ?", (doc,)).fetchone()


def questions(count: int) -> list[str]:
    """Three words each, neither the commonest nor the rarest."""
    chance = random.Random(6)
    words = vocabulary()[100:1_000]
    return [" ".join(chance.sample(words, 3)) for _ in range(count)]


def match_of(question: str) -> str:
    """What the package asks full text for."""
    return " OR ".join(f'"{token}"' for token in query_tokens(question, 64))
