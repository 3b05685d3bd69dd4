"""``python -m benchmarks.postgres``: what the package costs on top of bare PostgreSQL.

Responsible for the figures of a server that it starts itself, or that ``--server`` names. Every
ratio is of two times from the same rounds, with the questions of the SQLite benchmark. *Bare* is
psycopg as the database's superuser, writing the same lines of a ledger into a table of the same
shape. What is read is compared with the same memory in files.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import psycopg
from psycopg.conninfo import make_conninfo

from benchmarks import many_spaces
from benchmarks.machine import machine
from benchmarks.many_spaces import fill
from benchmarks.measures import questions
from benchmarks.report import SERVED, Served, served_lines
from benchmarks.sentences import sentences
from benchmarks.server import started
from benchmarks.timing import Paired, Work, in_turns, slices
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.store.files.backend import FileBackend
from recollect.store.postgres.ledgers import PostgresBackend
from recollect.store.postgres.schema import prepare

_WAKES: Final = ("wake_cost_40", "wake_cost_1000", "wake_cost_10000", "wake_folded_cost")
_READS: Final = (
    "recall_over_files",
    "context_over_files",
    "recall_ms",
    "room_over_ledger",
    "room_alone_over_ledger",
)
_CACHES: Final = ("snapshots", "blocks")


class Sizes(msgspec.Struct, frozen=True):
    """How much is measured; nothing about many spaces if there are to be none."""

    write_rounds: int = 40
    writes: int = 20
    batches: int = 8
    batch: int = 1_000
    spaces: int = 1_000_000
    awake: int = 200
    wakes: tuple[int, ...] = (40, 1_000, 10_000)
    records: int = 50_000
    read_rounds: int = 30
    reads: int = 20


SIZES: Final = {
    "full": Sizes(),
    "quick": Sizes(
        write_rounds=5, batches=1, spaces=0, awake=0, wakes=(), records=2_000, read_rounds=4
    ),
}


@contextmanager
def server(named: str | None) -> Iterator[str]:
    """The address of an empty database on a server that was named, or on one of our own."""
    if named is None:
        with started() as own, server(str(own.get_uri())) as url:
            yield url
        return
    name = f"bench_{uuid.uuid4().hex}"
    with psycopg.connect(named, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
        try:
            yield make_conninfo(named, dbname=name)
        finally:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


class Bare:
    """The events of a ledger that was written before, and a plain table to put them into."""

    def __init__(self, url: str, space: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        self._connection.prepare_threshold = 2
        run = self._connection.execute
        run("CREATE SCHEMA IF NOT EXISTS bare")
        for table in ("events", "spaces"):
            run(f"CREATE TABLE IF NOT EXISTS bare.{table} (LIKE recollect.{table} INCLUDING ALL)")
            run(f"TRUNCATE bare.{table}")
        run("INSERT INTO bare.spaces OVERRIDING SYSTEM VALUE SELECT * FROM recollect.spaces")
        found = run(
            "SELECT e.* FROM recollect.events e JOIN recollect.spaces s ON s.id = e.space "
            "WHERE s.name = %s AND e.seq > 1 ORDER BY e.seq",
            (space,),
        )
        places = ", ".join(["%s"] * len(found.description or ()))
        self._insert = f"INSERT INTO bare.events VALUES ({places})"
        self._rows = {row[1]: row for row in found}
        self.seqs = [*self._rows]

    def write(self, seq: int) -> None:
        """One transaction with one event, sent without waiting."""
        with self._connection.pipeline():
            run = self._connection.execute
            run("BEGIN")
            run(self._insert, self._rows[seq])
            run("UPDATE bare.spaces SET seq = %s WHERE id = %s", (seq, self._rows[seq][0]))
            run("COMMIT")

    def batch(self, seqs: Sequence[int]) -> None:
        """One transaction with many events."""
        last = self._rows[seqs[-1]]
        with self._connection.transaction():
            self._connection.cursor().executemany(self._insert, [self._rows[seq] for seq in seqs])
            self._connection.execute(
                "UPDATE bare.spaces SET seq = %s WHERE id = %s", (last[1], last[0])
            )

    def close(self) -> None:
        self._connection.close()


def remember(url: str, sizes: Sizes) -> Paired:
    """One durable write after the other against one transaction each with the same event."""
    words = sentences((sizes.write_rounds + 1) * sizes.writes, seed=1)
    with _memory(url, "first") as memory:
        for word in words:
            memory.remember(word)
    bare = Bare(url, "first")
    rounds, seqs = slices(words, sizes.writes), slices(bare.seqs, sizes.writes)

    def by_bare(number: int) -> None:
        for seq in seqs[number]:
            bare.write(seq)

    try:
        with _memory(url, "second") as memory:
            memory.status()

            def by_us(number: int) -> None:
                for word in rounds[number]:
                    memory.remember(word)

            return in_turns(
                bare=by_bare, ours=by_us, rounds=sizes.write_rounds, operations=sizes.writes
            )
    finally:
        bare.close()


def bulk(url: str, sizes: Sizes) -> Paired:
    """A batch against one transaction with the same events."""
    count = (sizes.batches + 1) * sizes.batch
    words = sentences(count, seed=2)
    groups = [words[start : start + sizes.batch] for start in range(0, count, sizes.batch)]

    def write(memory: Memory, group: Sequence[str]) -> None:
        with memory.batch() as batch:
            for word in group:
                batch.remember(word)

    with _memory(url, "third") as memory:
        for group in groups:
            write(memory, group)
    bare = Bare(url, "third")
    try:
        with _memory(url, "fourth") as memory:
            memory.status()
            return in_turns(
                bare=lambda n: bare.batch(bare.seqs[n * sizes.batch : (n + 1) * sizes.batch]),
                ours=lambda n: write(memory, groups[n]),
                rounds=sizes.batches,
                operations=sizes.batch,
            )
    finally:
        bare.close()


class Reads(NamedTuple):
    """A recall and a context, each against the same memory in files, and the room of a space."""

    recall: Paired
    context: Paired
    room: float
    room_alone: float  # without caches


def read(url: str, sizes: Sizes) -> Reads:
    """``recall`` and ``context`` among many records, on the server and in files."""
    before, alone = _room_bytes(url), _room_bytes(url, but=_CACHES)
    with _memory(url, "large") as memory:
        fill(memory, sentences(sizes.records, seed=4))
        ledger = sum(map(len, memory._handle.space.pieces()))
    room = (_room_bytes(url) - before) / ledger
    room_alone = (_room_bytes(url, but=_CACHES) - alone) / ledger
    asked = questions((sizes.read_rounds + 1) * sizes.reads)
    with _memory(url, "large") as ours, _in_files("large") as files:
        ours.admin.copy_to(files)
        for question in asked[:10]:
            if ours.recall(question).hits != files.recall(question).hits:
                raise RuntimeError("both sides must find the same")

        def recall(memory: Memory) -> Work:
            return lambda number: memory.recall(asked[number])

        def context(memory: Memory) -> Work:
            return lambda number: memory.context(asked[number], receipt=False)

        return Reads(
            _asked(recall(files), recall(ours), sizes),
            _asked(context(files), context(ours), sizes),
            room,
            room_alone,
        )


def _waking(url: str, sizes: Sizes) -> Iterator[tuple[int, many_spaces.Waking]]:
    for events in sizes.wakes:
        with _in_files(f"wake {events}") as files:
            yield events, many_spaces.wake(url, events, files, rounds=sizes.read_rounds)


def _growth(url: str, sizes: Sizes) -> dict[str, Paired]:
    with server(url) as few, server(url) as many:
        for each in (few, many):
            prepare(each)
        return many_spaces.growth(
            few, many, sizes.spaces, rounds=sizes.read_rounds, calls=sizes.reads
        )


@contextmanager
def _in_files(space: str) -> Iterator[Memory]:
    with tempfile.TemporaryDirectory() as folder:
        backend = FileBackend(Path(folder) / "memory")
        try:
            yield Memory(Handle(backend.space(space, create=True)))
        finally:
            backend.close()


def _asked(bare: Work, ours: Work, sizes: Sizes) -> Paired:
    """Rounds of questions, each round with its own."""

    def asking(ask: Work) -> Work:
        def work(number: int) -> None:
            for question in range(number * sizes.reads, (number + 1) * sizes.reads):
                ask(question)

        return work

    return in_turns(
        bare=asking(bare), ours=asking(ours), rounds=sizes.read_rounds, operations=sizes.reads
    )


def _room_bytes(url: str, *, but: Collection[str] = ()) -> int:
    """The room that every table takes, with its indexes, of all spaces; some left out."""
    with psycopg.connect(url, autocommit=True) as owner:
        found = owner.execute(
            "SELECT SUM(pg_total_relation_size(c.oid))::bigint FROM pg_class c"
            " WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind = 'r'"
            " AND c.relname <> ALL (%s)",
            ([*but],),
        ).fetchone()
    return int(found[0]) if found else 0


@contextmanager
def _memory(url: str, space: str) -> Iterator[Memory]:
    backend = PostgresBackend(url)
    try:
        yield Memory(Handle(backend.space(space, create=True)))
    finally:
        backend.close()


def run(
    sizes: Sizes,
    named: str | None,
    say: Callable[[str], None],
    only: Collection[str] | None = None,
) -> Served:
    """All figures, one after the other, or only some of them."""
    figures: dict[str, float | None] = dict.fromkeys(aim.name for aim in SERVED)
    medians: dict[str, dict[str, float]] = {}

    def wants(*names: str) -> bool:
        return only is None or not set(names).isdisjoint(only)

    def keep(name: str, paired: Paired, *, is_cost: bool = False) -> None:
        figures[name] = round(paired.cost if is_cost else paired.speed, 3)
        medians[name] = paired.medians_us

    with server(named) as url:
        prepare(url)
        for name, measure in (("remember_ratio", remember), ("bulk_ratio", bulk)):
            if wants(name):
                say(name)
                keep(name, measure(url, sizes))
        if wants(*_READS):
            say("recall")
            found = read(url, sizes)
            keep("recall_over_files", found.recall, is_cost=True)
            keep("context_over_files", found.context, is_cost=True)
            figures["recall_ms"] = round(found.recall.medians_us["ours"] / 1e3, 2)
            figures["room_over_ledger"] = round(found.room, 3)
            figures["room_alone_over_ledger"] = round(found.room_alone, 3)
        if sizes.wakes and wants(*_WAKES):
            say("wake")
            for events, waking in _waking(url, sizes):
                keep(f"wake_cost_{events}", waking.kept, is_cost=True)
                keep("wake_folded_cost", waking.folded, is_cost=True)
        if sizes.awake and wants("awake_kb"):
            say("awake_kb")
            figures["awake_kb"] = round(many_spaces.awake_bytes(url, sizes.awake) / 1_024, 1)
        if sizes.spaces and wants("spaces_growth"):
            say("spaces_growth")
            grown = _growth(url, sizes)
            figures["spaces_growth"] = round(max(each.cost for each in grown.values()), 3)
            medians |= {f"spaces_growth, {name}": each.medians_us for name, each in grown.items()}
        return _report(sizes, url, figures, medians)


def _report(
    sizes: Sizes, url: str, figures: dict[str, float | None], medians: dict[str, dict[str, float]]
) -> Served:
    with psycopg.connect(url) as owner:
        version = str(owner.execute("SHOW server_version").fetchone()[0])  # type: ignore[index]
    return Served(
        **figures,  # every figure has a field of its name
        aims={aim.name: aim.sign for aim in SERVED},
        reached={aim.name: aim.reached(figures[aim.name]) for aim in SERVED},
        medians_us=medians,
        measured_at={**dict.fromkeys(_READS, sizes.records), "spaces_growth": sizes.spaces},
        server=version.split(maxsplit=1)[0],
        machine=machine(Path(tempfile.gettempdir())),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.postgres", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument(
        "--server", help="an existing server; a database is created there and dropped"
    )
    options = parser.parse_args(arguments)
    report = run(
        SIZES["quick" if options.quick else "full"],
        options.server,
        lambda what: print(what, file=sys.stderr),
    )
    if options.json:
        print(msgspec.json.encode(report).decode())
        return
    print("\n".join(served_lines(report)))


if __name__ == "__main__":
    main()
