"""``python -m benchmarks.postgres``: what the package costs on top of bare PostgreSQL.

Responsible for four figures on a server that it starts itself, or that ``--server`` names. Every
ratio is of two times from the same run. *Bare* is psycopg as the database's superuser, without
row-level security, writing the same rows into tables of the same shape, or running the same SQL.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final

import msgspec
import psycopg
from psycopg.conninfo import make_conninfo

from benchmarks.machine import machine
from benchmarks.report import Aim
from benchmarks.sentences import sentences
from benchmarks.server import started
from benchmarks.timing import Paired, in_turns
from recollect.index.statements import postgres_statements
from recollect.memory import Memory
from recollect.memory.handle import Handle
from recollect.store.postgres.backend import PostgresBackend
from recollect.store.postgres.schema import prepare

AIMS: Final = (
    Aim("remember_ratio", "one durable remember", 0.5),
    Aim("bulk_ratio", "a batch of 1,000, each record", 0.4),
    Aim("append_growth", "a write among 100,000 spaces over one among 100", 1.3, is_cost=True),
    Aim("recall_ratio", "full text among 50,000 records", 0.7),
)
_TABLES: Final = ("events", "versions", "commands", "postings")


class Sizes(msgspec.Struct, frozen=True):
    """How much is measured."""

    writes: int = 300
    batches: int = 8
    batch: int = 1_000
    spaces: int = 100_000
    records: int = 50_000
    recalls: int = 60


QUICK: Final = Sizes(writes=30, batches=2, batch=200, spaces=2_000, records=2_000, recalls=10)


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
    """The rows of records that were written before, by event, and plain tables to put them into."""

    def __init__(self, url: str, space: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        self._connection.prepare_threshold = 2
        run = self._connection.execute
        run("CREATE SCHEMA IF NOT EXISTS bare")
        for table in (*_TABLES, "position", "shelves", "spaces"):
            run(f"CREATE TABLE IF NOT EXISTS bare.{table} (LIKE recollect.{table} INCLUDING ALL)")
            run(f"TRUNCATE bare.{table}")
        self._inserts: dict[str, str] = {}
        self._rows: dict[str, dict[int, list[tuple[object, ...]]]] = {}
        for table in _TABLES:
            self._take(table, space)
        for table in ("position", "shelves", "spaces"):
            run(f"INSERT INTO bare.{table} OVERRIDING SYSTEM VALUE SELECT * FROM recollect.{table}")
        self.seqs = sorted(self._rows["versions"])

    def _take(self, table: str, space: str) -> None:
        found: dict[int, list[tuple[object, ...]]] = defaultdict(list)
        place = 3 if table == "postings" else 2 if table == "versions" else 1
        rows = self._connection.execute(
            f"SELECT t.* FROM recollect.{table} t JOIN recollect.spaces s ON s.id = t.space "
            "WHERE s.name = %s",
            (space,),
        )
        for row in rows:
            found[row[place]].append(row)
        self._rows[table] = found
        width = len(rows.description or ())
        self._inserts[table] = f"INSERT INTO bare.{table} VALUES ({', '.join(['%s'] * width)})"

    def write(self, seq: int) -> None:
        """One transaction with the rows of one event, sent without waiting."""
        with self._connection.pipeline():
            run = self._connection.execute
            run("BEGIN")
            for table in _TABLES:
                rows = self._rows[table][seq]
                insert = self._inserts[table]
                values = insert[insert.index("VALUES ") + 7 :]
                text = insert + f", {values}" * (len(rows) - 1)
                run(text, [cell for row in rows for cell in row])
            self._move(run, seq)
            run("COMMIT")

    def batch(self, seqs: Sequence[int]) -> None:
        """One transaction with the rows of many events."""
        run = self._connection.execute
        with self._connection.transaction():
            for table in _TABLES:
                rows = [row for seq in seqs for row in self._rows[table][seq]]
                self._connection.cursor().executemany(self._inserts[table], rows)
            self._move(run, seqs[-1])

    def _move(self, run: Callable[..., object], seq: int) -> None:
        run("UPDATE bare.position SET seq = %s", (seq,))
        run("UPDATE bare.shelves SET docs = docs + 1 WHERE shelf = 'recallable'")
        run("UPDATE bare.spaces SET seq = %s", (seq,))

    def close(self) -> None:
        self._connection.close()


def remember(url: str, sizes: Sizes) -> Paired:
    """One durable write against one transaction with the same rows."""
    words = sentences(2 * sizes.writes + 4, seed=1)
    with _memory(url, "first") as memory:
        for word in words[: sizes.writes + 2]:
            memory.remember(word)
    bare = Bare(url, "first")
    try:
        with _memory(url, "second") as memory:
            memory.status()
            return in_turns(
                bare=lambda n: bare.write(bare.seqs[n]),
                ours=lambda n: memory.remember(words[n]),
                rounds=sizes.writes,
                operations=1,
            )
    finally:
        bare.close()


def bulk(url: str, sizes: Sizes) -> Paired:
    """A batch against one transaction with the same rows."""
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


def growth(url: str, sizes: Sizes) -> tuple[float, dict[str, float]]:
    """The median write on a server with few spaces and with many."""
    backend = PostgresBackend(url)
    memories = [Memory(Handle(backend.space(f"few {n}", create=True))) for n in range(100)]
    words = sentences(4 * sizes.writes, seed=3)
    Memory(Handle(backend.space("one", create=True))).remember(words[0])

    def measured(words: Sequence[str]) -> float:
        times = []
        for number, word in enumerate(words):
            started = perf_counter()
            memories[number % len(memories)].remember(word)
            times.append(perf_counter() - started)
        return median(times)

    try:
        measured(words[: sizes.writes])
        few = measured(words[sizes.writes : 2 * sizes.writes])
        with psycopg.connect(url, autocommit=True) as owner:
            owner.execute(
                "INSERT INTO recollect.spaces (name) "
                "SELECT 'many ' || n FROM generate_series(1, %s) n",
                (sizes.spaces,),
            )
            for table in ("events", "versions", "commands", "postings", "position", "shelves"):
                owner.execute(_copies(owner, table), {"count": sizes.spaces})
            owner.execute("ANALYZE")
            owner.execute("CHECKPOINT")
        measured(words[2 * sizes.writes : 3 * sizes.writes])
        many = measured(words[3 * sizes.writes :])
    finally:
        backend.close()
    return many / few, {"few": few * 1e6, "many": many * 1e6}


def _copies(owner: psycopg.Connection[Any], table: str) -> str:
    """Gives every other space the rows of one with a single record."""
    columns = owner.execute(f"SELECT * FROM recollect.{table} LIMIT 0").description or ()
    names = ", ".join(f'"{column.name}"' for column in columns[1:])
    return (
        f"WITH t AS MATERIALIZED (SELECT * FROM recollect.{table} WHERE space = "
        "(SELECT id FROM recollect.spaces WHERE name = 'one')) "
        f"INSERT INTO recollect.{table} (space, {names}) "
        f"SELECT s.id, {', '.join(f't.{name}' for name in names.split(', '))} "
        "FROM t, recollect.spaces s WHERE s.name LIKE 'many %%' AND %(count)s > 0"
    )


def recall(url: str, sizes: Sizes) -> Paired:
    """Full text through the engine against the same SQL without row-level security."""
    with _memory(url, "large") as memory:
        words = sentences(sizes.records, seed=4)
        for start in range(0, len(words), 2_000):
            with memory.batch() as batch:
                for word in words[start : start + 2_000]:
                    batch.remember(word)
        terms = [word.strip(".,").lower() for word in words[0].split()][:3]
        with psycopg.connect(url, autocommit=True) as owner:
            owner.prepare_threshold = 2
            owner.execute("ANALYZE")
            row = owner.execute("SELECT id FROM recollect.spaces WHERE name = 'large'").fetchone()
            text = _without_security(postgres_statements()["match"], row[0] if row else 0)
            params = {
                "terms": msgspec.json.encode(terms).decode(),
                "shelf": "recallable",
                "user": None,
                "limit": 20,
            }

            def bare(_: int) -> object:
                with owner.transaction():
                    return owner.execute(text, params).fetchall()

            def ours(_: int) -> object:
                with memory._handle.space.reading() as reads:
                    return reads.match("recallable", terms, 20)

            found = [(doc, -rank) for doc, rank in bare(0)]  # type: ignore[attr-defined]
            if found != ours(0):
                raise RuntimeError("both sides must find the same")
            return in_turns(bare=bare, ours=ours, rounds=sizes.recalls, operations=1)


def _without_security(statement: str, space: int) -> str:
    """The same SQL on the tables themselves, bound to one space by hand."""
    for table in ("postings", "shelves", "versions", "episodes"):
        statement = statement.replace(
            f"FROM {table} ", f"FROM (SELECT * FROM recollect.{table} WHERE space = {space}) "
        ).replace(
            f"JOIN {table} ", f"JOIN (SELECT * FROM recollect.{table} WHERE space = {space}) "
        )
    statement = statement.replace(
        "terms t, shelves s", f"terms t, (SELECT * FROM recollect.shelves WHERE space = {space}) s"
    )
    for name in ("terms", "shelf", "user", "limit"):
        statement = statement.replace(f":{name}", f"%({name})s")
    return statement


@contextmanager
def _memory(url: str, space: str) -> Iterator[Memory]:
    backend = PostgresBackend(url)
    try:
        yield Memory(Handle(backend.space(space, create=True)))
    finally:
        backend.close()


def run(sizes: Sizes, named: str | None, say: Callable[[str], None]) -> dict[str, object]:
    """All four, one after the other."""
    report: dict[str, object] = {}
    medians: dict[str, object] = {}
    with server(named) as url:
        prepare(url)
        for name, measure in (("remember_ratio", remember), ("bulk_ratio", bulk)):
            say(name)
            paired = measure(url, sizes)
            report[name], medians[name] = round(paired.speed, 3), paired.medians_us
        say("recall_ratio")
        paired = recall(url, sizes)
        report["recall_ratio"], medians["recall_ratio"] = round(paired.speed, 3), paired.medians_us
        say("append_growth")
        grown, medians["append_growth"] = growth(url, sizes)
        report["append_growth"] = round(grown, 3)
    reached = {aim.name: aim.reached(report[aim.name]) for aim in AIMS}  # type: ignore[arg-type]
    return {
        **report,
        "aims": {aim.name: aim.sign for aim in AIMS},
        "reached": reached,
        "medians_us": medians,
        "machine": machine(Path(tempfile.gettempdir())),
    }


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
        QUICK if options.quick else Sizes(),
        options.server,
        lambda what: print(what, file=sys.stderr),
    )
    if options.json:
        print(msgspec.json.encode(report).decode())
        return
    for aim in AIMS:
        print(f"{aim.name:16} {report[aim.name]:>8}   aim {aim.sign:8} {aim.what}")


if __name__ == "__main__":
    main()
