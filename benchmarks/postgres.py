"""``python -m benchmarks.postgres``: what the package costs on top of bare PostgreSQL.

Responsible for the figures of a server that it starts itself, or that ``--server`` names. Every
ratio is of two times from the same rounds, with the questions of the SQLite benchmark. *Bare* is
psycopg as the database's superuser, without row-level security, writing the same rows into tables
of the same shape, or running the same SQL.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final, NamedTuple

import msgspec
import psycopg
from psycopg.conninfo import make_conninfo

from benchmarks.machine import machine
from benchmarks.measures import questions
from benchmarks.report import SERVED, Served, served_lines
from benchmarks.sentences import sentences
from benchmarks.server import started
from benchmarks.timing import Paired, Work, in_turns, slices
from recollect.index.statements import postgres_statements
from recollect.index.text import query_tokens
from recollect.memory import Memory
from recollect.memory.handle import Handle
from recollect.store.postgres.backend import PostgresBackend
from recollect.store.postgres.schema import prepare

_TABLES: Final = ("events", "versions", "commands", "postings")
_FULL_TEXT: Final = ("postings",)  # the tables that a search reads
_HITS: Final = 20
_RECALLS: Final = ("recall_ratio", "recall_cost", "recall_ms", "postings_mb")


class Sizes(msgspec.Struct, frozen=True):
    """How much is measured; without spaces, nothing about their number."""

    write_rounds: int = 40
    writes: int = 20
    batches: int = 8
    batch: int = 1_000
    spaces: int = 100_000
    records: int = 50_000
    recall_rounds: int = 30
    recalls: int = 20


SIZES: Final = {
    "full": Sizes(),
    "quick": Sizes(write_rounds=5, batches=1, spaces=0, records=2_000, recall_rounds=4),
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
    """One durable write after the other against one transaction each with the same rows."""
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
    writes = sizes.write_rounds * sizes.writes // 2
    words = sentences(4 * writes, seed=3)
    Memory(Handle(backend.space("one", create=True))).remember(words[0])

    def measured(words: Sequence[str]) -> float:
        times = []
        for number, word in enumerate(words):
            started = perf_counter()
            memories[number % len(memories)].remember(word)
            times.append(perf_counter() - started)
        return median(times)

    try:
        measured(words[:writes])
        few = measured(words[writes : 2 * writes])
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
        measured(words[2 * writes : 3 * writes])
        many = measured(words[3 * writes :])
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


class Recalls(NamedTuple):
    """A search and a whole recall, each against the same bare match, and the room of full text."""

    match: Paired
    whole: Paired
    text_bytes: int


def recall(url: str, sizes: Sizes) -> Recalls:
    """Full text through the engine and ``recall``, against the same SQL without row security."""
    with psycopg.connect(url, autocommit=True) as owner, _memory(url, "large") as memory:
        owner.prepare_threshold = 2
        before = _text_bytes(owner)
        _fill(memory, sentences(sizes.records, seed=4))
        text_bytes = _text_bytes(owner) - before
        owner.execute("ANALYZE")
        row = owner.execute("SELECT id FROM recollect.spaces WHERE name = 'large'").fetchone()
        statement = _without_security(postgres_statements()["match"], row[0] if row else 0)
        asked = questions((sizes.recall_rounds + 1) * sizes.recalls)
        terms = [list(query_tokens(question, 64)) for question in asked]

        def bare(number: int) -> list[tuple[int, float]]:
            params = {
                "terms": msgspec.json.encode(terms[number]).decode(),
                "shelf": "recallable",
                "user": None,
                "limit": _HITS,
            }
            with owner.transaction():
                return owner.execute(statement, params).fetchall()

        def search(number: int) -> object:
            with memory._handle.space.reading() as reads:
                return reads.match("recallable", terms[number], _HITS)

        if [(doc, -rank) for doc, rank in bare(0)] != search(0):
            raise RuntimeError("both sides must find the same")
        match = _asked(bare, search, sizes)
        whole = _asked(bare, lambda number: memory.recall(asked[number]), sizes)
        return Recalls(match, whole, text_bytes)


def _asked(bare: Work, ours: Work, sizes: Sizes) -> Paired:
    """Rounds of questions, each round with its own."""

    def asking(ask: Work) -> Work:
        def work(number: int) -> None:
            for question in range(number * sizes.recalls, (number + 1) * sizes.recalls):
                ask(question)

        return work

    return in_turns(
        bare=asking(bare), ours=asking(ours), rounds=sizes.recall_rounds, operations=sizes.recalls
    )


def _fill(memory: Memory, texts: Sequence[str]) -> None:
    for part in slices(texts, 2_000):
        with memory.batch() as batch:
            for text in part:
                batch.remember(text)


def _text_bytes(owner: psycopg.Connection[Any]) -> int:
    """The room that full text and its indexes take, of all spaces."""
    found = owner.execute(
        "SELECT SUM(pg_total_relation_size(('recollect.' || name)::regclass))::bigint "
        "FROM unnest(%s::text[]) name",
        (list(_FULL_TEXT),),
    ).fetchone()
    return int(found[0]) if found else 0


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
        if wants(*_RECALLS):
            say("recall")
            found = recall(url, sizes)
            keep("recall_ratio", found.match)
            keep("recall_cost", found.whole, is_cost=True)
            figures["recall_ms"] = round(found.whole.medians_us["ours"] / 1e3, 2)
            figures["postings_mb"] = round(found.text_bytes / 1e6, 2)
        if sizes.spaces and wants("append_growth"):
            say("append_growth")
            grown, medians["append_growth"] = growth(url, sizes)
            figures["append_growth"] = round(grown, 3)
        return _report(sizes, url, figures, medians)


def _report(
    sizes: Sizes, url: str, figures: dict[str, float | None], medians: dict[str, dict[str, float]]
) -> Served:
    megabytes = figures["postings_mb"]
    with psycopg.connect(url) as owner:
        version = str(owner.execute("SHOW server_version").fetchone()[0])  # type: ignore[index]
    return Served(
        **figures,  # every figure has a field of its name
        postings_bytes=None if megabytes is None else round(megabytes * 1e6),
        aims={aim.name: aim.sign for aim in SERVED},
        reached={aim.name: aim.reached(figures[aim.name]) for aim in SERVED},
        medians_us=medians,
        measured_at={**dict.fromkeys(_RECALLS, sizes.records), "append_growth": sizes.spaces},
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
