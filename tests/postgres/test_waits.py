"""Whoever holds a lock or reads slowly holds nobody up for good."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from recollect.errors import NotFound, Unavailable
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.store.postgres import db as driver
from recollect.store.postgres import pool
from recollect.store.postgres.ledgers import PostgresBackend


@pytest.fixture
def memory(database: str) -> Iterator[Memory]:
    """A handle of a space in which there is something."""
    backend = PostgresBackend(database)
    memory = Memory(Handle(backend.space("bob", create=True)))
    memory.remember("The seat is by the window.", key="seat")
    memory.remember("The train leaves at nine.", tags=["travel"])
    yield memory
    backend.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(driver.WAITS_MAX, "lock", "1s")


@pytest.mark.parametrize(
    "hold",
    [
        "LOCK TABLE recollect.events IN ACCESS EXCLUSIVE MODE",
        "SELECT 1 FROM recollect.spaces WHERE name = 'bob' FOR UPDATE",
    ],
)
def test_waiting_for_a_lock_has_a_time_limit(
    memory: Memory, database: str, impatient: None, hold: str
) -> None:
    backend = PostgresBackend(database)
    mine = Memory(Handle(backend.space("bob", create=False)))
    try:
        with psycopg.connect(database) as holder:
            holder.execute(hold)
            with pytest.raises(Unavailable, match="in time") as refusal:
                mine.remember("Held up.")
            assert "pg_locks" in str(refusal.value.hint)
            holder.rollback()
        mine.remember("Free again.")
    finally:
        backend.close()


def test_the_lock_of_the_schema_is_not_waited_for_for_good(
    memory: Memory, database: str, impatient: None
) -> None:
    with psycopg.connect(database, autocommit=True) as holder:
        holder.execute("SELECT pg_advisory_lock(7365636)")
        with closing(PostgresBackend(database)) as backend:
            assert backend.spaces() == ["bob"]  # a schema that is there needs no lock
        holder.execute("DROP SCHEMA recollect CASCADE")
        with (
            closing(PostgresBackend(database)) as backend,
            pytest.raises(Unavailable, match="in time"),
        ):
            backend.spaces()
        holder.execute("SELECT pg_advisory_unlock(7365636)")
        with closing(PostgresBackend(database)) as backend:
            assert backend.spaces() == []


def test_our_own_connections_do_not_block_others_forever(memory: Memory, database: str) -> None:
    connections = pool.Pool(database)
    with connections.connection() as connection:
        for name in ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout"):
            found = connection.execute("SELECT setting FROM pg_settings WHERE name = %s", [name])
            assert 0 < int(found.fetchall()[0][0]) <= 600_000, name  # milliseconds
    connections.close()


def test_readers_of_a_ledger_that_take_their_time_hold_no_connection(
    memory: Memory, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_WAIT_S", 2.0)
    backend = PostgresBackend(database)
    space = backend.space("bob", create=False)
    readers = [space.pieces() for _ in range(9)]
    firsts = [next(reader) for reader in readers]
    written = Memory(Handle(space)).remember("Written meanwhile.")
    Memory(Handle(space)).erase(written.id)
    for first, reader in zip(firsts, readers, strict=True):
        assert (first + b"".join(reader)).count(b"\n") == space.head().seq
    backend.close()


def test_a_space_that_nothing_was_written_to_is_not_there(database: str) -> None:
    backend = PostgresBackend(database)
    space = backend.space("new", create=True)
    assert space.existing_head().seq == 0
    assert space.widest is None
    assert backend.spaces() == []
    with pytest.raises(NotFound):
        backend.space("new", create=False).head()
    backend.close()


def test_every_statement_that_may_wait_for_a_standby_is_known_to() -> None:
    changes = re.compile(
        r"\b(?:INSERT|UPDATE|DELETE|TRUNCATE|"
        r"recollect\.(?!(?:keep_snapshot|keep_block|keep_cache_key|hold|let_go|has_keys)\b)\w+\()"
    )
    reads = [name for name in driver._statements() if not driver.is_write(name)]
    assert {"tail", "page", "wake", "job list"} <= {*reads}
    assert not {"append", "make_space", "lock_space", "job lease"} & {*reads}
    found = [name for name in reads if changes.search(driver._statements()[name])]
    assert found == []
