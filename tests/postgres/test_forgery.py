"""Damage that a writing token can do to its space with SQL, and how it is found."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from recollect.errors import IntegrityError, NotFound, Unavailable
from recollect.memory import Memory
from recollect.memory.handle import Handle
from recollect.store.postgres import db as driver
from recollect.store.postgres import pool
from recollect.store.postgres.backend import PostgresBackend
from recollect.store.postgres.db import run
from recollect.store.postgres.tokens import make_token
from tests.postgres.conftest import as_address
from tests.postgres.test_command import recollect
from tests.postgres.test_isolation import raw
from tests.postgres.test_shadow import line

TOKEN = "agent"


@pytest.fixture
def memory(database: str) -> Iterator[Memory]:
    """The owner's handle of a space with a little of everything, for which an agent has a token."""
    backend = PostgresBackend(database)
    memory = Memory(Handle(backend.space("bob", create=True)))
    said = memory.observe("The seat is by the window.", role="user")
    seat = memory.remember("The seat is by the window.", key="seat", evidence=[said[0].id])
    other = memory.remember("The train leaves at nine.", tags=["travel"])
    memory.link(seat.id, other.id, "relates_to")
    memory.revise(seat.id, "The seat is by the aisle.")
    memory.erase(memory.remember("Gone for good.").id)
    memory.forget(memory.remember("Not to be recalled.").id)
    make_token(database, TOKEN, label="a", space="bob")
    yield memory
    backend.close()


def forge(database: str, statement: str) -> int:
    """Runs SQL in bob's space as the service's role, with a writing token."""
    with raw(database) as connection:
        connection.execute("BEGIN")
        run(connection, "enter", {"named": "bob", "token": TOKEN, "writing": True})
        count = connection.execute(statement).rowcount
        connection.execute("COMMIT")
        return count


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE recollect.versions SET trust = 'person', text = 'Wire it.'", "records"),
        ("DELETE FROM recollect.links", "records"),
        ("UPDATE recollect.commands SET id = id || 'x'", "records"),
        ("DELETE FROM recollect.erased", "records"),
        ("UPDATE recollect.commands SET origin = 'agent'", "list of events"),
        ("DELETE FROM recollect.notes", "list of events"),
        ("DELETE FROM recollect.postings WHERE doc > 3", "full-text index"),
        ("UPDATE recollect.postings SET times = 99", "full-text index"),
        ("UPDATE recollect.shelves SET docs = docs + 1000", "full-text index"),
        ("UPDATE recollect.position SET active_us = active_us + 1", "position of the index"),
    ],
)
def test_forged_rows_are_found(memory: Memory, database: str, statement: str, what: str) -> None:
    assert memory.verify(deep=True).ok
    assert forge(database, statement) > 0
    found = memory.verify(deep=True)
    assert not found.ok
    assert what in str(found.problem)
    (problem,) = [finding for finding in memory.doctor() if finding.level == "problem"]
    assert "recollect admin rebuild" in str(problem.fix)
    memory.rebuild()
    assert memory.verify(deep=True).ok


def test_an_erasure_that_is_said_to_be_done_is_found(memory: Memory, database: str) -> None:
    record = memory.remember("The secret is canary7f3a.")
    with pytest.MonkeyPatch.context() as patch:  # stopped between the event and the bodies
        patch.setattr("recollect.store.postgres.space.PostgresSpace.purge", lambda self: ())
        memory.erase(record.id)
    assert memory.verify(deep=True).ok
    assert forge(database, "UPDATE recollect.position SET purged = 9999") == 1
    assert "position of the index" in str(memory.verify(deep=True).problem)


RECEIPT = (
    '{"id":"c1","query":"q","frame":"f","frame_digest":"d","ranking":1,"embedder":null,"now":"n",'
    '"position":%d,"budget":1,"tokens":1,"counter":"c","signals":[],"items":[{"seq":%d}]}'
)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("record.added", '{"nonsense":1,"trust":"agent"}'),
        ("context.handed", RECEIPT % (2**70, 1)),  # more than any engine can store
        ("context.handed", RECEIPT % (1, 2**70)),
    ],
)
def test_a_body_that_no_reader_takes_stops_writers_until_it_is_given_up(
    memory: Memory, database: str, kind: str, body: str
) -> None:
    with raw(database) as connection:
        connection.execute("BEGIN")
        lines = [line(connection, kind=kind, data=body)]
        connection.execute("SELECT recollect.append(%b)", (lines,))
        connection.execute("COMMIT")
    assert memory.recall("aisle").hits  # what was there can be read
    with pytest.raises(Unavailable, match="without updating its index"):
        memory.remember("Later.")
    for backend in (PostgresBackend(database), PostgresBackend(database)):
        again = Memory(Handle(backend.space("bob", create=False)))
        assert again.recall("aisle").hits
        with pytest.raises(IntegrityError, match=rf"event \d+: the body of a '{kind}' event") as no:
            again.remember("Later.")
        assert "doctor" in str(no.value.hint)
        backend.close()
    assert "could not be parsed" in str(memory.verify(deep=True).problem)
    (problem,) = [finding for finding in memory.doctor() if finding.level == "problem"]
    assert "--accept-loss" in str(problem.fix)
    url = as_address(database)
    assert recollect(url, "doctor", "--space", "bob", "--accept-loss", "--yes")[0] == 0
    memory.remember("Later.")
    assert memory.verify(deep=True).ok
    assert memory.recall("later").hits
    assert all(finding.level == "ok" for finding in memory.doctor())


def test_an_event_that_was_appended_without_the_index_is_folded_by_the_next_writer(
    memory: Memory, database: str
) -> None:
    with raw(database) as connection:
        connection.execute("BEGIN")
        lines = [line(connection, data='{"id":"nobody"}')]
        connection.execute("SELECT recollect.append(%b)", (lines,))
        connection.execute("COMMIT")
    backend = PostgresBackend(database)
    try:
        again = Memory(Handle(backend.space("bob", create=False)))
        again.remember("Later.")
        assert again.verify(deep=True).ok
    finally:
        backend.close()


@pytest.mark.parametrize("at", ["2026-99-01", "2026-02-30", "0000-01-01"])
def test_an_instant_that_never_was_is_refused(memory: Memory, database: str, at: str) -> None:
    with raw(database) as connection:
        for instant in (f"{at}T00:00:00.000000Z", "2026-01-01T24:00:00.000000Z"):
            connection.execute("BEGIN")
            lines = [line(connection, at=instant)]
            with pytest.raises(psycopg.errors.IntegrityConstraintViolation):
                connection.execute("SELECT recollect.append(%b)", (lines,))
            connection.execute("ROLLBACK")


# Holding others up.


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(driver.WAITS_MAX_S, "lock_timeout", 1)


@pytest.mark.parametrize(
    "hold",
    [
        "LOCK TABLE recollect.versions IN ACCESS EXCLUSIVE MODE",
        "SELECT recollect.enter('bob', 'agent', true)",
    ],
)
def test_waiting_for_a_lock_has_a_time_limit(
    memory: Memory, database: str, impatient: None, hold: str
) -> None:
    backend = PostgresBackend(database)
    mine = Memory(Handle(backend.space("bob", create=False)))
    try:
        with raw(database) as holder:
            holder.execute("BEGIN")
            holder.execute(hold)
            with pytest.raises(Unavailable, match="in time") as refusal:
                mine.remember("Held up.")
            assert "pg_locks" in str(refusal.value.hint)
            holder.execute("ROLLBACK")
        mine.remember("Free again.")
    finally:
        backend.close()


def test_the_lock_of_the_schema_is_not_waited_for_for_good(
    memory: Memory, database: str, impatient: None
) -> None:
    with raw(database) as holder:
        holder.execute("SELECT pg_advisory_lock(7365636)")
        backend = PostgresBackend(database)
        with pytest.raises(Unavailable, match="in time"):
            backend.spaces()
        backend.close()


def test_our_own_connections_do_not_block_others_forever(memory: Memory, database: str) -> None:
    connections = pool.Pool(database)
    with connections.connection() as connection:
        for name, seconds in driver.WAITS_MAX_S.items():
            (row,) = run(connection, "get_setting", {"name": name})
            assert str(row[0]) in (f"{seconds}s", f"{seconds // 60}min")
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
