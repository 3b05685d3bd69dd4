"""Asking for a job, against a bare insert into a table of the same engine.

Responsible for ``ask_ratio`` on files and on PostgreSQL. Leaves taking turns to ``timing``.
Invariant: both sides are durable when they return: one row, one transaction, one sync.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from pathlib import Path

import msgspec
import psycopg

from benchmarks.server import started
from benchmarks.timing import Paired, Work, in_turns
from recollect.memory import Store

_AIM = 0.6


def on_files(folder: Path, rounds: int = 20, each: int = 20) -> Paired:
    """A workspace, against a table of SQLite with the same settings."""
    bare = sqlite3.connect(folder / "bare.db", isolation_level=None)
    bare.execute("PRAGMA journal_mode = WAL")
    bare.execute("PRAGMA synchronous = FULL")
    bare.execute("CREATE TABLE jobs (id INTEGER PRIMARY KEY, space TEXT, kind TEXT, params TEXT)")

    def insert(number: int) -> None:
        for name in _names(number, each):
            bare.execute("INSERT INTO jobs (space, kind, params) VALUES ('a', 'b', ?)", (name,))

    with Store.open(folder / "w", embedder="none") as store:
        found = _compared(store, insert, rounds, each)
    bare.close()
    return found


def on_postgres(url: str, rounds: int = 20, each: int = 20) -> Paired:
    """A database, against a table beside it."""
    with psycopg.connect(url, autocommit=True) as bare, Store.open(url, embedder="none") as store:
        bare.execute(
            "CREATE TABLE bare (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, space text,"
            " kind text, params text)"
        )

        def insert(number: int) -> None:
            for name in _names(number, each):
                bare.execute(
                    "INSERT INTO bare (space, kind, params) VALUES (%s, 'embed', '{}')", (name,)
                )

        return _compared(store, insert, rounds, each)


def _compared(store: Store, insert: Work, rounds: int, each: int) -> Paired:
    store.space("alice").observe("Hello.")

    def ask(number: int) -> None:
        for name in _names(number, each):
            store.jobs.ask("consolidate", space="alice", params={"rule": name})

    return in_turns(bare=insert, ours=ask, rounds=rounds, operations=each)


def _names(number: int, each: int) -> list[str]:
    return [f"rule-{number}-{place}" for place in range(each)]


def main() -> None:
    """Prints both figures as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        found = {"files": on_files(Path(folder)).speed}
    with started() as server:
        found["postgres"] = on_postgres(server.get_uri()).speed
    said = {"ask_ratio": found, "aim": _AIM, "reached": {k: v >= _AIM for k, v in found.items()}}
    sys.stdout.write(msgspec.json.encode(said).decode() + "\n")


if __name__ == "__main__":
    main()
