"""A server that says nothing while the connection is up, and a commit that waits for a standby.

Needs a server of its own: its processes are stopped and its settings are changed.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from benchmarks.server import Server, started
from recollect.errors import Unavailable
from recollect.memory import Memory
from recollect.memory.handle.handle import Handle
from recollect.store.postgres import db
from recollect.store.postgres.ledgers import PostgresBackend
from recollect.store.postgres.pool import Pool
from recollect.store.postgres.schema import prepare
from recollect.store.postgres.wait import ANSWER_MAX_S, Lost, Silent
from tests.postgres.conftest import at
from tests.postgres.halting import EVENT_MAX_S, halted, until, waiting, without_standby
from tests.postgres.proxy import Proxy

ANSWER_S = 3.0


@pytest.fixture(scope="module")
def own() -> Iterator[Server]:
    with started(in_memory=True) as server:
        yield server


@pytest.fixture
def database(own: Server) -> Iterator[str]:
    name = f"s{uuid.uuid4().hex}"
    with psycopg.connect(own.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
        prepare(at(own.get_uri(), name))
        yield at(own.get_uri(), name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ANSWER_MAX_S, "usual", ANSWER_S)
    monkeypatch.setitem(db.WAITS_MAX, "lock", "500ms")


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch, impatient: None) -> None:
    """For a test in which no wait may end by itself."""
    monkeypatch.setitem(ANSWER_MAX_S, "usual", 2 * EVENT_MAX_S)
    monkeypatch.setitem(db.WAITS_MAX, "lock", "120s")


@contextmanager
def opened(database: str, *names: str) -> Iterator[list[Memory]]:
    """Memories of one process, in each of which there is something."""
    with closing(PostgresBackend(database)) as backend:
        memories = [Memory(Handle(backend.space(name, create=True))) for name in names]
        for memory in memories:
            memory.remember("The train leaves at nine.", id="first")
        yield memories


@contextmanager
def meanwhile(*calls: Callable[[], object]) -> Iterator[list[Future[object]]]:
    """Calls in threads of their own, which have ended after the block."""
    with ThreadPoolExecutor(len(calls)) as threads:
        yield [threads.submit(call) for call in calls]


def idle(pool: Pool, count: int) -> None:
    """Opens some connections and leaves them idle."""
    with ExitStack() as held:
        together = threading.Barrier(count)

        def use() -> None:
            with pool.connection():
                together.wait()

        for done in held.enter_context(meanwhile(*[use] * count)):
            done.result()
    assert len(pool._idle) == count


def test_a_stopped_server_is_given_up_and_so_are_its_idle_connections(
    own: Server, database: str
) -> None:
    with closing(Pool(database)) as pool, psycopg.connect(database, autocommit=True) as plain:
        idle(pool, 5)
        with (
            halted(Path(own.pgdata)) as go_on,
            meanwhile(lambda: plain.execute("SELECT 1")) as (control,),
        ):
            with pytest.raises(Silent, match="did not answer for") as refusal:
                pool.ask("spaces", {})
            assert "synchronous standby" in str(refusal.value.hint)
            assert pool._idle == []
            assert not control.done()  # without a limit of ours it waits on
            go_on()
            control.result()
        assert pool.ask("spaces", {}) == []


def test_an_answer_that_something_in_between_swallows_is_not_waited_for(database: str) -> None:
    with Proxy(database) as proxy, opened(proxy.address, "bob") as (memory,):
        proxy.mute()
        with pytest.raises(Silent):
            memory.list()
        assert len(memory.list()) == 1  # by another connection
        proxy.mute()
        memory.remember("Said twice, written once.")  # by another connection, asked again
        texts = [record.text for record in memory.list()]
        assert sorted(texts) == ["Said twice, written once.", "The train leaves at nine."]


def test_a_write_that_waits_for_a_standby_ends_and_reads_go_on(own: Server, database: str) -> None:
    with (
        opened(database, "bob", "eve") as (bob, eve),
        psycopg.connect(database, autocommit=True) as plain,
        without_standby(own.get_uri()) as go_on,
    ):
        # The control: a limit of the server does not end the wait of a commit.
        plain.execute("SET statement_timeout = '500ms'")
        with (
            meanwhile(lambda: plain.execute("CREATE TABLE made ()")) as (control,),
            meanwhile(lambda: bob.remember("Held up.", id="held")) as (write,),
        ):
            assert len(eve.list()) == 1
            with pytest.raises(Unavailable, match=r"in time|did not answer"):  # asked again
                write.result()
            assert len(bob.list()) == 1
            assert not control.done()
            go_on()
            control.result()
        until(lambda: len(bob.list()) == 2)  # the server has finished what it was asked for
        assert bob.remember("Held up.", id="held").id == "held"
        assert len(bob.list()) == 2


def test_a_wait_for_a_standby_that_somebody_ends_is_not_acknowledged(
    own: Server, database: str, patient: None
) -> None:
    with opened(database, "bob") as (bob,), without_standby(own.get_uri()):
        with (
            psycopg.connect(own.get_uri(), autocommit=True) as operator,
            meanwhile(lambda: bob.remember("Only on the primary.", id="alone")) as (write,),
        ):
            until(lambda: waiting(operator) == 2)
            while not write.done():
                _end_waits(operator, database)
            with pytest.raises(Lost):
                write.result()
        # The control: the driver takes it for done.
        with (
            psycopg.connect(own.get_uri(), autocommit=True) as operator,
            psycopg.connect(database, autocommit=True) as plain,
            meanwhile(lambda: plain.execute("CREATE TABLE made ()")) as (control,),
        ):
            while not control.done():
                _end_waits(operator, database)
            control.result()


def test_what_is_found_after_a_loss_is_acknowledged_once_the_standby_has_it(
    own: Server, database: str, patient: None
) -> None:
    with (
        opened(database, "bob") as (bob,),
        psycopg.connect(own.get_uri(), autocommit=True) as operator,
        without_standby(own.get_uri()) as go_on,
        meanwhile(lambda: bob.remember("On both.", id="both")) as (write,),
    ):
        (waits,) = until_found(lambda: _commits_that_wait(operator, database))
        _end_waits(operator, database)  # it is on the primary, and its connection was closed
        until(lambda: _commits_that_wait(operator, database) not in ([], [waits]))
        with psycopg.connect(database) as control:  # who looks sees it
            asked = b"SELECT 1 FROM recollect.events WHERE position('On both.'::bytea IN line) > 0"
            assert control.execute(asked).fetchall() == [(1,)]
        assert not write.done()
        go_on()
        assert write.result() is not None
        assert bob.get("both").text == "On both."


def until_found(look: Callable[[], list[int]]) -> list[int]:
    until(lambda: look() != [])
    return look()


def _commits_that_wait(operator: psycopg.Connection[Any], database: str) -> list[int]:
    """The processes of the server that wait for a standby."""
    rows = operator.execute(
        "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND datname = %s",
        [conninfo_to_dict(database)["dbname"]],
    )
    return [pid for (pid,) in rows.fetchall()]


def _end_waits(operator: psycopg.Connection[Any], database: str) -> None:
    operator.execute(
        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity"
        " WHERE wait_event = 'SyncRep' AND datname = %s",
        [conninfo_to_dict(database)["dbname"]],
    )


def test_a_read_that_keeps_a_cache_waits_for_no_standby(
    own: Server, database: str, patient: None
) -> None:
    with opened(database, "bob") as (bob,):
        for number in range(40):
            bob.remember(f"The train {number} leaves at nine.")
    with psycopg.connect(database, autocommit=True) as operator:
        operator.execute("TRUNCATE recollect.snapshots")
        with (
            closing(PostgresBackend(database)) as backend,
            without_standby(own.get_uri()),
        ):
            memory = Memory(Handle(backend.space("bob", create=False)))
            assert len(memory.list(limit=100)) == 41  # it folds the ledger and keeps a snapshot
            rows = operator.execute("SELECT seq FROM recollect.snapshots").fetchall()
            assert len(rows) == 1
            assert waiting(operator) == 1  # the one that tries


def test_writers_that_wait_leave_room_to_readers(own: Server, database: str, patient: None) -> None:
    names = [f"s{number}" for number in range(12)]
    with (
        opened(database, "quiet", *names) as (quiet, *others),
        psycopg.connect(own.get_uri(), autocommit=True) as operator,
        without_standby(own.get_uri()) as go_on,
        meanwhile(*[partial(other.remember, "Held up.") for other in others]) as writes,
    ):
        until(lambda: waiting(operator) == 7)  # six of ours and the one that tries
        assert len(quiet.list()) == 1
        assert not any(write.done() for write in writes)
        assert waiting(operator) == 7
        go_on()
        failed = [write for write in writes if write.exception() is not None]
        assert failed == []
